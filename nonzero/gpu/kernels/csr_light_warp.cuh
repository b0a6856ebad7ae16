#pragma once

#include <cstddef>
#include <cstdint>

#include <nonzero/gpu/row_counter.cuh>

namespace nz::gpu {

// As csr_light_vector, but a whole warp fetches as many rows as it has groups: an atomic for every 32 / Lanes
// rows.
// Good: what csr_light_vector is good at. On a GPU that merges atomics it is faster only where rows differ
// within a warp: up to 1.5 times.
// Bad: what csr_light_vector is bad at; the groups of a warp wait for the longest of its rows.
// Traffic: csr_vector's, plus Lanes / 32 atomics per row.
// Source: Liu & Schmidt 2015 (LightSpMV), warp level.
template <int Lanes, class V, class Offset>
__global__ void csr_light_warp_kernel(csr_view<V, Offset> a, const V* __restrict__ x, V* __restrict__ y,
                                      unsigned* counters, scale_and_add<V> finish) {
  constexpr unsigned groups = 32 / Lanes;
  const int lane = threadIdx.x % Lanes;
  const unsigned group_in_warp = threadIdx.x % 32 / Lanes;
  const auto next_rows = [&] {
    unsigned first = 0;
    if (threadIdx.x % 32 == 0) first = atomicAdd(&counters[0], groups);
    return __shfl_sync(full_warp, first, 0);
  };
  for (unsigned first = next_rows(); first < static_cast<unsigned>(a.rows); first = next_rows()) {
    const unsigned row = first + group_in_warp;
    if (row < static_cast<unsigned>(a.rows)) {  // the same for all lanes of the group
      const V sum = group_sum<Lanes>(light_lane_sum<Lanes>(a, row, lane, x));
      if (lane == 0) finish(sum, y[row]);
    }
  }
  reset_row_counter(counters);
}

struct csr_light_warp_launch {
  static constexpr kernel_row row{
      .name = "csr_light_warp",
      .format = "csr",
      .summary = "dynamic row distribution: each warp takes its next rows from a counter"};
  template <class A, class V, class Offset> using matrix = csr_with_counter<A, Offset>;

  template <class Queue, class V, class Offset>
  static void multiply(Queue& queue, const csr_with_counter<V, Offset>& a, std::byte* set, const V* x, V* y,
                       scale_and_add<V> finish) {
    launch_light(queue, "csr_light_warp", a, set, x, y, finish,
                 [](auto lanes) { return csr_light_warp_kernel<lanes.value, V, Offset>; });
  }
};

}  // namespace nz::gpu
