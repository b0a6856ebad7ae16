#pragma once

#include <cstdint>
#include <limits>

#include <nonzero/gpu/convert/slices.cuh>
#include <nonzero/gpu/load.cuh>
#include <nonzero/gpu/long_rows.cuh>

// The slices of device_sell, and the kernels that make them from CSR.
namespace nz::gpu {

/// Up to as many columns, a 16-bit number is enough for each, and one more for padding.
constexpr index most_narrow_columns = 65535;
constexpr std::uint16_t narrow_padding = 0xffff;

/// A slice of 32 lanes, all with as many entries, padding counted. Lane l of a row of n entries that has L
/// lanes has its entries l, l + L, l + 2L, …. In memory, a lane has packs of its entries: four while as many
/// are left, then two, then one; those of the 32 lanes are one behind the other. A pack of values that takes
/// more than 16 bytes is split, its first half for all lanes first.
struct alignas(16) sell_slice {
  std::uint32_t begin;  // of its entries, in steps of 32
  std::uint32_t base;   // what 16-bit columns are counted from; of a wide slice, where its upper halves begin
  index first;          // its first row, or the place of that row; of a segment, as in segment_list
  std::uint32_t shape;

  struct parts {
    int entries;    // of a lane, up to 8
    int lanes_log;  // of a row
    int rows;
    bool is_wide;    // columns take 32 bits: `upper` has another 16
    bool is_listed;  // its rows are row[first], row[first + 1], …; if not, they follow each other
  };
  __device__ static std::uint32_t shape_of(parts of) {
    return static_cast<std::uint32_t>(of.entries | of.lanes_log << 4 | of.rows << 8 |
                                      (of.is_wide ? 1 << 16 : 0) | (of.is_listed ? 1 << 17 : 0));
  }
  __device__ int entries() const { return static_cast<int>(shape & 15); }
  __device__ int lanes_log() const { return static_cast<int>(shape >> 4 & 7); }
  __device__ int rows() const { return static_cast<int>(shape >> 8 & 63); }
  __device__ bool is_wide() const { return (shape >> 16 & 1) != 0; }
  __device__ bool is_listed() const { return (shape >> 17 & 1) != 0; }

  /// What is left of it without so many entries of each lane.
  __device__ sell_slice after(int left_out) const {
    const auto n = static_cast<std::uint32_t>(left_out);
    return {begin + n, is_wide() ? base + n : base, first, shape - n};
  }
};

/// How many values of a pack of n one load takes.
template <class A, int N>
constexpr int values_per_load = N * sizeof(A) <= 16 ? N : 16 / static_cast<int>(sizeof(A));

/// Calls load(size, at, first) for each pack of a lane's entries, then wait(), then use(size, first): the
/// pack has `size` entries, a compile-time constant, begins with step `at` of the slice, and goes to
/// registers from `first` on, a constant too once inlined. So all loads are in flight before the first is
/// used.
template <int Most, class Load, class Wait, class Use>
__device__ __forceinline__ void with_packs(int entries, Load load, Wait wait, Use use) {
  using one = std::integral_constant<int, 1>;
  using two = std::integral_constant<int, 2>;
  using four = std::integral_constant<int, 4>;
  static_assert(Most == 4 || Most == 8);
  if (entries == Most) {
    load(four{}, 0, 0);
    if constexpr (Most == 8) load(four{}, 4, 4);
    wait();
    use(four{}, 0);
    if constexpr (Most == 8) use(four{}, 4);
  } else {
    if constexpr (Most == 8)
      if ((entries & 4) != 0) load(four{}, 0, 0);
    if ((entries & 2) != 0) load(two{}, entries & 4, Most - 4);
    if ((entries & 1) != 0) load(one{}, entries & 6, Most - 2);
    wait();
    if constexpr (Most == 8)
      if ((entries & 4) != 0) use(four{}, 0);
    if ((entries & 2) != 0) use(two{}, Most - 4);
    if ((entries & 1) != 0) use(one{}, Most - 2);
  }
}

/// How many entries a lane has at most: fewer if the GPU would have idle threads.
template <class Queue> int most_entries_of_lane(const Queue& queue, offset nnz) {
  return nnz <= 4 * queue.resident_threads() ? 4 : 8;
}

constexpr int lane_classes = 6;  // class g: 32 >> g lanes for each row

/// The rows of a window by their lanes, the longest first.
struct window_shape {
  std::uint16_t begin[lane_classes + 1];  // the first place of each class, and the end
};

/// Which rows a slice of a window has: its place among all slices of the window is given.
struct rows_of_slice {
  int lane_class, first, rows;

  __device__ static rows_of_slice find(const window_shape& window, int slice) {
    for (int g = 0; g < lane_classes; ++g) {
      const int begin = window.begin[g], rows = window.begin[g + 1] - begin, height = 1 << g;
      const int slices = (rows + height - 1) >> g;
      if (slice < slices) {
        const int left = rows - slice * height;
        return {g, begin + slice * height, left < height ? left : height};
      }
      slice -= slices;
    }
    return {lane_classes - 1, 0, 0};
  }
  __device__ static int count(const window_shape& window) {
    int slices = 0;
    for (int g = 0; g < lane_classes; ++g)
      slices += (window.begin[g + 1] - window.begin[g] + (1 << g) - 1) >> g;
    return slices;
  }
  __device__ int lanes() const { return 32 >> lane_class; }
};

/// A segment of a long row has so many slices of up to 8 entries for each lane, and a block for them.
constexpr int slices_of_segment = 16;
constexpr int lanes_of_segment = 32 * slices_of_segment;
constexpr offset longest_segment = 8 * lanes_of_segment;

/// How a segment's entries are in its slices: in the first ones, each full but the last.
struct segment_shape {
  int lane_entries, slices;  // slices that have entries

  __device__ static segment_shape find(offset entries) {
    constexpr offset lanes = lanes_of_segment;
    const auto of_lane = static_cast<int>((entries + lanes - 1) / lanes);
    return {of_lane, static_cast<int>((entries + 32 * of_lane - 1) / (32 * of_lane))};
  }
  __device__ int steps() const { return lane_entries * slices; }
};
/// The steps of a row's segments, which are as long as begin_of_segment says.
__device__ inline offset steps_of_segments(offset entries, offset segments) {
  const offset shorter = entries / segments, longer = entries % segments;
  return longer * segment_shape::find(shorter + 1).steps() +
         (segments - longer) * segment_shape::find(shorter).steps();
}

// A block for each window of 1,024 rows sorts them by length and finds the slices. To step[p], if a slice
// begins with place p, goes the number of steps of the slices before it in the window. To `before` go three
// arrays, each with a number for every window and a 0: its slices times 2^32 plus their steps; the segments
// of its long rows plus 2^32 for each split row; the steps of these segments. The block after those of the
// windows writes the zeros, and behind the last one 1 if values are known to differ.
// Good: any lengths.
// Traffic: 12 bytes per row with 32-bit offsets.
// Source: ours.
template <class A, class Offset>
__global__ void __launch_bounds__(threads_per_block)
    shape_windows_kernel(csr_view<A, Offset> from, std::int64_t windows, int most, split_rule rule,
                         index* __restrict__ row, window_shape* __restrict__ shapes,
                         std::uint32_t* __restrict__ step, std::int64_t* __restrict__ before) {
  __shared__ shared_array<std::uint64_t, rows_per_window> key;
  __shared__ shared_array<unsigned, rows_per_window> steps;
  __shared__ shared_array<int, lane_classes + 1> begin;
  __shared__ shared<unsigned> different;
  __shared__ shared<unsigned long long> segments;
  __shared__ shared<unsigned long long> segment_steps;
  const std::int64_t window = blockIdx.x, first = window * rows_per_window;
  const int thread = threadIdx.x;
  const index rows = from.rows;
  const Offset* const row_begin = from.row_begin.data();
  if (window == windows) {  // the whole block
    // A sample: where all of it are equal, another kernel looks at all values.
    const offset entries = from.nnz(), sampled = thread * (entries / threads_per_block);
    const bool differs = entries > 0 && bits_of_value(from.value(static_cast<Offset>(sampled))) !=
                                            bits_of_value(from.value(Offset{0}));
    if (thread == 0) different = 0;
    __syncthreads();
    if (differs) atomicAdd(&different, 1U);
    __syncthreads();
    if (thread < 3) before[thread * (windows + 1) + windows] = 0;
    if (thread == 3) before[3 * (windows + 1)] = different > 0 ? 1 : 0;
    return;
  }
  const auto longest = static_cast<Offset>(rule.longest_short);
  const int in_window = static_cast<int>(rows - first < rows_per_window ? rows - first : rows_per_window);
  if (thread == 0) segments = segment_steps = 0;
  sort_window(rows, row_begin, first, longest, key);
  if (thread <= lane_classes)
    begin[thread] = thread == lane_classes ? in_window : partition_point(0, in_window, [&](int p) {
      return row_key::length(key[p]) > static_cast<std::uint64_t>(most * (32 >> thread));
    });
  __syncthreads();
  window_shape shape;
  for (int g = 0; g <= lane_classes; ++g) shape.begin[g] = static_cast<std::uint16_t>(begin[g]);
  const int slices = rows_of_slice::count(shape);
  for (int s = thread; s < rows_per_window; s += threads_per_block) {
    const rows_of_slice of = rows_of_slice::find(shape, s);
    const auto entries =
        s < slices ? (row_key::length(key[of.first]) + (of.lanes() - 1)) / of.lanes() : std::uint64_t{0};
    steps[s] = static_cast<unsigned>(entries);
  }
  for (int p = thread; p < in_window; p += threads_per_block) {
    const int r = row_key::row(key[p]);
    const offset entries = row_begin[first + r + 1] - row_begin[first + r], n = rule.segments_of(entries);
    row[first + p] = n > 0 ? -1 : static_cast<index>(first + r);
    if (n == 0) continue;
    atomicAdd(&segments, static_cast<unsigned long long>(rule.counted(n)));
    atomicAdd(&segment_steps, static_cast<unsigned long long>(steps_of_segments(entries, n)));
  }
  __syncthreads();
  const unsigned all_steps = exclusive_sum_in_block<rows_per_window>(steps);
  __syncthreads();
  for (int s = thread; s < slices; s += threads_per_block)
    step[first + rows_of_slice::find(shape, s).first] = steps[s];
  if (thread != 0) return;
  shapes[window] = shape;
  before[window] = (std::int64_t{slices} << 32) + all_steps;
  before[windows + 1 + window] = static_cast<std::int64_t>(segments);
  before[2 * (windows + 1) + window] = static_cast<std::int64_t>(segment_steps);
}

/// The steps of each segment.
template <class Offset>
__global__ void count_segment_steps_kernel(std::int64_t segments, segment_list<Offset> list,
                                           std::int64_t* __restrict__ steps) {
  const std::int64_t s = thread_in_grid();
  if (s >= segments) return;
  steps[s] = segment_shape::find(list.end[s] - list.begin[s]).steps();
}

/// Where the rows of each slice are found.
template <class Offset> struct slice_source {
  index rows;
  std::int64_t windows;
  const Offset* row_begin;
  // As shape_windows_kernel writes them, `before` summed up.
  const index* row;
  const window_shape* shapes;
  const std::uint32_t* step;
  const std::int64_t* before;
  std::int64_t segments, segment_steps;
  segment_list<Offset> list;
  const std::int64_t* segment_step;  // where those of each segment begin; not read where there are none

  __device__ std::int64_t segment_slices() const { return segments * slices_of_segment; }
};

/// What a lane has of a slice.
struct lane_of_slice {
  offset begin, entries;  // of its row, or of the slice of a segment
  int lane, lanes;        // its number among those of the row, and how many these are

  __device__ bool has(int k) const { return lane + offset{k} * lanes < entries; }
  __device__ offset entry(int k) const { return begin + lane + offset{k} * lanes; }
  /// How many entries the lane has.
  __device__ int count() const {
    return entries <= lane ? 0 : static_cast<int>((entries - lane + lanes - 1) / lanes);
  }
};

template <class Offset>
__device__ lane_of_slice lane_of_row(const slice_source<Offset>& from, index row, int lane, int lanes) {
  if (row < 0) return {0, 0, lane, lanes};
  const offset begin = from.row_begin[row];
  return {begin, from.row_begin[row + 1] - begin, lane, lanes};
}
template <class Offset>
__device__ lane_of_slice lane_of_segment(const slice_source<Offset>& from, std::int64_t slice, int lane) {
  const std::int64_t segment = slice / slices_of_segment;
  const offset begin = from.list.begin[segment], end = from.list.end[segment],
               each = 32 * segment_shape::find(end - begin).lane_entries,
               first = begin + slice % slices_of_segment * each;
  return {first, first >= end ? 0 : first + each < end ? each : end - first, lane, 32};
}

// A warp for each slice, and one more for the 0 behind the last. Reads the columns to find how far apart they
// are, unless all are narrow. To wide[s] go the steps of slice s, if it is wide.
// Traffic: 4 bytes per entry; 16 per slice.
// Source: ours.
template <class Offset>
__global__ void describe_slices_kernel(slice_source<Offset> from, std::int64_t slices, bool are_narrow,
                                       const index* __restrict__ col, sell_slice* __restrict__ slice,
                                       std::int64_t* __restrict__ wide) {
  const std::int64_t s = thread_in_grid() / 32;
  const int lane = threadIdx.x % 32;
  if (s > slices) return;  // the whole warp
  if (s == slices) {
    if (lane == 0) wide[slices] = 0;
    return;
  }
  constexpr std::int64_t steps_mask = 0xffffffff;
  sell_slice out{};
  sell_slice::parts shape{};
  shape.rows = 1;
  lane_of_slice mine;
  if (s < from.segment_slices()) {
    const std::int64_t segment = s / slices_of_segment;
    mine = lane_of_segment(from, s, lane);
    shape.lanes_log = 5;
    out.first = from.list.row[segment];
    const auto of = segment_shape::find(from.list.end[segment] - from.list.begin[segment]);
    const auto slice_of_segment = static_cast<int>(s % slices_of_segment);
    shape.entries = slice_of_segment < of.slices ? of.lane_entries : 0;
    out.begin = static_cast<std::uint32_t>(from.segment_step[segment] + slice_of_segment * of.lane_entries);
  } else {
    const std::int64_t in_windows = s - from.segment_slices();
    // The last window with no more than that many slices before it.
    const std::int64_t window =
        partition_point(std::int64_t{1}, from.windows,
                        [&](std::int64_t w) { return from.before[w] >> 32 <= in_windows; }) -
        1;
    const window_shape found = from.shapes[window];
    const auto of = rows_of_slice::find(found, static_cast<int>(in_windows - (from.before[window] >> 32)));
    const int row_in_slice = lane / of.lanes();
    const std::int64_t place = window * rows_per_window + of.first;
    const bool has_row = row_in_slice < of.rows;
    const index row = has_row ? from.row[place + row_in_slice] : -1;
    mine = lane_of_row(from, row, lane % of.lanes(), of.lanes());
    const index first = __shfl_sync(full_warp, row, 0);
    shape.is_listed = __any_sync(full_warp, has_row && (row < 0 || row != first + row_in_slice)) != 0;
    shape.rows = of.rows;
    shape.lanes_log = lane_classes - 1 - of.lane_class;
    shape.entries = warp_maximum(mine.count());
    out.first = shape.is_listed ? static_cast<index>(place) : first;
    out.begin = static_cast<std::uint32_t>(from.segment_steps + (from.before[window] & steps_mask) +
                                           from.step[place]);
  }
  if (!are_narrow) {
    index low = std::numeric_limits<index>::max(), high = -1;
    for (int k = 0; k < mine.count(); ++k) {
      const index j = col[mine.entry(k)];
      low = j < low ? j : low;
      high = j > high ? j : high;
    }
    low = warp_minimum(low);
    high = warp_maximum(high);
    shape.is_wide = high >= 0 && high - low >= most_narrow_columns;
    out.base = high < 0 ? 0 : static_cast<std::uint32_t>(low);
  }
  if (lane != 0) return;
  out.shape = sell_slice::shape_of(shape);
  slice[s] = out;
  wide[s] = shape.is_wide ? shape.entries : 0;
}

// A warp for each slice copies its entries from CSR. `wide`, summed up, is where the upper halves of the
// columns of a wide slice go; null: no slice is wide. `val` is null where all values are equal.
// Traffic: each entry read once, each place written once.
// Source: ours.
template <int Most, class A, class Offset>
__global__ void fill_slices_kernel(slice_source<Offset> from, std::int64_t slices,
                                   const index* __restrict__ from_col, const A* __restrict__ from_val,
                                   const std::int64_t* __restrict__ wide, sell_slice* __restrict__ slice,
                                   std::uint16_t* __restrict__ col, std::uint16_t* __restrict__ upper,
                                   A* __restrict__ val) {
  const std::int64_t s = thread_in_grid() / 32;
  const int lane = threadIdx.x % 32;
  if (s >= slices) return;  // the whole warp
  const sell_slice to = slice[s];
  const int lanes = 1 << to.lanes_log(), row_in_slice = lane / lanes;
  lane_of_slice mine;
  if (s < from.segment_slices())
    mine = lane_of_segment(from, s, lane);
  else
    mine = lane_of_row(from,
                       row_in_slice >= to.rows() ? -1
                       : to.is_listed()          ? from.row[to.first + row_in_slice]
                                                 : to.first + row_in_slice,
                       lane % lanes, lanes);
  const bool is_wide = to.is_wide();
  const auto base = is_wide ? index{0} : static_cast<index>(to.base);
  const std::int64_t upper_begin = is_wide ? wide[s] : 0;
  const auto copy_pack = [&](auto size, int at) {
    constexpr int n = size.value, per_load = values_per_load<A, n>;
    pack<std::uint16_t, n> low, high;
    for (int q = 0; q < n; ++q) {
      const bool has = mine.has(at + q);
      const auto j = static_cast<std::uint32_t>(has ? from_col[mine.entry(at + q)] - base : padding_column);
      low.at[q] = has ? static_cast<std::uint16_t>(j) : narrow_padding;
      high.at[q] = has ? static_cast<std::uint16_t>(j >> 16) : narrow_padding;
      if (val != nullptr)
        val[(std::int64_t{to.begin} + at) * 32 + (q / per_load * 32 + lane) * per_load + q % per_load] =
            has ? from_val[mine.entry(at + q)] : A{0};
    }
    store_pack(low, col + (std::int64_t{to.begin} + at) * 32 + lane * n);
    if (is_wide) store_pack(high, upper + (upper_begin + at) * 32 + lane * n);
  };
  for (int k = 0; k < to.entries(); k += Most) {
    const int left = to.entries() - k;
    with_packs<Most>(
        left < Most ? left : Most, [&](auto size, int at, int) { copy_pack(size, k + at); }, [] {},
        [](auto, int) {});
  }
  __syncwarp();  // every lane has read the slice
  if (is_wide && lane == 0) slice[s].base = static_cast<std::uint32_t>(upper_begin);
}

}  // namespace nz::gpu
