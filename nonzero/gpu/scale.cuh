#pragma once

#include <cstdint>

#include <nonzero/core/types.hpp>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

/// y = beta * y: for kernels that then add to y.
template <class V> __global__ void scale_kernel(index rows, V beta, V* __restrict__ y) {
  const std::int64_t row = thread_in_grid();
  if (row < rows) y[row] = beta == V{0} ? V{0} : beta * y[row];
}

}  // namespace nz::gpu
