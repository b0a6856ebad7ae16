#pragma once

// Included by every source of kernels before Highway. A source is compiled once for each instruction set
// (hwy/foreach_target.h) and adds its functions to compiled_functions; a function is chosen at run time.
#define HWY_COMPILE_ALL_ATTAINABLE
// Left out: targets that are no faster than the next one for these kernels.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128 | HWY_AVX3_DL)

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/types.hpp>
#include <nonzero/core/values.hpp>

namespace nz::cpu {

/// The target of that name; the best one for "". Throws `unsupported`, naming the targets here, if there is
/// none.
std::int64_t find_target(std::string_view name);

/// The functions of a kernel, for each target that they were compiled for.
template <class Functions> class compiled_functions {
 public:
  /// Called once in every target's namespace, when the program starts (NONZERO_MADE_FIRST). Returns true.
  static bool add(std::int64_t target, Functions functions) {
    all().emplace_back(target, functions);
    return true;
  }

  /// Throws `unsupported` where there are none for the target.
  static const Functions& find(std::string_view target_name) {
    const std::int64_t wanted = find_target(target_name);
    for (const auto& [target, functions] : all())
      if (target == wanted) return functions;
    throw unsupported("this kernel was not compiled for the instruction set that was chosen");
  }

 private:
  static std::vector<std::pair<std::int64_t, Functions>>& all() {
    static std::vector<std::pair<std::int64_t, Functions>> entries;
    return entries;
  }
};

/// Adds make.operator()<A, V>() for each pair of types. `make` is compiled for the target, which the CPU may
/// not have: constant expressions do not run it.
template <template <class, class> class Functions> struct added_functions {
  template <class Make> added_functions(std::int64_t target, Make make) {
#define NONZERO_ADD(A, V)                                                   \
  {                                                                         \
    constexpr Functions<A, V> functions = make.template operator()<A, V>(); \
    compiled_functions<Functions<A, V>>::add(target, functions);            \
  }
    NONZERO_FOR_EACH_STORAGE(NONZERO_ADD)
#undef NONZERO_ADD
  }
};
/// What calls of compiled_functions::add return.
struct added_list {
  added_list(std::initializer_list<bool>) {}
};

/// For one of the two above: it is made before the static objects of the program's own files, which may
/// multiply already. 101 is the first priority that a program may use.
#define NONZERO_MADE_FIRST [[maybe_unused, gnu::init_priority(101)]]

/// In a target's namespace: adds Functions<A, V>{...} for each pair of types.
#define NONZERO_ADD_FUNCTIONS(Functions, ...)                    \
  NONZERO_MADE_FIRST const added_functions<Functions> are_added( \
      HWY_TARGET, []<class A, class V>() { return Functions<A, V>{__VA_ARGS__}; })

}  // namespace nz::cpu
