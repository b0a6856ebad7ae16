#pragma once

#include <cstdint>

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A thread per row over column-major storage: in each step neighbouring threads read neighbouring entries.
// Good: rows of about equal length, the more the longer they are: 2.3 times as fast as csr_scalar at 27 per
// row, no faster at 3 to 7.  Bad: one long row (every row is padded to it; threads stop at their row's end,
// but the places are there); few rows (a thread walks each alone).
// Traffic: 12 bytes per place in double up to the longest row of each warp, in whole transactions, plus the
// gather of x.
// Source: Bell & Garland 2008, §4.1.2; TUM 2013, heat equation; ECE 408 L18.
template <class V, class Epilogue>
__global__ void ell_kernel(index rows, offset width, const index* __restrict__ col, const V* __restrict__ val,
                           const V* __restrict__ x, V* __restrict__ y, Epilogue finish) {
  const std::int64_t row = thread_in_grid();
  if (row >= rows) return;
  V sum = 0;
  for (offset k = 0; k < width; ++k) {
    const offset at = k * rows + row;
    const index j = col[at];
    if (j == padding_column) break;  // padding is only at the row's end
    sum += val[at] * x[j];
  }
  finish(sum, y[row]);
}

struct ell_launch {
  template <class V, class Offset> using placed = device_ell<V>;

  template <class Queue, class V, class Epilogue>
  static void multiply(Queue& queue, const device_ell<V>& a, const V* x, V* y, Epilogue finish) {
    queue.launch("ell", blocks_for(a.rows), threads_per_block, ell_kernel<V, Epilogue>, a.rows, a.width,
                 a.col.data(), a.val.data(), x, y, finish);
  }
};

}  // namespace nz::gpu
