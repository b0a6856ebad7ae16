#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/cpu/targets.hpp>
#include <nonzero/cpu/targets_internal.hpp>
// Must follow targets_internal.hpp, which defines the list of targets.
#include <hwy/targets.h>

#include <nonzero/core/errors.hpp>

namespace nz {
namespace {

/// Best first, which is the order of Highway's bits.
std::vector<std::int64_t> usable_targets() {
  std::vector<std::int64_t> out;
  for (std::int64_t left = hwy::SupportedTargets() & (HWY_TARGETS); left != 0; left &= left - 1)
    out.push_back(left & -left);
  return out;
}

}  // namespace

std::vector<std::string_view> simd_targets() {
  std::vector<std::string_view> names;
  for (const std::int64_t target : usable_targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

std::int64_t cpu::find_target(std::string_view name) {
  for (const std::int64_t target : usable_targets())
    if (name.empty() || name == hwy::TargetName(target)) return target;
  throw unsupported(fmt::format("there is no instruction set '{}' here; available: {}", name,
                                fmt::join(simd_targets(), ", ")));
}

}  // namespace nz
