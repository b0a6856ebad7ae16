#pragma once

#include <span>

#include <nonzero/kernel/kernel_row.hpp>

namespace nz {

/// The kernels of this folder.
std::span<const kernel_row> cpu_kernels();

}  // namespace nz
