#pragma once

#include <cstddef>
#include <cstdint>

#include <nonzero/gpu/row_counter.cuh>

namespace nz::gpu {

// Groups of lanes as in csr_vector, but a group that is done takes the next row from a counter in memory. Its
// first lane fetches the row and passes it on by shuffle.
// Good: few, long rows, where fetching costs nothing (level with csr_vector on an H200); on the paper's
// Kepler GPU up to 2.6 times as fast as CUSP's csr_vector.
// Bad: more than a few thousand rows on a current GPU: the counter serves one fetch after the other, about 1
// ns each, so that it takes 1.2 to 4.8 times as long as csr_vector.
// Traffic: csr_vector's, plus one atomic per row; a current GPU merges those of a warp into one.
// Source: Liu & Schmidt 2015 (LightSpMV), vector level.
template <int Lanes, class V, class Offset>
__global__ void csr_light_vector_kernel(csr_view<V, Offset> a, const V* __restrict__ x, V* __restrict__ y,
                                        unsigned* counters, scale_and_add<V> finish) {
  const int lane = threadIdx.x % Lanes;
  const unsigned group = group_mask<Lanes>();
  const auto next_row = [&] {
    unsigned row = 0;
    if (lane == 0) row = atomicAdd(&counters[0], 1U);
    return __shfl_sync(group, row, 0, Lanes);
  };
  for (unsigned row = next_row(); row < static_cast<unsigned>(a.rows); row = next_row()) {
    const V sum = group_sum<Lanes>(light_lane_sum<Lanes>(a, row, lane, x));
    if (lane == 0) finish(sum, y[row]);
  }
  reset_row_counter(counters);
}

struct csr_light_vector_launch {
  static constexpr kernel_row row{
      .name = "csr_light_vector",
      .format = "csr",
      .summary = "dynamic row distribution: each group of 2 to 32 lanes takes its next row from a counter"};
  template <class A, class V, class Offset> using matrix = csr_with_counter<A, Offset>;

  template <class Queue, class V, class Offset>
  static void multiply(Queue& queue, const csr_with_counter<V, Offset>& a, std::byte* set, const V* x, V* y,
                       scale_and_add<V> finish) {
    launch_light(queue, "csr_light_vector", a, set, x, y, finish,
                 [](auto lanes) { return csr_light_vector_kernel<lanes.value, V, Offset>; });
  }
};

}  // namespace nz::gpu
