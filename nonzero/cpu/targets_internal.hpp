#pragma once

// Included by every source of kernels before Highway. A source compiles itself once for each instruction set
// (hwy/foreach_target.h) and each time leaves its functions here; which are used is decided at run time.
#define HWY_COMPILE_ALL_ATTAINABLE
// Left out: what brings nothing over the next one for these kernels, and would only be compiled once more.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128 | HWY_AVX3_DL)

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace nz::cpu {

/// The one that `name` stands for, or the best for ""; `unsupported`, naming those that there are, if none.
std::int64_t find_target(std::string_view name);

/// The functions of a kernel, for each target that they were compiled for.
template <class Functions> class compiled_functions {
 public:
  /// Made once in every target's namespace, as a static object.
  struct entry {
    entry(std::int64_t target, Functions functions) { all().emplace_back(target, functions); }
  };

  static const Functions& find(std::string_view target_name) {
    const std::int64_t wanted = find_target(target_name);
    for (const auto& [target, functions] : all())
      if (target == wanted) return functions;
    return all().front().second;  // every source is compiled for the same targets
  }

 private:
  static std::vector<std::pair<std::int64_t, Functions>>& all() {
    static std::vector<std::pair<std::int64_t, Functions>> entries;
    return entries;
  }
};

}  // namespace nz::cpu
