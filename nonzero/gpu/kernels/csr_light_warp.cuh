#pragma once

#include <cstdint>

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/kernels/csr_light_vector.cuh>
#include <nonzero/gpu/row_counter.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// As csr_light_vector, but a whole warp fetches at once as many rows as it has groups: an atomic for every 32
// / Lanes rows.
// Good: what csr_light_vector is good at. On a card that merges atomics it is faster only where rows differ
// within a warp: up to 1.5 times.  Bad: what csr_light_vector is bad at; the groups of a warp wait for the
// longest of its rows.
// Traffic: csr_vector's, plus Lanes / 32 atomics per row.
// Source: Liu & Schmidt 2015 (LightSpMV), warp level.
template <int Lanes, class V, class Offset, class Epilogue>
__global__ void csr_light_warp_kernel(index rows, const Offset* __restrict__ row_begin,
                                      const index* __restrict__ col, const V* __restrict__ val,
                                      const V* __restrict__ x, V* __restrict__ y, unsigned* counters,
                                      Epilogue finish) {
  constexpr unsigned groups = 32 / Lanes;
  const int lane = threadIdx.x % Lanes;
  const unsigned group_in_warp = threadIdx.x % 32 / Lanes;
  const auto next_rows = [&] {
    unsigned first = 0;
    if (threadIdx.x % 32 == 0) first = atomicAdd(&counters[0], groups);
    return __shfl_sync(full_warp, first, 0);
  };
  for (unsigned first = next_rows(); first < static_cast<unsigned>(rows); first = next_rows()) {
    const unsigned row = first + group_in_warp;
    if (row < static_cast<unsigned>(rows)) {  // the same for all lanes of the group
      V sum = light_row_share<Lanes>(row_begin[row], row_begin[row + 1], lane, col, val, x);
      sum = group_sum<Lanes>(sum);
      if (lane == 0) finish(sum, y[row]);
    }
  }
  leave_row_counter(counters);
}

struct csr_light_warp_launch {
  template <class V, class Offset> using placed = csr_with_counter<V, Offset>;

  template <class Queue, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const placed<V, Offset>& a, const V* x, V* y, Epilogue finish) {
    with_lanes(lanes_for(a.rows, a.nnz), [&](auto lanes) {
      const std::int64_t blocks = resident_blocks(queue, blocks_for(std::int64_t{lanes.value} * a.rows));
      launch_with_counters(a.counters, [&](unsigned* counters) {
        queue.launch("csr_light_warp", blocks, threads_per_block,
                     csr_light_warp_kernel<lanes.value, V, Offset, Epilogue>, a.rows, a.row_begin.data(),
                     a.col.data(), a.val.data(), x, y, counters, finish);
      });
    });
  }
};

}  // namespace nz::gpu
