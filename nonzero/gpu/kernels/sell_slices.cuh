#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <nonzero/gpu/convert/device_sell.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/load.cuh>

namespace nz::gpu {

/// Waits for what x comes from. The next launch may then load its part of the matrix, but not the one after
/// it: waiting blocks would crowd some multiprocessors.
__device__ __forceinline__ void wait_for_x() {
  wait_for_prerequisite();
  trigger_dependent_launch();
}
/// The sum of up to `Most` of a lane's entries in a slice: columns and values of all, then the x of all.
template <int Most, bool IsWide, bool HasValues, class A, class V>
__device__ __forceinline__ V sum_of_lane(const sell_view<A, V>& a, const sell_slice& slice, int lane,
                                         const V* x) {
  using column = std::conditional_t<IsWide, std::uint32_t, std::uint16_t>;
  constexpr column padding = static_cast<column>(~column{0});
  column j[Most];
  A v[Most];
  V sum = 0;
  const V* const x_base = IsWide ? x : x + slice.base;
  const auto load = [&](auto size, int at, int first) {
    constexpr int n = size.value;
    const std::int64_t step = std::int64_t{slice.begin} + at;
    const auto low = load_pack<n>(a.col + step * 32 + lane * n);
    if constexpr (IsWide) {
      const auto high = load_pack<n>(a.upper + (std::int64_t{slice.base} + at) * 32 + lane * n);
      for (int q = 0; q < n; ++q) j[first + q] = low.at[q] | column{high.at[q]} << 16;
    } else {
      for (int q = 0; q < n; ++q) j[first + q] = low.at[q];
    }
    if constexpr (HasValues) {
      constexpr int per_load = values_per_load<A, n>;
      for (int part = 0; part < n / per_load; ++part) {
        const auto some = load_pack<per_load>(a.values.each + step * 32 + (part * 32 + lane) * per_load);
        for (int q = 0; q < per_load; ++q) v[first + part * per_load + q] = some.at[q];
      }
    } else {
      for (int q = 0; q < n; ++q) v[first + q] = a.values.all;
    }
  };
  const auto use = [&](auto size, int first) {
    for (int q = 0; q < size.value; ++q) {
      const bool is_padding = j[first + q] == padding;
      // Loaded in any case, to avoid a branch: padding counts from the column of an entry.
      const V v_x = x_base[is_padding ? column{0} : j[first + q]];
      sum += static_cast<V>(v[first + q]) * (is_padding ? V{0} : v_x);
    }
  };
  with_packs<Most>(slice.entries() < Most ? slice.entries() : Most, load, wait_for_x, use);
  return sum;
}
template <int Most, bool HasWide, bool HasValues, class A, class V>
__device__ __forceinline__ V sum_of_slice(const sell_view<A, V>& a, const sell_slice& slice, int lane,
                                          const V* x) {
  return HasWide && slice.is_wide() ? sum_of_lane<Most, true, HasValues>(a, slice, lane, x)
                                    : sum_of_lane<Most, false, HasValues>(a, slice, lane, x);
}
/// Of a block. Where launches overlap, a GPU starts a block every 1.3 ns (H200), so a multiply has few large
/// ones. A fused step needs more registers: of large blocks, fewer threads fit a multiprocessor.
template <class Epilogue> constexpr int warps_of_block = 8;
template <class V> constexpr int warps_of_block<scale_and_add<V>> = 16;

/// The sum of a slice of a segment, in the warp's first lane.
template <int Most, bool HasWide, bool HasValues, class A, class V>
__device__ __forceinline__ V sum_of_segment_slice(const sell_view<A, V>& a, const sell_slice& slice, int lane,
                                                  const V* x) {
  V sum = sum_of_slice<Most, HasWide, HasValues>(a, slice, lane, x);
  if constexpr (Most < 8)
    if (slice.entries() > Most) sum += sum_of_slice<Most, HasWide, HasValues>(a, slice.after(Most), lane, x);
  return group_sum<32>(sum);
}
/// The block's segment of a long row, a warp for each slice or for two.
template <int Most, bool HasWide, bool HasValues, int Warps, class A, class V, class Finish>
__device__ __forceinline__ void sum_segment_of_block(const sell_view<A, V>& a, const V* x, Finish& finish) {
  static_assert(Warps == slices_of_segment || 2 * Warps == slices_of_segment);
  __shared__ shared_array<V, slices_of_segment> of_slice;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const sell_slice* const mine = a.slice + blockIdx.x * slices_of_segment + warp;
  const sell_slice slice = load_constant(mine);
  // How many segments the row has is loaded while the entries are.
  const index segments = a.segments.segments_of(slice.first);
  const V sum = sum_of_segment_slice<Most, HasWide, HasValues>(a, slice, lane, x);
  if (lane == 0) of_slice[warp] = sum;
  if constexpr (Warps < slices_of_segment) {
    const V other = sum_of_segment_slice<Most, HasWide, HasValues>(a, load_constant(mine + Warps), lane, x);
    if (lane == 0) of_slice[warp + Warps] = other;
  }
  __syncthreads();
  if (warp != 0) return;
  const V all = group_sum<slices_of_segment>(lane < slices_of_segment ? of_slice[lane] : V{0});
  finish_segment(a.segments, std::int64_t{blockIdx.x}, slice.first, segments, all, finish);
}

// A warp per slice: 32 rows with a lane each, or 16 with two lanes each, … or one, so that no lane has more
// than 8 entries, or 4 of a small matrix. A lane loads all of them at once, four neighbours with one load,
// and then their x: where the cache holds the matrix, a multiply takes as long as it waits, not as it reads.
// In a sequence of launches it loads columns and values while the launch before it ends.
// Columns take 16 bits, counted from the least of the slice, where they are near enough. Longer rows have a
// block for each segment of 4,096, or of 2,048 if it has several of a small matrix; they come first, as they
// take the longest.
// Good: what the cache holds; rows of any lengths; graphs whose values are all equal.
// Bad: columns scattered over a large x, as for every kernel that gathers it.
// Traffic: 10 bytes per place in double, 6 in float, 2 where all values are equal, and 2 more in slices whose
// columns are far apart; 4 per row and 16 per slice; plus the gather of x.
// Source: Kreutzer, Hager, Wellein, Fehske, Bishop 2014 (SELL-C-sigma: rows sorted within 1,024); Vázquez,
// Fernández, Garzón 2011 (ELLR-T: several lanes per row). Lanes by row length, 16-bit columns and long rows
// apart are ours.
template <int Most, bool HasWide, bool HasValues, class A, class V, class Epilogue>
__global__ void __launch_bounds__(32 * warps_of_block<Epilogue>)
    sell_slices_kernel(sell_view<A, V> a, const V* x, V* y, Epilogue finish) {
  row_epilogue<Epilogue> finish_row(finish, y);
  constexpr int warps = warps_of_block<Epilogue>;
  const int lane = threadIdx.x % 32;
  const auto segments = static_cast<std::uint32_t>(a.segments.segments);
  const std::uint32_t s = segments * slices_of_segment + (blockIdx.x - segments) * warps + threadIdx.x / 32;
  if (blockIdx.x < segments) {  // the whole block
    sum_segment_of_block<Most, HasWide, HasValues, warps>(a, x, finish_row);
  } else if (s < a.slices) {  // the whole warp
    const sell_slice slice = load_constant(a.slice + s);
    const int row_in_slice = lane >> slice.lanes_log(), lanes = 1 << slice.lanes_log();
    const bool has_row = lane % lanes == 0 && row_in_slice < slice.rows();
    index row = slice.first + row_in_slice;  // loaded while the entries are, if it is listed
    if (has_row && slice.is_listed()) row = load_constant(a.row + row);
    V sum = sum_of_slice<Most, HasWide, HasValues>(a, slice, lane, x);
    for (int step = 1; step < lanes; step *= 2) sum += __shfl_down_sync(full_warp, sum, step);
    if (has_row && row >= 0) finish_row(sum, row);
  } else {
    wait_for_x();
  }
  finish_row.publish_block_sums();
}

struct sell_slices_launch {
  /// What the cache holds takes less time in slices than in CSR. Converting takes as long as some dozen
  /// multiplies save; for small matrices as 50 to 200 (H200: rmat:10, poisson2d:100).
  static bool suits_cache(const device_features& a) {
    constexpr offset fewest = 1000, small = 1 << 16;
    constexpr double fewest_multiplies = 50, fewest_of_small = 100;
    return a.fits_cache() && a.nnz >= fewest &&
           a.multiplies >= (a.nnz < small ? fewest_of_small : fewest_multiplies);
  }

  /// Where the cache holds x, gathering by slices waits a little less than by rows (H200: 0.93 of the time in
  /// float, 0.9 in double, for 16 random columns per row); otherwise no less. Where row lengths differ much,
  /// kernels of CSR wait for other things too: 0.7. Values that are all equal are not stored.
  static prediction predict(const device_features& a) {
    constexpr double per_slice = sizeof(sell_slice), per_row = sizeof(index), passes = 3;
    const double value = a.slice.same == a.slice.entries ? 0 : a.value_bytes;
    const double narrow =
        a.cols <= most_narrow_columns
            ? 1
            : device_features::fraction(a.slice.within_16_bits + a.slice.in_diagonals, a.slice.entries);
    const double column = sizeof(std::uint16_t) * (2 - narrow);
    const auto entries = static_cast<double>(a.nnz), longest = static_cast<double>(a.row.longest);
    const bool is_uneven = longest > 64 + 4 * a.mean_row();
    const bool cache_holds_x = a.cols * a.vector_value_bytes < a.cache_bytes / 2;
    const double padding = is_uneven ? 1.08 : 1.02, rows_listed = is_uneven ? a.rows : 0;
    prediction out{.bytes = padding * entries * (value + column) + rows_listed * per_row +
                            per_slice * std::max(a.rows / 32.0, entries / 256),
                   .passes = passes,
                   .gathers = !cache_holds_x ? 1.0
                              : is_uneven    ? 0.7
                                             : 0.9};
    if (suits_cache(a)) out.preference = 5;
    return out;
  }

  static constexpr kernel_row row{.name = "sell_slices",
                                  .format = "sell",
                                  .summary = "a warp per slice of 1 to 32 rows, 16-bit columns",
                                  .is_candidate = true,
                                  .predict = predict};
  static constexpr bool has_mixed_precision = true;
  template <class A, class V, class Offset> using matrix = device_sell<A, Offset, V>;

  /// Of a fused step.
  static std::int64_t blocks(const auto&, const auto& a) { return a.blocks(warps_of_block<void>); }
  static std::int64_t split_rows(const auto& a) { return a.segments.split_rows(); }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const device_sell<A, Offset, V>& a, std::byte* set, const V* x, V* y,
                       Epilogue finish) {
    const auto launch = [&](auto kernel) {
      constexpr int warps = warps_of_block<Epilogue>;
      queue.launch_dependent("sell_slices", a.blocks(warps), 32 * warps, kernel, a.view(set), x, y, finish);
    };
    with_one_of<4, 8>(a.most, [&](auto most) {
      with_one_of<0, 1>(a.has_wide_slices(), [&](auto wide) {
        if (a.one_value)
          launch(sell_slices_kernel<most.value, wide.value == 1, false, A, V, Epilogue>);
        else
          launch(sell_slices_kernel<most.value, wide.value == 1, true, A, V, Epilogue>);
      });
    });
  }
};

}  // namespace nz::gpu
