#pragma once

#include <cstdint>

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/shared.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A thread per row; the block first brings the x that belongs to its own rows into shared memory, and takes
// from there every x it needs that lies in this window.
// Good: banded matrices on cards that do not cache what they load (2008).  Bad: everything csr_scalar is bad
// at; and where the hardware caches x itself, the test on each column costs more than it saves: on an H200 it
// is at best as fast as csr_scalar and takes up to 1.7 times as long.
// Traffic: csr_scalar's, less the gathers that fall into the window, plus one x per row.
// Source: Nickolls et al. 2008, fig. 8.
template <class V, class Offset, class Epilogue>
__global__ void csr_cached_kernel(index rows, index cols, const Offset* __restrict__ row_begin,
                                  const index* __restrict__ col, const V* __restrict__ val,
                                  const V* __restrict__ x, V* __restrict__ y, Epilogue finish) {
  __shared__ shared_array<V, threads_per_block> window;  // x[first] to x[first + threads_per_block - 1]
  const std::int64_t row = thread_in_grid();
  const std::int64_t first = row - threadIdx.x;
  if (row < cols) window[threadIdx.x] = x[row];
  __syncthreads();  // all threads of the block, also those without a row

  if (row >= rows) return;
  V sum = 0;
  const Offset end = row_begin[row + 1];
  for (Offset k = row_begin[row]; k < end; ++k) {
    const std::int64_t in_window = col[k] - first;
    const bool is_inside = in_window >= 0 && in_window < threads_per_block;
    const V from_x = is_inside ? window[in_window] : x[col[k]];
    sum += val[k] * from_x;
  }
  finish(sum, y[row]);
}

struct csr_cached_launch {
  template <class V, class Offset> using placed = csr_on_device<V, Offset>;

  template <class Queue, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const csr_on_device<V, Offset>& a, const V* x, V* y, Epilogue finish) {
    queue.launch("csr_cached", blocks_for(a.rows), threads_per_block, csr_cached_kernel<V, Offset, Epilogue>,
                 a.rows, a.cols, a.row_begin.data(), a.col.data(), a.val.data(), x, y, finish);
  }
};

}  // namespace nz::gpu
