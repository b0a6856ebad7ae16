#pragma once

#include <cstdint>

#include <nonzero/core/vector.hpp>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

/// Sets the counter of rows back to 0 when the last block is done with it, so that the next multiply needs no
/// launch to do so: counters[0] is the next row, counters[1] the number of blocks that are done. Every thread
/// of the block calls it, once, after its last fetch.
__device__ inline void leave_row_counter(unsigned* counters) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  // atomicInc wraps to 0 past its limit, so the count of blocks sets itself back.
  const bool is_last_block = atomicInc(&counters[1], gridDim.x - 1) == gridDim.x - 1;
  if (is_last_block) atomicExch(&counters[0], 0U);
}

/// Launches a kernel that hands out rows. One that fails halfway, as only the emulator's can, has not set its
/// counters back: the next multiply must not begin where it stopped.
template <class Launch> void launch_with_counters(vector<unsigned>& counters, Launch launch) {
  try {
    launch(counters.data());
  } catch (...) {
    constexpr unsigned zeros[2] = {0, 0};
    if (counters.where()->is_host()) counters.copy_from(zeros);
    throw;
  }
}

/// How many blocks to start for `blocks` of work that is handed out while they run: what the card can hold.
template <class Queue> std::int64_t resident_blocks(const Queue& queue, std::int64_t blocks) {
  const std::int64_t resident = queue.resident_threads() / threads_per_block;
  return blocks < resident ? blocks : resident;
}

}  // namespace nz::gpu
