#pragma once

#include <cstdint>

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/row_counter.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

/// One lane's share of a row. A whole warp starts at a multiple of 32 entries at or before the row's first,
/// so that each of its loads is one aligned stretch of memory; lanes that fall before the row wait a turn.
template <int Lanes, class V, class Offset>
__device__ V light_row_share(Offset begin, Offset end, int lane, const index* __restrict__ col,
                             const V* __restrict__ val, const V* __restrict__ x) {
  V sum = 0;
  Offset k = begin + lane;
  if constexpr (Lanes == 32) {
    k = begin - begin % 32 + lane;
    if (k < begin) k += 32;
  }
  for (; k < end; k += Lanes) sum += val[k] * x[col[k]];
  return sum;
}

// Groups of lanes as in csr_vector, but rows are not dealt out beforehand: a group that is done takes the
// next row from a counter in memory. Its first lane fetches and hands the number on by shuffle.
// Good: few, long rows, where fetching costs nothing (level with csr_vector on an H200); on the paper's
// Kepler card up to 2.6 times as fast as CUSP's csr_vector.  Bad: more than a few thousand rows on a current
// card: the one counter serves one fetch after the other, about 1 ns each, so that it takes 1.2 to 4.8 times
// as long as csr_vector.
// Traffic: csr_vector's, plus one atomic per row; those that the lanes of a warp do together a current card
// merges into one.
// Source: Liu & Schmidt 2015 (LightSpMV), vector level.
template <int Lanes, class V, class Offset, class Epilogue>
__global__ void csr_light_vector_kernel(index rows, const Offset* __restrict__ row_begin,
                                        const index* __restrict__ col, const V* __restrict__ val,
                                        const V* __restrict__ x, V* __restrict__ y, unsigned* counters,
                                        Epilogue finish) {
  const int lane = threadIdx.x % Lanes;
  const unsigned group = group_mask<Lanes>();
  const auto next_row = [&] {
    unsigned row = 0;
    if (lane == 0) row = atomicAdd(&counters[0], 1U);
    return __shfl_sync(group, row, 0, Lanes);
  };
  for (unsigned row = next_row(); row < static_cast<unsigned>(rows); row = next_row()) {
    V sum = light_row_share<Lanes>(row_begin[row], row_begin[row + 1], lane, col, val, x);
    sum = group_sum<Lanes>(sum);
    if (lane == 0) finish(sum, y[row]);
  }
  leave_row_counter(counters);
}

struct csr_light_vector_launch {
  template <class V, class Offset> using placed = csr_with_counter<V, Offset>;

  template <class Queue, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const placed<V, Offset>& a, const V* x, V* y, Epilogue finish) {
    with_lanes(lanes_for(a.rows, a.nnz), [&](auto lanes) {
      const std::int64_t blocks = resident_blocks(queue, blocks_for(std::int64_t{lanes.value} * a.rows));
      launch_with_counters(a.counters, [&](unsigned* counters) {
        queue.launch("csr_light_vector", blocks, threads_per_block,
                     csr_light_vector_kernel<lanes.value, V, Offset, Epilogue>, a.rows, a.row_begin.data(),
                     a.col.data(), a.val.data(), x, y, counters, finish);
      });
    });
  }
};

}  // namespace nz::gpu
