#pragma once

#include <cstdint>
#include <memory>

#include <nonzero/gpu/entry_values.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/load.cuh>
#include <nonzero/gpu/threads.cuh>

// Rows that are too long for a lane, or for a few, are listed once, in parts of a length that a warp is soon
// done with. How they are cut depends on the matrix, and on how many threads the card has. Rows of several
// parts are finished by the last warp that has one, always in the same order.
namespace nz::gpu {

/// What rows are cut, and how: those of more than longest_short entries, into parts of longest_segment at
/// most.
struct split_rule {
  offset longest_short, longest_segment;

  /// How many parts a row is cut into, the fewest; 0: it is short.
  __device__ offset segments_of(offset entries) const {
    return entries <= longest_short ? 0 : (entries + longest_segment - 1) / longest_segment;
  }
};
/// Where part p of n begins: they are as equal as they can be.
__device__ inline offset begin_of_segment(offset entries, offset n, offset p) {
  const offset longer = entries % n;
  return p * (entries / n) + (p < longer ? p : longer);
}

/// For each row its parts, and 2^32 besides if it has several; and a 0 behind the last. Sums of these count
/// parts and cut rows at once. In `entries`, unless it is null, how many of a long row there are.
template <class Offset>
__global__ void count_segments_kernel(index rows, const Offset* __restrict__ row_begin, split_rule cut,
                                      std::int64_t* __restrict__ count, Offset* __restrict__ entries) {
  const std::int64_t i = thread_in_grid();
  if (i > rows) return;
  const offset length = i < rows ? row_begin[i + 1] - row_begin[i] : 0, n = cut.segments_of(length);
  count[i] = n > 1 ? (std::int64_t{1} << 32) + n : n;
  if (entries != nullptr) entries[i] = static_cast<Offset>(n > 0 ? length : 0);
}

/// A row of several parts.
struct split_row {
  index row, first_part, parts;
  unsigned arrived;  // how many of its parts have been summed; 0 between multiplies
};

/// The parts of long rows, in their order.
template <class Offset> struct segment_list {
  index* row;     // the row that it is all of, or -1 - c where it is of cut[c]
  Offset* begin;  // its entries
  Offset* end;
  split_row* cut;  // by their rows
};

/// A thread per part finds its row by halving in `before`, the sums of what count_segments_kernel found. The
/// entries of row i begin at entry[i] of wherever they are.
template <class Offset>
__global__ void list_segments_kernel(index rows, std::int64_t parts, const Offset* __restrict__ row_begin,
                                     split_rule cut, const std::int64_t* __restrict__ before,
                                     const Offset* __restrict__ entry, segment_list<Offset> list) {
  constexpr std::int64_t parts_mask = 0xffffffff;
  const std::int64_t part = thread_in_grid();
  if (part >= parts) return;
  index low = 0, high = rows - 1;  // the last row with no more than `part` before it
  while (low < high) {
    const index middle = low + (high - low + 1) / 2;
    if ((before[middle] & parts_mask) <= part)
      low = middle;
    else
      high = middle - 1;
  }
  const offset entries = row_begin[low + 1] - row_begin[low], n = cut.segments_of(entries);
  const offset p = part - (before[low] & parts_mask);
  const auto number = static_cast<index>(before[low] >> 32);  // of cut rows
  list.row[part] = n == 1 ? low : -1 - number;
  list.begin[part] = static_cast<Offset>(entry[low] + begin_of_segment(entries, n, p));
  list.end[part] = static_cast<Offset>(entry[low] + begin_of_segment(entries, n, p + 1));
  if (n > 1 && p == 0) list.cut[number] = {low, static_cast<index>(part), static_cast<index>(n), 0};
}

/// A warp per part copies its entries to where they stay.
template <class A, class Offset>
__global__ void copy_segments_kernel(std::int64_t parts, segment_list<Offset> list,
                                     const Offset* __restrict__ row_begin, const Offset* __restrict__ entry,
                                     const index* __restrict__ from_col, const A* __restrict__ from_val,
                                     index* __restrict__ col, A* __restrict__ val) {
  const std::int64_t part = thread_in_grid() / 32;
  if (part >= parts) return;
  const index listed = list.row[part], row = listed >= 0 ? listed : list.cut[-1 - listed].row;
  const Offset from = row_begin[row] - entry[row];
  for (Offset k = list.begin[part] + static_cast<Offset>(threadIdx.x % 32); k < list.end[part]; k += 32) {
    col[k] = from_col[from + k];
    if (val != nullptr) val[k] = from_val[from + k];
  }
}

/// The parts, as a multiply needs them.
template <class V, class Offset> struct segment_view {
  std::int64_t parts;
  const index* row;
  const Offset *begin, *end;
  // Written and read by each multiply: the sums of the parts of cut rows, and how many are there.
  V* sum;
  split_row* cut;

  __device__ std::int64_t blocks() const {
    constexpr int warps = threads_per_block / 32;
    return (parts + warps - 1) / warps;
  }
};

/// The list in a device's memory.
template <class V, class Offset> struct device_segments {
  vector<index> row;  // as in segment_list
  vector<Offset> begin, end;
  mutable vector<split_row> cut;
  mutable vector<V> sum;

  device_segments() = default;
  /// The entries of row i are at entry[i] of wherever they are, or if that is null, at row_begin[i].
  template <class Queue>
  device_segments(Queue& queue, const std::shared_ptr<device>& on, index rows, const Offset* row_begin,
                  split_rule how, Offset* entry) {
    const std::int64_t counts = std::int64_t{rows} + 1;
    auto before = queue.template temporary<std::int64_t>(static_cast<std::size_t>(counts));
    queue.launch("count_segments", blocks_for(counts), threads_per_block, count_segments_kernel<Offset>, rows,
                 row_begin, how, before.data(), entry);
    queue.exclusive_sum(before.data(), before.data(), counts);
    if (entry != nullptr) queue.exclusive_sum(entry, entry, counts);
    const std::int64_t total = queue.read(before.data() + rows);
    const auto parts = static_cast<std::size_t>(total & 0xffffffff),
               split_rows = static_cast<std::size_t>(total >> 32);
    row = vector<index>(on, parts);
    begin = vector<Offset>(on, parts);
    end = vector<Offset>(on, parts);
    cut = vector<split_row>(on, split_rows);
    sum = vector<V>(on, split_rows > 0 ? parts : 0);
    queue.launch("list_segments", blocks_for(size()), threads_per_block, list_segments_kernel<Offset>, rows,
                 size(), row_begin, how, before.data(), entry == nullptr ? row_begin : entry, list());
  }
  std::int64_t size() const { return static_cast<std::int64_t>(row.size()); }
  std::int64_t split_rows() const { return static_cast<std::int64_t>(cut.size()); }
  segment_list<Offset> list() { return {row.data(), begin.data(), end.data(), cut.data()}; }
  segment_view<V, Offset> for_multiply() const {
    return {size(), row.data(), begin.data(), end.data(), sum.data(), cut.data()};
  }
  std::uint64_t bytes() const {
    return row.bytes() + begin.bytes() + end.bytes() + cut.bytes() + sum.bytes();
  }

  /// Of a multiply: those that take the parts, which come first as they take the longest.
  std::int64_t blocks() const { return blocks_for(size() * 32); }
};

/// The sum of the products of entries [begin, end), in the first of a group of lanes.
template <int Lanes, int Ahead, class V, class A, class Offset>
__device__ __forceinline__ V sum_of_entries(Offset begin, Offset end, const index* __restrict__ col,
                                            entry_values<A> values, const V* __restrict__ x) {
  V sum = 0;
  for (Offset k = begin + static_cast<int>(threadIdx.x % Lanes); k < end; k += Lanes * Ahead) {
    index j[Ahead];
    A v[Ahead];
    V v_x[Ahead];
    const auto is_there = [=](int q) { return q * Lanes < end - k; };
    for (int q = 0; q < Ahead; ++q) j[q] = is_there(q) ? load_no_l1(col + k + q * Lanes) : 0;
    if (values.each == nullptr)
      for (int q = 0; q < Ahead; ++q) v[q] = is_there(q) ? values.all : A{0};
    else
      for (int q = 0; q < Ahead; ++q) v[q] = is_there(q) ? load_no_l1(values.each + k + q * Lanes) : A{0};
    for (int q = 0; q < Ahead; ++q) v_x[q] = is_there(q) ? x[j[q]] : V{0};
    for (int q = 0; q < Ahead; ++q) sum += static_cast<V>(v[q]) * v_x[q];
  }
  return group_sum<Lanes>(sum);
}

/// The sum of a cut row's parts, in the first lane of a warp; always added in the same order.
template <class V> __device__ __forceinline__ V sum_of_segments(const V* part, index parts) {
  constexpr int ahead = 8;
  V sum = 0;
  for (index first = threadIdx.x % 32; first < parts; first += 32 * ahead) {
    V some[ahead];
    for (int q = 0; q < ahead; ++q) some[q] = first + 32 * q < parts ? load_l2(part + first + 32 * q) : V{0};
    for (int q = 0; q < ahead; ++q) sum += some[q];
  }
  return group_sum<32>(sum);
}

/// A warp per part, for the first a.blocks() blocks of a grid: a row of one part is finished, a cut one by
/// the warp that is the last to have summed its part.
template <class A, class V, class Offset, class Finish>
__device__ __forceinline__ void sum_segment(const segment_view<V, Offset>& a, const index* __restrict__ col,
                                            entry_values<A> values, const V* __restrict__ x, Finish& finish) {
  const std::int64_t part = thread_in_grid() / 32;
  if (part >= a.parts) return;  // the whole warp
  const bool is_first = threadIdx.x % 32 == 0;
  const index row = a.row[part];
  const index parts = row >= 0 ? 1 : a.cut[-1 - row].parts;  // not at the end, where others wait for it
  const V sum = sum_of_entries<32, 8>(a.begin[part], a.end[part], col, values, x);
  if (row >= 0) {
    if (is_first) finish(sum, row);
    return;
  }
  split_row& cut = a.cut[-1 - row];
  if (is_first) a.sum[part] = sum;
  if (!is_last_warp_to_arrive(static_cast<unsigned>(parts), &cut.arrived)) return;
  const V all = sum_of_segments(a.sum + cut.first_part, parts);
  if (is_first) finish.finish_split(all, cut.row, -1 - row);
}

}  // namespace nz::gpu
