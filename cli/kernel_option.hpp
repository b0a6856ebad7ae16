#pragma once

#include <string>

#include <nonzero/core/device.hpp>

namespace nz::cli {

/// Throws `usage_error`, naming those that can be had, unless there is such a kernel there. Of a kernel for
/// `plans` the products must be the same bits every time.
void require_kernel(const std::string& name, device_kind runs_on, bool plans = true);

}  // namespace nz::cli
