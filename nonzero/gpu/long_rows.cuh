#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/load.cuh>
#include <nonzero/gpu/scratch.cuh>
#include <nonzero/gpu/values.cuh>
#include <nonzero/gpu/warp.cuh>

// Rows that are too long for a lane, or for a few, are listed once, in segments short enough for a warp each.
// How rows are split depends on the matrix and on how many threads the GPU has. A row of several segments is
// finished by the last warp to sum one of them, always in the same order.
namespace nz::gpu {

/// Which rows have segments: those of more than longest_short entries. One of up to longest_whole is one
/// segment, others have the fewest of longest_segment at most.
struct split_rule {
  offset longest_short, longest_whole, longest_segment;

  /// How many segments a row has; 0: it is short.
  __device__ offset segments_of(offset entries) const {
    return entries <= longest_short   ? 0
           : entries <= longest_whole ? 1
                                      : (entries + longest_segment - 1) / longest_segment;
  }
  /// For a row of n segments: a sum of these counts segments and, 2^32 times, split rows.
  __device__ static std::int64_t counted(offset n) { return n > 1 ? (std::int64_t{1} << 32) + n : n; }
};
/// Where segment s of n begins: lengths differ by at most 1.
__device__ inline offset begin_of_segment(offset entries, offset n, offset s) {
  const offset longer = entries % n;
  return s * (entries / n) + (s < longer ? s : longer);
}

/// For each row what split_rule::counted says, and a 0 behind the last row. To `entries`, unless null, goes
/// the length of each long row, and 0 for short ones.
template <class Offset>
__global__ void count_segments_kernel(index rows, const Offset* __restrict__ row_begin, split_rule rule,
                                      std::int64_t* __restrict__ count, Offset* __restrict__ entries) {
  const std::int64_t i = thread_in_grid();
  if (i > rows) return;
  const offset length = i < rows ? row_begin[i + 1] - row_begin[i] : 0, n = rule.segments_of(length);
  count[i] = split_rule::counted(n);
  if (entries != nullptr) entries[i] = static_cast<Offset>(n > 0 ? length : 0);
}

/// A row of several segments.
struct split_row {
  index row, first_segment, segments;
};

/// The segments of long rows, in their order.
template <class Offset> struct segment_list {
  index* row;     // the row, if it is in one segment; -1 - s where the segment belongs to split[s]
  Offset* begin;  // its entries
  Offset* end;
  split_row* split;  // by their rows
};

/// A thread per segment finds its row in `before`, the prefix sums of what count_segments_kernel found. The
/// entries of row i begin at entry[i] of wherever they are.
template <class Offset>
__global__ void list_segments_kernel(index rows, std::int64_t segments, const Offset* __restrict__ row_begin,
                                     split_rule rule, const std::int64_t* __restrict__ before,
                                     const Offset* __restrict__ entry, segment_list<Offset> list) {
  constexpr std::int64_t segments_mask = 0xffffffff;
  const std::int64_t segment = thread_in_grid();
  if (segment >= segments) return;
  // The last row with no more than `segment` segments before it.
  const index row =
      partition_point(index{1}, rows, [=](index i) { return (before[i] & segments_mask) <= segment; }) - 1;
  const offset entries = row_begin[row + 1] - row_begin[row], n = rule.segments_of(entries);
  const offset s = segment - (before[row] & segments_mask);
  const auto number = static_cast<index>(before[row] >> 32);  // of split rows
  list.row[segment] = n == 1 ? row : -1 - number;
  list.begin[segment] = static_cast<Offset>(entry[row] + begin_of_segment(entries, n, s));
  list.end[segment] = static_cast<Offset>(entry[row] + begin_of_segment(entries, n, s + 1));
  if (n > 1 && s == 0) list.split[number] = {row, static_cast<index>(segment), static_cast<index>(n)};
}

/// A warp per segment copies its entries to arrays of their own.
template <class A, class Offset>
__global__ void copy_segments_kernel(std::int64_t segments, segment_list<Offset> list,
                                     const Offset* __restrict__ entry, csr_view<A, Offset> from,
                                     index* __restrict__ col, A* __restrict__ val) {
  const std::int64_t segment = thread_in_grid() / 32;
  if (segment >= segments) return;
  const index listed = list.row[segment], row = listed >= 0 ? listed : list.split[-1 - listed].row;
  const Offset first = from.begin(row) - entry[row];
  for (Offset k = list.begin[segment] + static_cast<Offset>(threadIdx.x % 32); k < list.end[segment];
       k += 32) {
    col[k] = from.column(first + k);
    if (val != nullptr) val[k] = from.value(first + k);
  }
}

/// The segments, as a multiply needs them that sums them by other means.
template <class V> struct segment_sums {
  std::int64_t segments;
  const index* row;  // as in segment_list
  const split_row* split;
  // In the scratch set: the sums of segments of split rows, and how many of each split row are there.
  V* sum;
  unsigned* summed;

  /// How many segments the row of a segment has.
  __device__ index segments_of(index row_of_segment) const {
    return row_of_segment >= 0 ? 1 : split[-1 - row_of_segment].segments;
  }
};

/// The segments, as a multiply needs them.
template <class V, class Offset> struct segment_view : segment_sums<V> {
  const Offset *begin, *end;

  __device__ std::int64_t blocks() const {
    constexpr int warps = threads_per_block / 32;
    return (this->segments + warps - 1) / warps;
  }
};

/// The list in a device's memory.
template <class V, class Offset> struct device_segments {
  vector<index> row;  // as in segment_list
  vector<Offset> begin, end;
  vector<split_row> split;
  scratch_array<V> sum;
  scratch_array<unsigned> summed;

  device_segments() = default;
  /// The entries of row i are at entry[i] of wherever they are; if that is null, at row_begin[i]. `known`: of
  /// all rows, as split_rule::counted; without it, the host waits for this number.
  template <class Queue>
  device_segments(Queue& queue, const std::shared_ptr<device>& on, index rows, const Offset* row_begin,
                  split_rule rule, Offset* entry, std::optional<std::int64_t> known = {}) {
    const std::int64_t counts = std::int64_t{rows} + 1;
    auto before = queue.template temporary<std::int64_t>(static_cast<std::size_t>(counts));
    launch_threads(queue, "count_segments", counts, count_segments_kernel<Offset>, rows, row_begin, rule,
                   before.data(), entry);
    queue.exclusive_sum(before.data(), before.data(), counts);
    if (entry != nullptr) queue.exclusive_sum(entry, entry, counts);
    const std::int64_t total = known ? *known : queue.read(before.data() + rows);
    const auto segments = static_cast<std::size_t>(total & 0xffffffff),
               split_rows = static_cast<std::size_t>(total >> 32);
    row = vector<index>(on, segments);
    begin = vector<Offset>(on, segments);
    end = vector<Offset>(on, segments);
    split = vector<split_row>(on, split_rows);
    launch_threads(queue, "list_segments", size(), list_segments_kernel<Offset>, rows, size(), row_begin,
                   rule, before.data(), entry == nullptr ? row_begin : entry, list());
  }
  std::int64_t size() const { return static_cast<std::int64_t>(row.size()); }
  std::int64_t split_rows() const { return static_cast<std::int64_t>(split.size()); }
  segment_list<Offset> list() { return {row.data(), begin.data(), end.data(), split.data()}; }
  void reserve(scratch_layout& layout) {
    sum = layout.add<V>(split_rows() > 0 ? size() : 0);
    summed = layout.add<unsigned>(split_rows());
  }
  segment_sums<V> sums(std::byte* set) const {
    return {size(), row.data(), split.data(), sum.in(set), summed.in(set)};
  }
  segment_view<V, Offset> view(std::byte* set) const { return {sums(set), begin.data(), end.data()}; }
  std::uint64_t bytes() const { return bytes_of(row, begin, end, split); }

  /// The blocks of a multiply that take the segments. They come first, as they take the longest.
  std::int64_t blocks() const { return blocks_for(size() * 32); }
};

/// The sum of the products of entries [begin, end), in the first of a group of lanes. Each lane has `Ahead`
/// entries in flight.
template <int Lanes, int Ahead, class V, class A, class Offset>
__device__ __forceinline__ V sum_of_entries(Offset begin, Offset end, const index* __restrict__ col,
                                            entry_values<A> values, const V* x) {
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

/// The sum of a split row's segments, in the first lane of a warp; always added in the same order.
template <class V> __device__ __forceinline__ V sum_of_segments(const V* segment_sum, index segments) {
  constexpr int ahead = 8;
  V sum = 0;
  for (index first = threadIdx.x % 32; first < segments; first += 32 * ahead) {
    V some[ahead];
    for (int q = 0; q < ahead; ++q)
      some[q] = first + 32 * q < segments ? load_l2(segment_sum + first + 32 * q) : V{0};
    for (int q = 0; q < ahead; ++q) sum += some[q];
  }
  return group_sum<32>(sum);
}

/// What a warp does with the sum of a segment, which its first lane has: a row of one segment is finished at
/// once, a split row by the last warp to sum one of its segments. `segments`: of its row, loaded early.
template <class V, class Finish>
__device__ __forceinline__ void finish_segment(const segment_sums<V>& a, std::int64_t segment, index row,
                                               index segments, V sum, Finish& finish) {
  const bool is_first = threadIdx.x % 32 == 0;
  if (row >= 0) {
    if (is_first) finish(sum, row);
    return;
  }
  const split_row& split = a.split[-1 - row];
  if (is_first) a.sum[segment] = sum;
  if (!is_last_warp(static_cast<unsigned>(segments), &a.summed[-1 - row])) return;
  const V all = sum_of_segments(a.sum + split.first_segment, segments);
  if (is_first) finish.finish_split(all, split.row, -1 - row);
}

/// A warp per segment, for the first a.blocks() blocks of a grid.
template <class A, class V, class Offset, class Finish>
__device__ __forceinline__ void sum_segment(const segment_view<V, Offset>& a, const index* __restrict__ col,
                                            entry_values<A> values, const V* x, Finish& finish) {
  const std::int64_t segment = thread_in_grid() / 32;
  if (segment >= a.segments) return;  // the whole warp
  const index row = a.row[segment], segments = a.segments_of(row);
  const V sum = sum_of_entries<32, 8>(a.begin[segment], a.end[segment], col, values, x);
  finish_segment(a, segment, row, segments, sum, finish);
}

}  // namespace nz::gpu
