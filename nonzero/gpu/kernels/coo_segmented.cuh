#pragma once

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>

namespace nz::gpu {

// Each warp takes an equal number of consecutive entries, 32 at a time. In each step it adds up neighbours of
// the same row (a segmented scan by shuffles); where a row ends, its sum goes to y by one atomic. A row that
// continues in the next step is carried over.
// Good: any row lengths, since every warp has the same work.
// Bad: 13 shuffles for every 32 entries (two in each of five steps of the scan, three for the carry), and the
// row numbers to read: on short, even rows half of csr_scalar's speed. Rows of several warps are added in any
// order, so the last bits may differ from run to run. alpha is applied to each warp's sum, so that huge
// values may overflow that cancel in CSR.
// Traffic: 16 bytes per nonzero in double, plus the gather of x and an atomic per row and warp; y is written
// once more before, to hold beta * y: an extra launch.
// Source: Bell & Garland 2008, §4.4; Sengupta et al. 2007.
template <class V>
__global__ void coo_segmented_kernel(coo_view<V> a, offset entries_per_warp, V alpha, const V* __restrict__ x,
                                     V* y) {
  const int lane = threadIdx.x % 32;
  const offset begin = thread_in_grid() / 32 * entries_per_warp;
  const offset end = begin + entries_per_warp < a.nnz() ? begin + entries_per_warp : a.nnz();
  constexpr index no_row = -1;
  index carried_row = no_row;  // of the step before: its last row, and that row's sum so far; in every lane
  V carried = 0;
  for (offset first = begin; first < end; first += 32) {
    const offset k = first + lane;
    const index i = k < end ? a.row_of(k) : no_row;
    V sum = k < end ? a.value(k) * x[a.column(k)] : V{0};
    if (lane == 0 && carried_row == i) sum = carried + sum;
    if (lane == 0 && carried_row != i && carried_row != no_row) atomicAdd(&y[carried_row], alpha * carried);
    for (int step = 1; step < 32; step *= 2) {
      const V before = __shfl_up_sync(full_warp, sum, step);
      const index row_before = __shfl_up_sync(full_warp, i, step);
      if (lane >= step && row_before == i) sum = before + sum;
    }
    const index next = __shfl_down_sync(full_warp, i, 1);
    if (lane < 31 && next != i && i != no_row) atomicAdd(&y[i], alpha * sum);
    carried_row = __shfl_sync(full_warp, i, 31);
    carried = __shfl_sync(full_warp, sum, 31);
  }
  if (lane == 0 && carried_row != no_row) atomicAdd(&y[carried_row], alpha * carried);
}

/// y += alpha * A x.
template <class Queue, class V>
void add_coo_segmented(Queue& queue, coo_view<V> a, V alpha, const V* x, V* y) {
  // As many warps as the GPU holds at once, each with an equal number of steps.
  const offset steps = (a.nnz() + 31) / 32, resident_warps = queue.resident_threads() / 32;
  const offset steps_per_warp = (steps + resident_warps - 1) / resident_warps;
  const offset warps = steps_per_warp > 0 ? (steps + steps_per_warp - 1) / steps_per_warp : 0;
  launch_threads(queue, "coo_segmented", warps * 32, coo_segmented_kernel<V>, a, steps_per_warp * 32, alpha,
                 x, y);
}

struct coo_segmented_launch {
  static constexpr kernel_row row{.name = "coo_segmented",
                                  .format = "coo",
                                  .summary = "equal numbers of entries per warp, atomics at row ends",
                                  .is_repeatable = false};
  template <class A, class V, class Offset> using matrix = device_coo<A>;

  template <class Queue, class V>
  static void multiply(Queue& queue, const device_coo<V>& a, const V* x, V* y, scale_and_add<V> finish) {
    launch_threads(queue, "scale", a.rows, scale_kernel<V>, a.rows, finish.beta, y);
    add_coo_segmented(queue, a.view(), finish.alpha, x, y);
  }
};

}  // namespace nz::gpu
