#include "kernel_option.hpp"

#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/plan/kernels.hpp>

#include "failures.hpp"

namespace nz::cli {
namespace {

const kernel_row& find_named(const std::string& name, device_kind runs_on) {
  try {
    return find_kernel(name, runs_on);
  } catch (const unsupported& e) {
    throw usage_error(e.what());
  }
}

}  // namespace

void require_kernel(const std::string& name, device_kind runs_on, bool plans) {
  if (find_named(name, runs_on).is_repeatable || !plans) return;
  std::vector<std::string_view> others;
  for (const kernel_row& row : kernels())
    if (row.runs_on == runs_on && row.is_repeatable && !row.is_peer) others.push_back(row.name);
  throw usage_error(fmt::format("the products of {} are not the same bits every time; those of {} are", name,
                                fmt::join(others, ", ")));
}

}  // namespace nz::cli
