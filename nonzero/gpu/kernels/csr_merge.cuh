#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/load.cuh>
#include <nonzero/gpu/merge_tiles.cuh>
#include <nonzero/gpu/shared.cuh>
#include <nonzero/gpu/warp.cuh>

// How csr_merge multiplies by the tiles of merge_tiles.cuh; the kernel's card is above csr_merge_kernel.
namespace nz::gpu {

/// A segmented scan over the block. `left_over`: the sum of what a thread has after its last row end, or of
/// all it has. It becomes the sum since the last end in this or an earlier thread. Returns what earlier
/// threads carry over to this one.
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
/// seven. The row's sum, within the tile, replaces its last product. Returns, in the last thread, the sum of
/// what follows the last end.
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

/// Finishes a split row if all other blocks have written their sums of it. Every thread of the block calls
/// it.
template <class V, class Offset, class Finish>
__device__ void finish_if_last(const row_in_tiles& row, const merge_tiles<V, Offset>& tiles, Finish& finish) {
  const auto blocks = static_cast<unsigned>(row.last_tile - row.first_tile + 1);
  if (!is_last_block(blocks, &tiles.done[row.first_tile])) return;
  const V before = sum_of_tails(row.first_tile, row.last_tile, tiles.tail);
  if (threadIdx.x == 0) finish(before + load_l2(tiles.head + row.last_tile), row.row);
}

// A block per tile: neighbouring threads write products of neighbouring entries to shared memory; then each
// thread adds up seven neighbouring products, and a scan adds what crosses threads. A split row is finished
// by the last block that has entries of it; or by csr_merge_finish_kernel, a second launch, where most rows
// are split and for the sums of a fused step, which need the same block every time.
// Good: any row lengths: one giant row, power laws, millions of empty rows; about the same work for every
// block.
// Bad: short, even rows, for which csr_scalar has less to do than the way through shared memory; rows of
// thousands, for which csr_groups has.
// Traffic: 12 bytes per nonzero in double, coalesced, 4 where all values are equal; plus the gather of x; for
// each tile of 1,280 items 16 to 32 bytes.
// Source: Merrill & Garland 2016 (merge-based SpMV) for the tiles; Sengupta et al. 2007 for the scan.
// row_begin is a's, as a __restrict__ parameter: behind the view the compiler unrolls the loops over rows
// less.
template <bool FinishesSplitRows, class A, class V, class Offset, class Epilogue>
__global__ void __launch_bounds__(threads_per_block)
    csr_merge_kernel(csr_view<A, Offset> a, const Offset* __restrict__ row_begin, entry_values<A> values,
                     merge_tiles<V, Offset> tiles, const V* x, V* y, Epilogue finish) {
  __shared__ shared_array<V, most_items> product;
  __shared__ shared_array<unsigned, threads_per_block> ends;  // for each thread, of its products in sum_rows
  wait_for_prerequisite();
  if (!FinishesSplitRows && tiles.has_split_rows) trigger_dependent_launch();  // which finishes them
  const int thread = threadIdx.x;
  const merge_tile<Offset> tile(tiles);
  ends[thread] = 0;

  // Past the last entry the last is read again, and dropped: without branches all loads are in flight at
  // once.
  index column[items_per_thread];
  V value[items_per_thread];
  const auto place = [&](int j) {
    const int k = j * threads_per_block + thread;
    return tile.first_entry + (k < tile.entries ? k : tile.entries - 1);
  };
  if (tile.entries > 0)
    for (int j = 0; j < items_per_thread; ++j) column[j] = load_no_l1(a.col.data() + place(j));
  if (values.each == nullptr)
    for (int j = 0; j < items_per_thread; ++j) value[j] = static_cast<V>(values.all);
  else if (tile.entries > 0)
    for (int j = 0; j < items_per_thread; ++j) value[j] = static_cast<V>(load_no_l1(values.each + place(j)));
  __syncthreads();
  for (int r = thread; r < tile.rows; r += threads_per_block) {
    const int last = tile.last_entry(row_begin, r);
    // Adding sets the bit, as no two rows have the same last entry.
    if (last >= 0) atomicAdd(&ends[last / items_per_thread], 1U << (last % items_per_thread));
  }
  for (int j = 0; j < items_per_thread && tile.entries > 0; ++j) value[j] *= x[column[j]];
  for (int j = 0; j < items_per_thread; ++j) {
    const int k = j * threads_per_block + thread;
    if (k < tile.entries) product[k] = value[j];
  }
  __syncthreads();
  const V left_over = sum_rows<V>(tile.entries, ends[thread], product);
  if (thread == threads_per_block - 1 && tile.number < tiles.tiles) tiles.tail[tile.number] = left_over;
  __syncthreads();
  row_epilogue<Epilogue> finish_row(finish, y);
  const bool ends_split_row = tile.ends_split_row(row_begin);
  for (int r = thread; r < tile.rows; r += threads_per_block) {
    const int last = tile.last_entry(row_begin, r);
    const V sum = last >= 0 ? V{product[last]} : V{0};
    if (r == 0 && ends_split_row)
      tiles.head[tile.number] = sum;
    else
      finish_row(sum, tile.first_row + r);
  }
  if constexpr (FinishesSplitRows) {
    if (ends_split_row) finish_if_last(row_in_tiles(tile.first_row, row_begin), tiles, finish_row);
    if (tile.leaves_split_row(row_begin, a.rows))
      finish_if_last(row_in_tiles(tile.first_row + tile.rows, row_begin), tiles, finish_row);
  }
  finish_row.publish_block_sums();
}

// A thread per tile: the sums of a split row that ends there are added up in the order of the tiles. Tails of
// the block's own tiles come through shared memory. At most one row began before the first of them; all
// threads add up its tails, of which there may be more than a million.
template <class V, class Offset, class Epilogue>
__global__ void csr_merge_finish_kernel(index rows, offset tiles, const index* __restrict__ tile_row,
                                        const Offset* __restrict__ row_begin, const V* head, const V* tail,
                                        V* __restrict__ y, Epilogue finish) {
  constexpr int warps = threads_per_block / 32;
  __shared__ shared_array<V, threads_per_block> own_tail;
  __shared__ shared_array<V, warps> sum_before;
  const std::int64_t tile = thread_in_grid(), first = tile - threadIdx.x;
  // A tile behind the last row has no rows: the last row stands in.
  const auto row_of = [&](offset t) {
    return row_in_tiles(tile_row[t] < rows ? tile_row[t] : rows - 1, row_begin);
  };
  const row_in_tiles long_row = row_of(first);
  wait_for_prerequisite();
  V before = 0;
  if (long_row.last_tile < first + threads_per_block)  // else a later block finishes it
    for (offset t = long_row.first_tile + threadIdx.x; t < first; t += threads_per_block) before += tail[t];
  before = group_sum<32>(before);
  if (threadIdx.x % 32 == 0) sum_before[threadIdx.x / 32] = before;
  if (tile < tiles) own_tail[threadIdx.x] = tail[tile];
  __syncthreads();

  const row_in_tiles mine = row_of(tile < tiles ? tile : first);
  row_epilogue<Epilogue> finish_row(finish, y);
  if (tile < tiles && mine.first_tile < tile && mine.last_tile == tile && tile_row[tile] < rows) {
    V sum = 0;
    for (int w = 0; w < warps && mine.first_tile < first; ++w) sum += sum_before[w];
    for (offset t = mine.first_tile < first ? first : mine.first_tile; t < tile; ++t)
      sum += own_tail[t - first];
    finish_row(sum + head[tile], mine.row);
  }
  finish_row.publish_block_sums();
}

struct csr_merge_launch {
  static prediction predict(const device_features&) { return {.preference = 1}; }

  static constexpr kernel_row row{.name = "csr_merge",
                                  .format = "csr",
                                  .summary = "equal tiles of rows and entries per block, long rows split",
                                  .is_candidate = true,
                                  .predict = predict};
  static constexpr bool has_mixed_precision = true;
  template <class A, class V, class Offset> using matrix = csr_in_tiles<A, V, Offset>;

  static std::int64_t blocks(const auto&, const auto& a) { return a.blocks() + finishing_blocks(a); }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const csr_in_tiles<A, V, Offset>& a, std::byte* set, const V* x, V* y,
                       Epilogue finish) {
    const auto launch = [&](auto kernel) {
      queue.launch_dependent("csr_merge", a.blocks(), threads_per_block, kernel, a.view(), a.row_begin.data(),
                             a.values(), a.tiles(set), x, y, finish);
    };
    if constexpr (std::is_same_v<Epilogue, scale_and_add<V>>)
      if (a.finishes_split_rows()) return launch(csr_merge_kernel<true, A, V, Offset, Epilogue>);
    launch(csr_merge_kernel<false, A, V, Offset, Epilogue>);
    queue.launch_dependent("csr_merge_finish", finishing_blocks(a), threads_per_block,
                           csr_merge_finish_kernel<V, Offset, Epilogue>, a.rows, a.tile_count(),
                           a.tile_row.data(), a.row_begin.data(), a.head.in(set), a.tail.in(set), y,
                           after_blocks(finish, a.blocks()));
  }

 private:
  static std::int64_t finishing_blocks(const auto& a) {
    return a.splits > 0 ? blocks_for(a.tile_count()) : 0;
  }
};

}  // namespace nz::gpu
