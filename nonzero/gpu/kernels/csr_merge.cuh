#pragma once

#include <cstdint>
#include <type_traits>

#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/load.cuh>
#include <nonzero/gpu/merge_tiles.cuh>
#include <nonzero/gpu/shared.cuh>
#include <nonzero/gpu/threads.cuh>

// How csr_merge multiplies by the shares of csr_shares.cuh.
namespace nz::gpu {

/// A segmented scan over the block: `left_over` is what a thread has after its last row end, or all it has.
/// It becomes the sum from the nearest end before on, and what came from the threads before is returned.
template <class V> __device__ V carry_over(V& left_over, bool has_end) {
  constexpr int warps = threads_per_block / 32;
  __shared__ shared_array<V, warps> sum_of_warp;
  __shared__ shared_array<unsigned, warps> ends_of_warp;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned ends = __ballot_sync(full_warp, has_end);
  const unsigned ends_before = ends & ((1U << lane) - 1), ends_up_to_here = ends & (full_warp >> (31 - lane));
  const int from = ends_up_to_here == 0 ? 0 : 31 - __clz(static_cast<int>(ends_up_to_here));
  for (int step = 1; step < 32; step *= 2) {
    const V before = __shfl_up_sync(full_warp, left_over, step);
    if (lane - step >= from) left_over = before + left_over;
  }
  V carried = __shfl_up_sync(full_warp, left_over, 1);
  if (lane == 0) carried = 0;
  if (lane == 31) {
    sum_of_warp[warp] = left_over;
    ends_of_warp[warp] = ends;
  }
  __syncthreads();
  V from_warps = 0;
  for (int w = 0; w < warp; ++w) from_warps = (ends_of_warp[w] != 0 ? V{0} : from_warps) + sum_of_warp[w];
  if (ends_up_to_here == 0) left_over = from_warps + left_over;
  return ends_before == 0 ? from_warps + carried : carried;
}

/// Adds up the products of each row. Bit j of `ends` is set where a row ends with the j-th of this thread's
/// seven. Its sum, from the first product of the share on if it began before, is left in place of the last.
/// Returns, in the last thread, the sum of what follows the last end.
template <class V> __device__ V sum_rows(int entries, unsigned ends, shared_array<V, most_items>& product) {
  const int first = threadIdx.x * items_per_thread, first_end = __ffs(static_cast<int>(ends)) - 1;
  V mine[items_per_thread], sum = 0, sum_to_first_end = 0;
  for (int j = 0; j < items_per_thread; ++j) mine[j] = first + j < entries ? V{product[first + j]} : V{0};
  for (int j = 0; j < items_per_thread; ++j) {
    sum += mine[j];
    if (((ends >> j) & 1U) == 0) continue;
    if (j == first_end)
      sum_to_first_end = sum;
    else
      product[first + j] = sum;
    sum = 0;
  }
  const V carried = carry_over(sum, ends != 0);
  if (ends != 0) product[first + first_end] = carried + sum_to_first_end;
  return sum;
}

/// The sum of tails [first, end), in the first thread; always added in the same order, whichever block does
/// it. Every thread calls it.
template <class V> __device__ V sum_of_tails(offset first, offset end, const V* tail) {
  constexpr int warps = threads_per_block / 32;
  __shared__ shared_array<V, warps> sum_of_warp;
  V sum = 0;
  for (offset s = first + threadIdx.x; s < end; s += threads_per_block) sum += load_l2(tail + s);
  sum = group_sum<32>(sum);
  __syncthreads();
  if (threadIdx.x % 32 == 0) sum_of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  V total = 0;
  for (int w = 0; w < warps && threadIdx.x == 0; ++w) total += sum_of_warp[w];
  return total;
}

/// Finishes a cut row if all other blocks have left their parts of it. Every thread of the block calls it.
template <class V, class Offset, class Finish>
__device__ void finish_if_last(const row_in_tiles& row, const merge_tiles<V, Offset>& shares,
                               Finish& finish) {
  const auto blocks = static_cast<unsigned>(row.last_tile - row.first_tile + 1);
  if (!is_last_to_arrive(blocks, &shares.arrived[row.first_tile])) return;
  const V before = sum_of_tails(row.first_tile, row.last_tile, shares.tail);
  if (threadIdx.x == 0) finish(before + load_l2(shares.head + row.last_tile), row.row);
}

// A block per share: products of neighbouring entries by neighbouring threads into shared memory, then seven
// neighbouring products added up by each thread and what they leave over by a scan. A row that is cut is
// finished by the last block that has a part of it; or, for the sums of a fused step, which need the same
// block every time, and where most rows are cut, by csr_merge_finish_kernel, a second launch.
// Good: any row lengths: one giant row, power laws, millions of empty rows; about the same work for every
// block.  Bad: short, even rows, for which csr_scalar has less to do than the way through shared memory; rows
// of thousands, for which csr_groups has.
// Traffic: 12 bytes per nonzero in double, in whole transactions, 4 where all values are the same; plus the
// gather of x; for each share of 1,280 items 16 to 32 bytes.
// Source: Merrill & Garland 2016 (merge-based SpMV) for the shares; Sengupta et al. 2007 for the scan.
template <bool FinishesCutRows, class A, class V, class Offset, class Epilogue>
__global__ void __launch_bounds__(threads_per_block)
    csr_merge_kernel(index rows, merge_tiles<V, Offset> shares, const Offset* __restrict__ row_begin,
                     const index* __restrict__ col, entry_values<A> values, const V* __restrict__ x,
                     V* __restrict__ y, Epilogue finish) {
  __shared__ shared_array<V, most_items> product;
  __shared__ shared_array<unsigned, threads_per_block> ends;  // for each thread, of its products in sum_rows
  if constexpr (!FinishesCutRows) trigger_dependent_launch();
  const int thread = threadIdx.x;
  const merge_tile<Offset> share(shares);
  ends[thread] = 0;

  // Past the last entry the last is read again, and dropped: loads without branches are all under way at
  // once.
  index column[items_per_thread];
  V value[items_per_thread];
  const auto place = [&](int j) {
    const int k = j * threads_per_block + thread;
    return share.first_entry + (k < share.entries ? k : share.entries - 1);
  };
  if (share.entries > 0)
    for (int j = 0; j < items_per_thread; ++j) column[j] = load_no_l1(col + place(j));
  if (values.each == nullptr)
    for (int j = 0; j < items_per_thread; ++j) value[j] = static_cast<V>(values.all);
  else if (share.entries > 0)
    for (int j = 0; j < items_per_thread; ++j) value[j] = static_cast<V>(load_no_l1(values.each + place(j)));
  __syncthreads();
  for (int r = thread; r < share.rows; r += threads_per_block) {
    const int last = share.last_entry(row_begin, r);
    // Adding sets the bit, as no two rows have the same last entry.
    if (last >= 0) atomicAdd(&ends[last / items_per_thread], 1U << (last % items_per_thread));
  }
  for (int j = 0; j < items_per_thread && share.entries > 0; ++j) value[j] *= x[column[j]];
  for (int j = 0; j < items_per_thread; ++j) {
    const int k = j * threads_per_block + thread;
    if (k < share.entries) product[k] = value[j];
  }
  __syncthreads();
  const V left_over = sum_rows<V>(share.entries, ends[thread], product);
  if (thread == threads_per_block - 1 && share.number < shares.shares) shares.tail[share.number] = left_over;
  __syncthreads();
  row_epilogue<Epilogue> finish_row(finish, y);
  const bool ends_cut_row = share.ends_cut_row(row_begin);
  for (int r = thread; r < share.rows; r += threads_per_block) {
    const int last = share.last_entry(row_begin, r);
    const V sum = last >= 0 ? V{product[last]} : V{0};
    if (r == 0 && ends_cut_row)
      shares.head[share.number] = sum;
    else
      finish_row(sum, share.first_row + r);
  }
  if constexpr (FinishesCutRows) {
    if (ends_cut_row) finish_if_last(row_in_tiles(share.first_row, row_begin), shares, finish_row);
    if (share.leaves_cut_row(row_begin, rows))
      finish_if_last(row_in_tiles(share.first_row + share.rows, row_begin), shares, finish_row);
  }
  finish_row.publish_block_sums();
}

// A thread per share: a cut row that ends there has its parts added up in the order of the shares. Tails of
// the block's own shares come through shared memory. A row from before the first of them, and there is one at
// most, has its tails added up by all threads: it may have more than a million.
template <class V, class Offset, class Epilogue>
__global__ void csr_merge_finish_kernel(index rows, offset shares, const index* __restrict__ tile_row,
                                        const Offset* __restrict__ row_begin, const V* head, const V* tail,
                                        V* __restrict__ y, Epilogue finish) {
  constexpr int warps = threads_per_block / 32;
  __shared__ shared_array<V, threads_per_block> own_tail;
  __shared__ shared_array<V, warps> sum_before;
  const std::int64_t share = thread_in_grid(), first = share - threadIdx.x;
  // Behind the last row a share has nothing: that row does as well.
  const auto row_of = [=](offset s) {
    return row_in_tiles(tile_row[s] < rows ? tile_row[s] : rows - 1, row_begin);
  };
  const row_in_tiles long_row = row_of(first);
  wait_for_prerequisite();
  V before = 0;
  if (long_row.last_tile < first + threads_per_block)  // else it is for a later block to finish
    for (offset s = long_row.first_tile + threadIdx.x; s < first; s += threads_per_block) before += tail[s];
  before = group_sum<32>(before);
  if (threadIdx.x % 32 == 0) sum_before[threadIdx.x / 32] = before;
  if (share < shares) own_tail[threadIdx.x] = tail[share];
  __syncthreads();

  const row_in_tiles mine = row_of(share < shares ? share : first);
  row_epilogue<Epilogue> finish_row(finish, y);
  if (share < shares && mine.first_tile < share && mine.last_tile == share && tile_row[share] < rows) {
    V sum = 0;
    for (int w = 0; w < warps && mine.first_tile < first; ++w) sum += sum_before[w];
    for (offset s = mine.first_tile < first ? first : mine.first_tile; s < share; ++s)
      sum += own_tail[s - first];
    finish_row(sum + head[share], mine.row);
  }
  finish_row.publish_block_sums();
}

struct csr_merge_launch {
  static prediction predict(const device_features&) { return {.preference = 1}; }

  template <class A, class Offset, class V = A> using placed = device_merge_tiles<A, Offset, V>;

  template <class Queue, class A, class Offset, class V>
  static std::int64_t blocks(const Queue&, const device_merge_tiles<A, Offset, V>& a) {
    return a.blocks() + finishing_blocks(a);
  }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const device_merge_tiles<A, Offset, V>& a, const V* x, V* y,
                       Epilogue finish) {
    const auto launch = [&](auto kernel) {
      queue.launch("csr_merge", a.blocks(), threads_per_block, kernel, a.rows, a.list(), a.row_begin.data(),
                   a.col.data(), a.values(), x, y, finish);
    };
    if constexpr (std::is_same_v<Epilogue, scale_and_add<V>>)
      if (a.finishes_cut_rows()) return launch(csr_merge_kernel<true, A, V, Offset, Epilogue>);
    launch(csr_merge_kernel<false, A, V, Offset, Epilogue>);
    queue.launch_dependent("csr_merge_finish", finishing_blocks(a), threads_per_block,
                           csr_merge_finish_kernel<V, Offset, Epilogue>, a.rows, a.shares(),
                           a.tile_row.data(), a.row_begin.data(), a.head.data(), a.tail.data(), y,
                           after_blocks(finish, a.blocks()));
  }

 private:
  template <class Placed> static std::int64_t finishing_blocks(const Placed& a) {
    return a.cuts > 0 ? blocks_for(a.shares()) : 0;
  }
};

}  // namespace nz::gpu
