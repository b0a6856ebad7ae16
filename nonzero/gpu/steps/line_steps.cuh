#pragma once

#include <cmath>
#include <cstdint>

#include <nonzero/core/types.hpp>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/shared.cuh>
#include <nonzero/gpu/warp.cuh>

namespace nz::gpu {

/// Cells of a lane, in registers. A pass makes at most as many steps, so that only the first and the last
/// lane end with wrong cells, for lack of neighbours.
constexpr int line_cells = 16;
constexpr int line_width = 32 * line_cells;              // of a warp
constexpr int line_owned = line_width - 2 * line_cells;  // what it writes
/// In shared memory: one more after each lane's cells, to avoid bank conflicts.
constexpr int line_pitch = line_width + 32;

/// One step of a lane's cells, the first of which is `cell`. In the last step of a pass, returns the sum of
/// the squares of (A q).
template <bool AtEdge, bool IsLast, class V>
__device__ double line_step(V (&q)[line_cells], std::int64_t cell, index side, bool mirrors, V factor) {
  V before = __shfl_up_sync(full_warp, q[line_cells - 1], 1);
  const V after_last = __shfl_down_sync(full_warp, q[0], 1);
  double sum = 0;
  for (int j = 0; j < line_cells; ++j) {
    const V here = q[j];
    V after = j + 1 < line_cells ? q[(j + 1) % line_cells] : after_last;
    if (AtEdge) {
      const V outside = mirrors ? here : V{0};
      if (cell + j == 0) before = outside;
      if (cell + j == side - 1) after = outside;
    }
    const V change = std::fma(V{-2}, here, before + after);
    q[j] = std::fma(factor, change, here);
    before = here;
    if (IsLast && (!AtEdge || (cell + j >= 0 && cell + j < side)))
      sum += static_cast<double>(change) * static_cast<double>(change);
  }
  return sum;
}

template <bool AtEdge, class V>
__device__ double line_steps(V (&q)[line_cells], std::int64_t cell, index side, bool mirrors, V factor,
                             int steps) {
  for (int s = 1; s < steps; ++s) line_step<AtEdge, false>(q, cell, side, mirrors, factor);
  return line_step<AtEdge, true>(q, cell, side, mirrors, factor);
}

// Steps on a line: a warp has 512 cells in registers, makes up to 16 steps of them without a barrier, and
// writes the 480 in the middle; the others lack neighbours and belong to other warps.
// Good: lines of many cells, many steps.
// Bad: lines of a few thousand cells, which leave most of a GPU idle.
// Traffic: 16 bytes per cell and pass in double, 17 with the overlap of warps; 3 operations per cell and
// step.
// Source: overlapped tiling (Krishnamoorthy et al. 2007), in registers.
template <class V>
__global__ void __launch_bounds__(threads_per_block)
    line_steps_kernel(index side, bool mirrors, V factor, int steps, const V* __restrict__ from,
                      V* __restrict__ to, double* __restrict__ sums) {
  __shared__ shared_array<V, threads_per_block / 32 * line_pitch> staged;
  const int lane = threadIdx.x % 32, base = threadIdx.x / 32 * line_pitch;
  const std::int64_t first = thread_in_grid() / 32 * line_owned - line_cells;
  for (int j = 0; j < line_cells; ++j) {
    const int i = j * 32 + lane;
    staged[base + i + i / line_cells] = first + i >= 0 && first + i < side ? from[first + i] : V{0};
  }
  __syncwarp();
  V q[line_cells];
  const int mine = base + lane * (line_cells + 1);
  for (int j = 0; j < line_cells; ++j) q[j] = staged[mine + j];

  const std::int64_t cell = first + lane * line_cells;
  const bool is_at_edge = first <= 0 || first + line_width >= side;  // the whole warp
  double sum = is_at_edge ? line_steps<true>(q, cell, side, mirrors, factor, steps)
                          : line_steps<false>(q, cell, side, mirrors, factor, steps);
  if (lane == 0 || lane == 31) sum = 0;  // these cells belong to other warps

  for (int j = 0; j < line_cells; ++j) staged[mine + j] = q[j];
  __syncwarp();
  for (int j = 0; j < line_cells; ++j) {
    const int i = j * 32 + lane;
    if (i >= line_cells && i < line_width - line_cells && first + i < side)
      to[first + i] = staged[base + i + i / line_cells];
  }
  if (sums == nullptr) return;  // all threads of the grid
  const step_sums total = block_sum({sum, 0}, 1);
  if (threadIdx.x == 0) sums[blockIdx.x] = total.first;
}

}  // namespace nz::gpu
