#pragma once

#include <cstdint>

#include <nonzero/core/epilogue.hpp>
#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A thread per row over column-major storage: in each step neighbouring threads read neighbouring entries.
// Good: rows of about equal length, the longer the better: 2.3 times as fast as csr_scalar at 27 per row, no
// faster at 3 to 7.
// Bad: one long row (every row is padded to it; threads stop at their row's end, but the memory is used); few
// rows (one thread per row).
// Traffic: 12 bytes per place in double up to the longest row of each warp, coalesced, plus the gather of x.
// Source: Bell & Garland 2008, §4.1.2; TUM 2013, heat equation; ECE 408 L18.
template <class V>
__global__ void ell_kernel(ell_view<V> a, const V* __restrict__ x, V* __restrict__ y,
                           scale_and_add<V> finish) {
  const std::int64_t row = thread_in_grid();
  if (row >= a.rows) return;
  V sum = 0;
  for (offset k = 0; k < a.width; ++k) {
    const offset at = a.place(row, k);
    const index j = a.column(at);
    if (j == padding_column) break;  // padding is only at the row's end
    sum += a.value(at) * x[j];
  }
  finish(sum, y[row]);
}

struct ell_launch {
  static constexpr kernel_row row{
      .name = "ell", .format = "ell", .summary = "a thread per row, column by column"};
  template <class A, class V, class Offset> using matrix = device_ell<A>;

  template <class Queue, class V>
  static void multiply(Queue& queue, const device_ell<V>& a, const V* x, V* y, scale_and_add<V> finish) {
    launch_threads(queue, "ell", a.rows, ell_kernel<V>, a.view(), x, y, finish);
  }
};

}  // namespace nz::gpu
