#pragma once

#include <cstdint>

#include <nonzero/core/epilogue.hpp>
#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A thread per row, rows sorted by length: the threads of a warp have about equal work.
// Good: hardly ever faster than csr_scalar. It shows that control divergence is not what makes csr_scalar
// slow.
// Bad: as csr_scalar, neighbouring threads read far from each other; and y is written out of order.
// Traffic: csr_scalar's, plus 4 bytes per row for the permutation.
// Source: ECE 408 L19.
template <class V, class Offset>
__global__ void jds_kernel(jds_view<V, Offset> a, const V* __restrict__ x, V* __restrict__ y,
                           scale_and_add<V> finish) {
  const std::int64_t place = thread_in_grid();
  if (place >= a.rows) return;
  V sum = 0;
  const Offset end = a.end(place);
  for (Offset k = a.begin(place); k < end; ++k) sum += a.value(k) * x[a.column(k)];
  finish(sum, y[a.row_at(place)]);
}

struct jds_launch {
  static constexpr kernel_row row{
      .name = "jds", .format = "jds", .summary = "a thread per row, rows sorted by length"};
  template <class A, class V, class Offset> using matrix = device_jds<A, Offset>;

  template <class Queue, class V, class Offset>
  static void multiply(Queue& queue, const device_jds<V, Offset>& a, const V* x, V* y,
                       scale_and_add<V> finish) {
    launch_threads(queue, "jds", a.rows, jds_kernel<V, Offset>, a.view(), x, y, finish);
  }
};

}  // namespace nz::gpu
