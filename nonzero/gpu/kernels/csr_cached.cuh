#pragma once

#include <cstdint>

#include <nonzero/core/epilogue.hpp>
#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/shared.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A thread per row. The block first loads the x of its own rows into shared memory; columns within this
// window are read from there.
// Good: banded matrices on GPUs that do not cache loads (2008).
// Bad: everything csr_scalar is bad at; where the hardware caches x itself, the test of each column costs
// more than it saves: on an H200 it is at best as fast as csr_scalar and takes up to 1.7 times as long.
// Traffic: csr_scalar's, less the gathers that fall into the window, plus one x per row.
// Source: after the cached-x idea in Nickolls et al. 2008.
template <class V, class Offset>
__global__ void csr_cached_kernel(csr_view<V, Offset> a, const V* __restrict__ x, V* __restrict__ y,
                                  scale_and_add<V> finish) {
  __shared__ shared_array<V, threads_per_block> window;  // x[first] to x[first + threads_per_block - 1]
  const std::int64_t row = thread_in_grid();
  const std::int64_t first = row - threadIdx.x;
  if (row < a.cols) window[threadIdx.x] = x[row];
  __syncthreads();  // all threads of the block, also those without a row

  if (row >= a.rows) return;
  V sum = 0;
  const Offset end = a.end(row);
  for (Offset k = a.begin(row); k < end; ++k) {
    const index column = a.column(k);
    const std::int64_t in_window = column - first;
    const bool is_inside = in_window >= 0 && in_window < threads_per_block;
    const V from_x = is_inside ? window[in_window] : x[column];
    sum += a.value(k) * from_x;
  }
  finish(sum, y[row]);
}

struct csr_cached_launch {
  static constexpr kernel_row row{
      .name = "csr_cached", .format = "csr", .summary = "a thread per row, a window of x in shared memory"};
  template <class A, class V, class Offset> using matrix = shared_csr<A, Offset>;

  template <class Queue, class V, class Offset>
  static void multiply(Queue& queue, const shared_csr<V, Offset>& a, const V* x, V* y,
                       scale_and_add<V> finish) {
    launch_threads(queue, "csr_cached", a.rows, csr_cached_kernel<V, Offset>, a.view(), x, y, finish);
  }
};

}  // namespace nz::gpu
