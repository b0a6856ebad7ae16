#pragma once

#include <cstdint>

#include <nonzero/gpu/placed_slices.cuh>
#include <nonzero/gpu/read_once.cuh>
#include <nonzero/gpu/steps.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A thread per row, a warp per slice of 32 rows: in each step its lanes read neighbouring entries. Rows are
// sorted by length within 1,024, so that those of a slice end together; y is written where the row belongs.
// Good: rows of about equal length, short or long: a prototype on an H200 had 91 to 95 % of its bandwidth at
// 3 to 80 per row in double, 72 to 88 % in float.  Bad: a row far longer than its neighbours (a thread walks
// it alone, beside 31 rows of padding); x gathered from all over, as wherever all of x is met at once.
// Traffic: 12 bytes per place in double, 4 per slice and 4 per row of those slices whose rows are no
// neighbours, plus the gather of x.
// Source: Kreutzer, Hager, Wellein, Fehske, Bishop 2014 (SELL-C-sigma).
template <class A, class V, class Offset, class Epilogue>
__global__ void sell_slices_kernel(index rows, const index* __restrict__ first_row,
                                   const index* __restrict__ listed_rows,
                                   const Offset* __restrict__ slice_begin, const index* __restrict__ col,
                                   const A* __restrict__ val, const V* __restrict__ x, V* __restrict__ y,
                                   Epilogue finish) {
  const std::int64_t place = thread_in_grid(), slice = place / slice_height;
  const int lane = threadIdx.x % slice_height;
  row_finisher<Epilogue> finish_row(finish, y);
  if (place < rows) {
    constexpr int ahead = 32 / sizeof(V);  // entries that are under way at once
    V sum = 0;
    in_batches<ahead>(slice_begin[slice], slice_begin[slice + 1], [&](auto steps, Offset k) {
      index j[steps];
      A v[steps];
      V v_x[steps];
      for (int q = 0; q < steps; ++q) {
        const offset at = (offset{k} + q) * slice_height + lane;
        j[q] = read_once(col + at);
        v[q] = read_once(val + at);
      }
      for (int q = 0; q < steps; ++q) v_x[q] = x_or_zero<1>(x, j[q], 0);
      for (int q = 0; q < steps; ++q) sum += static_cast<V>(v[q]) * v_x[q];
    });
    finish_row(sum, row_of_place(first_row, listed_rows, slice, lane));
  }
  finish_row.leave_sums();
}

struct sell_slices_launch {
  template <class A, class Offset, class V = A> using placed = placed_sell<A, Offset>;

  template <class Queue, class A, class Offset>
  static std::int64_t blocks(const Queue&, const placed_sell<A, Offset>& a) {
    return blocks_for(a.rows);
  }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const placed_sell<A, Offset>& a, const V* x, V* y, Epilogue finish) {
    queue.launch("sell_slices", blocks(queue, a), threads_per_block,
                 sell_slices_kernel<A, V, Offset, Epilogue>, a.rows, a.row.first.data(), a.row.listed.data(),
                 a.slice_begin.data(), a.col.data(), a.val.data(), x, y, finish);
  }
};

}  // namespace nz::gpu
