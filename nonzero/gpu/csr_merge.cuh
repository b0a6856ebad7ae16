#pragma once

#include <cstdint>
#include <memory>

#include <nonzero/gpu/placed.cuh>
#include <nonzero/gpu/read_once.cuh>
#include <nonzero/gpu/shared.cuh>
#include <nonzero/gpu/steps.cuh>
#include <nonzero/gpu/threads.cuh>

// The work as one list: the entries in their order, and after those of each row an item for its end. Entry k
// of row i is item i + k; the end of row i is item i + row_begin[i + 1]. The list is cut into shares of equal
// length, a block each: rows as long as the matrix are cut, and empty ones count as work too. The cut depends
// on the matrix alone.
namespace nz::gpu {

// Odd, so that threads 7 places apart in shared memory use different banks.
constexpr int items_per_thread = 7;
constexpr int items_per_share = items_per_thread * threads_per_block;

/// How many shares there are in a list of so many items.
constexpr offset shares_for(offset items) { return (items + items_per_share - 1) / items_per_share; }

/// CSR with what csr_merge needs besides: where the shares begin, and what they leave to each other.
template <class A, class Offset, class V = A> struct placed_csr_in_shares : placed_csr<A, Offset> {
  vector<index>
      share_row;  // shares+1 long; the first row whose end is not before the share; the last is rows
  // Written and read by each multiply. Of the row that began in an earlier share and ends in this one, the
  // sum of the entries here; and the sum of those that follow the last row end.
  mutable vector<V> head, tail;

  template <class Queue>
  placed_csr_in_shares(Queue&, const std::shared_ptr<const device_csr<A>>& a, const prepare_options& options)
      : placed_csr<A, Offset>(a),
        share_row(options.on, static_cast<std::size_t>(shares() + 1)),
        head(options.on, static_cast<std::size_t>(shares())),
        tail(options.on, static_cast<std::size_t>(shares())) {}
  offset items() const { return this->rows + this->nnz; }
  offset shares() const { return shares_for(items()); }
  footprint storage() const {
    return {placed_csr<A, Offset>::storage().bytes + share_row.bytes() + head.bytes() + tail.bytes(), 0};
  }
};

/// A thread per share, and one for the end of the last, finds by halving where it begins.
template <class Offset>
__global__ void find_shares_kernel(index rows, offset items, const Offset* __restrict__ row_begin,
                                   index* __restrict__ share_row) {
  const std::int64_t share = thread_in_grid();
  if (share > shares_for(items)) return;
  const offset first = share * items_per_share < items ? share * items_per_share : items;
  index low = 0, high = rows;
  while (low < high) {
    const index middle = low + (high - low) / 2;
    if (offset{row_begin[middle + 1]} + middle < first)
      low = middle + 1;
    else
      high = middle;
  }
  share_row[share] = low;
}

/// What of the list is this block's.
template <class Offset> struct share_of_list {
  index first_row;
  int rows;  // that end in it
  Offset first_entry;
  int entries;

  __device__ share_of_list(offset items, const index* share_row)
      : first_row(share_row[blockIdx.x]), rows(share_row[blockIdx.x + 1] - first_row) {
    const offset begin = offset{blockIdx.x} * items_per_share;
    const offset end = begin + items_per_share < items ? begin + items_per_share : items;
    first_entry = static_cast<Offset>(begin - first_row);
    entries = static_cast<int>(end - begin) - rows;
  }

  /// The place in the share of the last entry of the r-th row that ends in it; -1 where the row has none
  /// here.
  __device__ int last_entry(const Offset* row_begin, int r) const {
    const Offset begin = row_begin[first_row + r], end = row_begin[first_row + r + 1];
    return end > begin && end > first_entry ? static_cast<int>(end - first_entry) - 1 : -1;
  }
};

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
template <class V>
__device__ V sum_rows(int entries, unsigned ends, shared_array<V, items_per_share>& product) {
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

// A block per share: products of neighbouring entries by neighbouring threads into shared memory, then seven
// neighbouring products added up by each thread and what they leave over by a scan. A row that is cut by the
// edge of a share is finished by csr_merge_finish_kernel, a second launch.
// Good: any row lengths: one giant row, power laws, millions of empty rows; the same work for every block.
// Bad: short, even rows, for which csr_scalar has less to do than the way through shared memory; matrices so
// small that two launches are most of the time.
// Traffic: 12 bytes per nonzero in double, in whole transactions, plus the gather of x; for each share of
// 1,792 items 20 bytes written, and read by the second launch.
// Source: Merrill & Garland 2016 (merge-based SpMV) for the shares; Sengupta et al. 2007 for the scan.
template <class A, class V, class Offset, class Epilogue>
__global__ void __launch_bounds__(threads_per_block)
    csr_merge_kernel(offset items, const index* __restrict__ share_row, const Offset* __restrict__ row_begin,
                     const index* __restrict__ col, const A* __restrict__ val, const V* __restrict__ x,
                     V* __restrict__ y, V* __restrict__ head, V* __restrict__ tail, Epilogue finish) {
  __shared__ shared_array<V, items_per_share> product;
  __shared__ shared_array<unsigned, threads_per_block> ends;  // for each thread, of its products in sum_rows
  let_next_launch_begin();
  const int thread = threadIdx.x;
  const share_of_list<Offset> share(items, share_row);
  ends[thread] = 0;

  // Past the last entry the last is read again, and dropped: loads without branches are all under way at
  // once.
  index column[items_per_thread];
  V value[items_per_thread];
  for (int j = 0; j < items_per_thread && share.entries > 0; ++j) {
    const int k = j * threads_per_block + thread;
    const Offset at = share.first_entry + (k < share.entries ? k : share.entries - 1);
    column[j] = read_once(col + at);
    value[j] = static_cast<V>(read_once(val + at));
  }
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
  if (thread == threads_per_block - 1) tail[blockIdx.x] = left_over;
  __syncthreads();
  row_finisher<Epilogue> finish_row(finish, y);
  for (int r = thread; r < share.rows; r += threads_per_block) {
    const int last = share.last_entry(row_begin, r);
    const V sum = last >= 0 ? V{product[last]} : V{0};
    if (r == 0 && row_begin[share.first_row] < share.first_entry)
      head[blockIdx.x] = sum;
    else
      finish_row(sum, share.first_row + r);
  }
  finish_row.leave_sums();
}

/// The row that is under way where a share begins, and the shares in which its first and last items are.
struct row_under_way {
  index row;
  offset first_share, last_share;

  template <class Offset>
  __device__ row_under_way(offset share, const index* share_row, const Offset* row_begin)
      : row(share_row[share]),
        first_share((offset{row_begin[row]} + row) / items_per_share),
        last_share((offset{row_begin[row + 1]} + row) / items_per_share) {}
};

// A thread per share: a row that ends there and began before has its parts added up in the order of the
// shares. Tails of the block's own shares come through shared memory. A row from before the first of them,
// and there is one at most, has its tails added up by all threads: it may have more than a million.
template <class V, class Offset, class Epilogue>
__global__ void csr_merge_finish_kernel(offset shares, const index* __restrict__ share_row,
                                        const Offset* __restrict__ row_begin, const V* head, const V* tail,
                                        V* __restrict__ y, Epilogue finish) {
  constexpr int warps = threads_per_block / 32;
  __shared__ shared_array<V, threads_per_block> own_tail;
  __shared__ shared_array<V, warps> sum_before;
  const std::int64_t share = thread_in_grid(), first = share - threadIdx.x;
  const row_under_way long_row(first, share_row, row_begin);
  wait_for_launch_before();
  V before = 0;
  if (long_row.last_share < first + threads_per_block)  // else it is for a later block to finish
    for (offset s = long_row.first_share + threadIdx.x; s < first; s += threads_per_block) before += tail[s];
  before = sum_of_group<32>(before);
  if (threadIdx.x % 32 == 0) sum_before[threadIdx.x / 32] = before;
  if (share < shares) own_tail[threadIdx.x] = tail[share];
  __syncthreads();

  const row_under_way mine(share < shares ? share : first, share_row, row_begin);
  row_finisher<Epilogue> finish_row(finish, y);
  if (share < shares && mine.first_share != share && mine.last_share == share) {
    V sum = 0;
    for (int w = 0; w < warps && mine.first_share < first; ++w) sum += sum_before[w];
    for (offset s = mine.first_share < first ? first : mine.first_share; s < share; ++s)
      sum += own_tail[s - first];
    finish_row(sum + head[share], mine.row);
  }
  finish_row.leave_sums();
}

struct csr_merge_launch {
  template <class A, class Offset, class V = A> using placed = placed_csr_in_shares<A, Offset, V>;

  template <class Queue, class A, class Offset, class V>
  static void complete(Queue& queue, placed_csr_in_shares<A, Offset, V>& a) {
    queue.launch("find_shares", blocks_for(a.shares() + 1), threads_per_block, find_shares_kernel<Offset>,
                 a.rows, a.items(), a.row_begin.data(), a.share_row.data());
  }

  template <class Queue, class A, class Offset, class V>
  static std::int64_t blocks(const Queue&, const placed_csr_in_shares<A, Offset, V>& a) {
    return a.shares() + finishing_blocks(a.shares());
  }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const placed_csr_in_shares<A, Offset, V>& a, const V* x, V* y,
                       Epilogue finish) {
    queue.launch("csr_merge", a.shares(), threads_per_block, csr_merge_kernel<A, V, Offset, Epilogue>,
                 a.items(), a.share_row.data(), a.row_begin.data(), a.col.data(), a.val.data(), x, y,
                 a.head.data(), a.tail.data(), finish);
    queue.launch_after("csr_merge_finish", finishing_blocks(a.shares()), threads_per_block,
                       csr_merge_finish_kernel<V, Offset, Epilogue>, a.shares(), a.share_row.data(),
                       a.row_begin.data(), a.head.data(), a.tail.data(), y, after_blocks(finish, a.shares()));
  }

 private:
  /// Where there is but one share, no row is cut.
  static std::int64_t finishing_blocks(offset shares) { return shares < 2 ? 0 : blocks_for(shares); }
};

}  // namespace nz::gpu
