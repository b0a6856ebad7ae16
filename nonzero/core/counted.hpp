#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nz {

/// For messages: "1 entry", "0 entries", "2 columns".
inline std::string counted(std::int64_t number, std::string_view what) {
  std::string out = std::to_string(number) + ' ';
  if (number == 1) return out.append(what);
  const bool is_y = what.ends_with('y') && !what.ends_with("ay");
  out.append(is_y ? what.substr(0, what.size() - 1) : what);
  return out + (is_y ? "ies" : "s");
}

}  // namespace nz
