#pragma once

#include <span>

#include <nonzero/kernel/back_end.hpp>

namespace nz {

/// The kernels of this folder.
std::span<const kernel_row> cpu_kernels();

const back_end& cpu_back_end();

/// Whether these kernels use one thread for a matrix, because it is so small.
bool is_for_one_thread(index rows, offset entries);

}  // namespace nz
