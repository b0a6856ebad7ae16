#include "device_option.hpp"

#include <algorithm>
#include <string_view>

namespace nz::cli {
namespace {

/// "cpu", "emulator", "cuda", or "cuda:" and a number.
bool is_device(std::string_view name) {
  if (name == "cpu" || name == "emulator" || name == "cuda") return true;
  if (!name.starts_with("cuda:")) return false;
  const std::string_view number = name.substr(5);
  return !number.empty() && number.size() <= 4 &&
         std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

void add_device_option(CLI::App& command, std::string& device, const std::string& text) {
  command.add_option("--device", device, text)
      ->check(CLI::Validator(
          [](const std::string& name) {
            return is_device(name)
                       ? std::string()
                       : "'" + name + "' is no device: there are cpu, cuda (or cuda:1, …) and emulator";
          },
          ""))
      ->option_text("cpu|cuda|emulator");
}

}  // namespace nz::cli
