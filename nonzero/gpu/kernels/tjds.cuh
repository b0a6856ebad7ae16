#pragma once

#include <cstdint>

#include <nonzero/core/epilogue.hpp>
#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A thread per row, rows sorted by length and stored by jagged diagonals: in each step neighbouring threads
// read neighbouring entries, as in ELL, without padding.
// Good: rows of nearly equal length, up to about 80: coalesced loads without padding.
// Bad: rows of unequal length: nearly twice csr_scalar's time where the longest has 60 (NotreDame_www), and
// the slowest of all with a giant row, which one thread sums alone. Sorting scatters y and separates rows
// that use the same x.
// Traffic: 12 bytes per nonzero in double, coalesced, plus the gather of x and 4 bytes per row for the
// permutation.
// Source: ECE 408 L19.
template <class V, class Offset>
__global__ void tjds_kernel(tjds_view<V, Offset> a, const V* __restrict__ x, V* __restrict__ y,
                            scale_and_add<V> finish) {
  const std::int64_t place = thread_in_grid();
  if (place >= a.rows) return;
  V sum = 0;
  const offset width = a.width();
  for (offset k = 0; k < width; ++k) {
    const offset at = a.diagonal(k) + place;
    if (at >= a.diagonal(k + 1)) break;  // diagonals never grow: the first that is too short ends the row
    sum += a.value(at) * x[a.column(at)];
  }
  finish(sum, y[a.row_at(place)]);
}

struct tjds_launch {
  static constexpr kernel_row row{
      .name = "tjds", .format = "tjds", .summary = "a thread per row, sorted, diagonal by diagonal"};
  template <class A, class V, class Offset> using matrix = device_tjds<A, Offset>;

  template <class Queue, class V, class Offset>
  static void multiply(Queue& queue, const device_tjds<V, Offset>& a, const V* x, V* y,
                       scale_and_add<V> finish) {
    launch_threads(queue, "tjds", a.rows, tjds_kernel<V, Offset>, a.view(), x, y, finish);
  }
};

}  // namespace nz::gpu
