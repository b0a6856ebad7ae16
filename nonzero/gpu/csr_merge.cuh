#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include <nonzero/gpu/placed.cuh>
#include <nonzero/gpu/read_once.cuh>
#include <nonzero/gpu/shared.cuh>
#include <nonzero/gpu/steps.cuh>
#include <nonzero/gpu/threads.cuh>

// The work as one list: the entries in their order, and after those of each row an item for its end. Entry k
// of row i is item i + k; the end of row i is item i + row_begin[i + 1]. The list is cut into shares of about
// equal length, a block each. Rows as long as the matrix are cut, short ones are not, and empty ones count as
// work too. The cut depends on the matrix alone.
namespace nz::gpu {

// Odd, so that threads 7 places apart in shared memory use different banks.
constexpr int items_per_thread = 7;
constexpr int most_items = items_per_thread * threads_per_block;  // of a share
/// A row of so many entries is whole: where a share would begin within it, it begins after it.
constexpr int longest_whole = 512;
constexpr int items_per_share = most_items - longest_whole;

/// Where giant rows are much of the matrix, blocks that follow each other take shares from so many places of
/// the list: those of a giant row, which meet x in order, run beside those that gather it.
constexpr int listed_at_once = 128;

/// How many shares there are in a list of so many items.
constexpr offset shares_for(offset items) { return (items + items_per_share - 1) / items_per_share; }

/// What csr_merge has besides CSR. Share s has the row ends [row[s], row[s + 1]) and the entries [entry[s],
/// entry[s + 1]).
template <class V, class Offset> struct shares_of_list {
  const index* row;
  const Offset* entry;
  // Written and read by each multiply. Of the row that began in an earlier share and ends in this one, the
  // sum of the entries here; and the sum of those that follow the last row end.
  V *head, *tail;
  unsigned* arrived;  // of a cut row, by the share it begins in: how many blocks have left their parts of it
  std::int64_t shares;
  std::int64_t places;  // of the list that blocks begin at: 1, or listed_at_once
};

/// A thread per share, and one for the end of the last, finds by halving where it begins; 1 in `is_cut` where
/// that is within a row.
template <class Offset>
__global__ void find_shares_kernel(index rows, offset items, const Offset* __restrict__ row_begin,
                                   index* __restrict__ share_row, Offset* __restrict__ share_entry,
                                   unsigned* __restrict__ arrived, std::int32_t* __restrict__ is_cut) {
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
  const bool is_within = low < rows && offset{row_begin[low]} + low < first;
  const bool is_whole = is_within && row_begin[low + 1] - row_begin[low] <= longest_whole;
  share_row[share] = is_whole ? low + 1 : low;
  share_entry[share] = is_whole ? row_begin[low + 1] : static_cast<Offset>(first - low);
  arrived[share] = 0;
  is_cut[share] = is_within && !is_whole ? 1 : 0;
}

/// CSR with its shares.
template <class A, class Offset, class V = A> struct placed_csr_in_shares : placed_csr<A, Offset> {
  // As in shares_of_list.
  vector<index> share_row;
  vector<Offset> share_entry;
  mutable vector<V> head, tail;
  mutable vector<unsigned> arrived;
  offset cuts = 0;  // how many shares begin within a row

  template <class Queue>
  placed_csr_in_shares(Queue& queue, const std::shared_ptr<const device_csr<A>>& a,
                       const prepare_options& options)
      : placed_csr<A, Offset>(a),
        share_row(options.on, static_cast<std::size_t>(shares() + 1)),
        share_entry(options.on, static_cast<std::size_t>(shares() + 1)),
        head(options.on, static_cast<std::size_t>(shares())),
        tail(options.on, static_cast<std::size_t>(shares())),
        arrived(options.on, static_cast<std::size_t>(shares() + 1)) {
    const offset edges = shares() + 1;
    auto is_cut = queue.template temporary<std::int32_t>(static_cast<std::size_t>(edges + 1));
    queue.launch("find_shares", blocks_for(edges), threads_per_block, find_shares_kernel<Offset>, this->rows,
                 items(), this->row_begin.data(), share_row.data(), share_entry.data(), arrived.data(),
                 is_cut.data());
    queue.sum(is_cut.data(), is_cut.data() + edges, edges);
    cuts = queue.read(is_cut.data() + edges);
  }
  offset items() const { return this->rows + this->nnz; }
  offset shares() const { return shares_for(items()); }
  /// Blocks that wait for each other's parts take longer than a second launch does, if they are many.
  bool finishes_cut_rows() const {
    constexpr offset most_shares = 4096, shares_per_cut = 4;
    return cuts > 0 && cuts * shares_per_cut <= shares() && shares() <= most_shares;
  }
  std::int64_t places() const {
    constexpr offset fewest_shares = 4096, shares_per_cut = 16;
    return cuts * shares_per_cut >= shares() && shares() >= fewest_shares ? listed_at_once : 1;
  }
  std::int64_t blocks() const { return (shares() + places() - 1) / places() * places(); }
  shares_of_list<V, Offset> list() const {
    return {share_row.data(), share_entry.data(), head.data(), tail.data(),
            arrived.data(),   shares(),           places()};
  }
  footprint storage() const {
    return {placed_csr<A, Offset>::storage().bytes + share_row.bytes() + share_entry.bytes() + head.bytes() +
                tail.bytes() + arrived.bytes(),
            0};
  }
};

/// What of the list is this block's.
template <class Offset> struct share_of_list {
  std::int64_t number;
  index first_row;
  int rows;  // that end in it
  Offset first_entry;
  int entries;

  /// Behind the last share there are some that have nothing, where places do not come out even.
  template <class V>
  __device__ explicit share_of_list(const shares_of_list<V, Offset>& all)
      : number(blockIdx.x % all.places * (gridDim.x / all.places) + blockIdx.x / all.places) {
    const std::int64_t begin = number < all.shares ? number : all.shares;
    const std::int64_t end = number < all.shares ? number + 1 : all.shares;
    first_row = all.row[begin];
    rows = all.row[end] - first_row;
    first_entry = all.entry[begin];
    entries = static_cast<int>(all.entry[end] - first_entry);
  }

  /// The place in the share of the last entry of the r-th row that ends in it; -1 where the row has none
  /// here.
  __device__ int last_entry(const Offset* row_begin, int r) const {
    const Offset begin = row_begin[first_row + r], end = row_begin[first_row + r + 1];
    return end > begin && end > first_entry ? static_cast<int>(end - first_entry) - 1 : -1;
  }
  /// Whether a row that ends here began in an earlier share.
  __device__ bool ends_cut_row(const Offset* row_begin) const {
    return rows > 0 && row_begin[first_row] < first_entry;
  }
  /// Whether the row after those began here, or before, and goes on.
  __device__ bool leaves_cut_row(const Offset* row_begin, index rows_of_matrix) const {
    const index next = first_row + rows;
    return next < rows_of_matrix && row_begin[next] < first_entry + entries;
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

/// A row that is cut, and the shares in which its first and last items are: no share begins elsewhere than
/// where a share of equal length would, within such a row.
struct row_in_shares {
  index row;
  offset first_share, last_share;

  template <class Offset>
  __device__ row_in_shares(index i, const Offset* row_begin)
      : row(i),
        first_share((offset{row_begin[i]} + i) / items_per_share),
        last_share((offset{row_begin[i + 1]} + i) / items_per_share) {}
};

/// Says that this block has left its part of a cut row, and returns whether it was the last to do so. Every
/// thread of the block calls it.
__device__ inline bool is_last_to_arrive(const row_in_shares& row, unsigned* arrived) {
  __shared__ shared<int> is_last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const unsigned before = atomicAdd(&arrived[row.first_share], 1U);
    is_last = before == static_cast<unsigned>(row.last_share - row.first_share) ? 1 : 0;
    __threadfence();
  }
  __syncthreads();
  return is_last != 0;
}

/// The sum of tails [first, end), in the first thread; always added in the same order, whichever block does
/// it. Every thread calls it.
template <class V> __device__ V sum_of_tails(offset first, offset end, const V* tail) {
  constexpr int warps = threads_per_block / 32;
  __shared__ shared_array<V, warps> sum_of_warp;
  V sum = 0;
  for (offset s = first + threadIdx.x; s < end; s += threads_per_block) sum += read_fresh(tail + s);
  sum = sum_of_group<32>(sum);
  __syncthreads();
  if (threadIdx.x % 32 == 0) sum_of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  V total = 0;
  for (int w = 0; w < warps && threadIdx.x == 0; ++w) total += sum_of_warp[w];
  return total;
}

/// Finishes a cut row if all other blocks have left their parts of it. Every thread of the block calls it.
template <class V, class Offset, class Finish>
__device__ void finish_if_last(const row_in_shares& row, const shares_of_list<V, Offset>& shares,
                               Finish& finish) {
  if (!is_last_to_arrive(row, shares.arrived)) return;
  const V before = sum_of_tails(row.first_share, row.last_share, shares.tail);
  if (threadIdx.x != 0) return;
  finish(before + read_fresh(shares.head + row.last_share), row.row);
  shares.arrived[row.first_share] = 0;
}

// A block per share: products of neighbouring entries by neighbouring threads into shared memory, then seven
// neighbouring products added up by each thread and what they leave over by a scan. A row that is cut is
// finished by the last block that has a part of it; or, for the sums of a fused step, which need the same
// block every time, and where most rows are cut, by csr_merge_finish_kernel, a second launch.
// Good: any row lengths: one giant row, power laws, millions of empty rows; about the same work for every
// block.  Bad: short, even rows, for which csr_scalar has less to do than the way through shared memory; rows
// of thousands, for which csr_groups has.
// Traffic: 12 bytes per nonzero in double, in whole transactions, plus the gather of x; for each share of
// 1,280 items 16 to 32 bytes.
// Source: Merrill & Garland 2016 (merge-based SpMV) for the shares; Sengupta et al. 2007 for the scan.
template <bool FinishesCutRows, class A, class V, class Offset, class Epilogue>
__global__ void __launch_bounds__(threads_per_block)
    csr_merge_kernel(index rows, shares_of_list<V, Offset> shares, const Offset* __restrict__ row_begin,
                     const index* __restrict__ col, const A* __restrict__ val, const V* __restrict__ x,
                     V* __restrict__ y, Epilogue finish) {
  __shared__ shared_array<V, most_items> product;
  __shared__ shared_array<unsigned, threads_per_block> ends;  // for each thread, of its products in sum_rows
  if constexpr (!FinishesCutRows) let_next_launch_begin();
  const int thread = threadIdx.x;
  const share_of_list<Offset> share(shares);
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
  if (thread == threads_per_block - 1 && share.number < shares.shares) shares.tail[share.number] = left_over;
  __syncthreads();
  row_finisher<Epilogue> finish_row(finish, y);
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
    if (ends_cut_row) finish_if_last(row_in_shares(share.first_row, row_begin), shares, finish_row);
    if (share.leaves_cut_row(row_begin, rows))
      finish_if_last(row_in_shares(share.first_row + share.rows, row_begin), shares, finish_row);
  }
  finish_row.leave_sums();
}

// A thread per share: a cut row that ends there has its parts added up in the order of the shares. Tails of
// the block's own shares come through shared memory. A row from before the first of them, and there is one at
// most, has its tails added up by all threads: it may have more than a million.
template <class V, class Offset, class Epilogue>
__global__ void csr_merge_finish_kernel(index rows, offset shares, const index* __restrict__ share_row,
                                        const Offset* __restrict__ row_begin, const V* head, const V* tail,
                                        V* __restrict__ y, Epilogue finish) {
  constexpr int warps = threads_per_block / 32;
  __shared__ shared_array<V, threads_per_block> own_tail;
  __shared__ shared_array<V, warps> sum_before;
  const std::int64_t share = thread_in_grid(), first = share - threadIdx.x;
  // Behind the last row a share has nothing: that row does as well.
  const auto row_of = [=](offset s) {
    return row_in_shares(share_row[s] < rows ? share_row[s] : rows - 1, row_begin);
  };
  const row_in_shares long_row = row_of(first);
  wait_for_launch_before();
  V before = 0;
  if (long_row.last_share < first + threads_per_block)  // else it is for a later block to finish
    for (offset s = long_row.first_share + threadIdx.x; s < first; s += threads_per_block) before += tail[s];
  before = sum_of_group<32>(before);
  if (threadIdx.x % 32 == 0) sum_before[threadIdx.x / 32] = before;
  if (share < shares) own_tail[threadIdx.x] = tail[share];
  __syncthreads();

  const row_in_shares mine = row_of(share < shares ? share : first);
  row_finisher<Epilogue> finish_row(finish, y);
  if (share < shares && mine.first_share < share && mine.last_share == share && share_row[share] < rows) {
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
  static std::int64_t blocks(const Queue&, const placed_csr_in_shares<A, Offset, V>& a) {
    return a.blocks() + finishing_blocks(a);
  }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const placed_csr_in_shares<A, Offset, V>& a, const V* x, V* y,
                       Epilogue finish) {
    const auto launch = [&](auto kernel) {
      queue.launch("csr_merge", a.blocks(), threads_per_block, kernel, a.rows, a.list(), a.row_begin.data(),
                   a.col.data(), a.val.data(), x, y, finish);
    };
    if constexpr (std::is_same_v<Epilogue, scale_and_add<V>>)
      if (a.finishes_cut_rows()) return launch(csr_merge_kernel<true, A, V, Offset, Epilogue>);
    launch(csr_merge_kernel<false, A, V, Offset, Epilogue>);
    queue.launch_after("csr_merge_finish", finishing_blocks(a), threads_per_block,
                       csr_merge_finish_kernel<V, Offset, Epilogue>, a.rows, a.shares(), a.share_row.data(),
                       a.row_begin.data(), a.head.data(), a.tail.data(), y, after_blocks(finish, a.blocks()));
  }

 private:
  template <class Placed> static std::int64_t finishing_blocks(const Placed& a) {
    return a.cuts > 0 ? blocks_for(a.shares()) : 0;
  }
};

}  // namespace nz::gpu
