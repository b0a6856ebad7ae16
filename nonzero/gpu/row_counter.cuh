#pragma once

#include <cstdint>
#include <memory>

#include <nonzero/core/epilogue.hpp>
#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/scratch.cuh>
#include <nonzero/gpu/warp.cuh>

// What csr_light_vector and csr_light_warp share: rows are handed out by a counter while the kernel runs.
namespace nz::gpu {

/// CSR with counters[0], the next row, and counters[1], the number of blocks that are done. Both are 0
/// between multiplies.
template <class V, class Offset> struct csr_with_counter : shared_csr<V, Offset> {
  scratch_array<unsigned> counters;

  using shared_csr<V, Offset>::shared_csr;
  void reserve(scratch_layout& layout) { counters = layout.add<unsigned>(2); }
};

/// The sum of one lane's entries of a row. A whole warp starts at a multiple of 32 entries at or before the
/// row's first, so that its loads are aligned; lanes before the row's begin skip the first step.
template <int Lanes, class V, class Offset>
__device__ V light_lane_sum(const csr_view<V, Offset>& a, std::int64_t row, int lane,
                            const V* __restrict__ x) {
  const Offset begin = a.begin(row), end = a.end(row);
  V sum = 0;
  Offset k = begin + lane;
  if constexpr (Lanes == 32) {
    k = begin - begin % 32 + lane;
    if (k < begin) k += 32;
  }
  for (; k < end; k += Lanes) sum += a.value(k) * x[a.column(k)];
  return sum;
}

/// Resets the row counter when the last block is done with it, so that the next multiply needs no launch to
/// do so. Every thread of the block calls it, once, after its last fetch.
__device__ inline void reset_row_counter(unsigned* counters) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  // atomicInc wraps to 0 past its limit, so the count of blocks resets itself.
  const bool is_last_block = atomicInc(&counters[1], gridDim.x - 1) == gridDim.x - 1;
  if (is_last_block) atomicExch(&counters[0], 0U);
}

/// Launches kernel_for(lanes), with the lanes per row as a constant, in as many blocks as the GPU can hold.
template <class Queue, class V, class Offset, class KernelFor>
void launch_light(Queue& queue, const char* name, const csr_with_counter<V, Offset>& a, std::byte* set,
                  const V* x, V* y, scale_and_add<V> finish, KernelFor kernel_for) {
  with_lanes(lanes_for(a.rows, a.nnz()), [&](auto lanes) {
    const std::int64_t needed = blocks_for(std::int64_t{lanes.value} * a.rows),
                       resident = queue.resident_threads() / threads_per_block;
    queue.launch(name, needed < resident ? needed : resident, threads_per_block, kernel_for(lanes), a.view(),
                 x, y, a.counters.in(set), finish);
  });
}

}  // namespace nz::gpu
