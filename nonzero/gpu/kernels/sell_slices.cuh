#pragma once

#include <cstddef>
#include <cstdint>

#include <nonzero/gpu/convert/device_sell.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/load.cuh>

namespace nz::gpu {

/// The sum of a lane's row in its slice.
template <class A, class V, class Offset>
__device__ __forceinline__ V sum_of_place(const sell_view<A, V, Offset>& a, std::int64_t slice, int lane,
                                          const V* __restrict__ x) {
  constexpr int ahead = 64 / sizeof(V);  // entries in flight
  V sum = 0;
  in_batches<ahead>(a.slice_begin[slice], a.slice_begin[slice + 1], [&](auto steps, Offset k) {
    index j[steps];
    A v[steps];
    V v_x[steps];
    const auto at = [=](int q) { return (offset{k} + q) * slice_height + lane; };
    for (int q = 0; q < steps; ++q) j[q] = load_no_l1(a.col + at(q));
    if (a.values.each == nullptr)
      for (int q = 0; q < steps; ++q) v[q] = a.values.all;
    else
      for (int q = 0; q < steps; ++q) v[q] = load_no_l1(a.values.each + at(q));
    for (int q = 0; q < steps; ++q) v_x[q] = x_or_zero<1>(x, j[q], 0);
    for (int q = 0; q < steps; ++q) sum += static_cast<V>(v[q]) * v_x[q];
  });
  return sum;
}

// A thread per row, a warp per slice of 32 rows: in each step its lanes read neighbouring entries. Rows are
// sorted by length within 1,024, so that those of a slice end together. Rows far longer than the mean have a
// warp for each segment of 512, in the first blocks of the same launch; the last of them to be done finishes
// the row.
// Good: rows of about equal length, short or long; graphs whose values are all equal.
// Bad: columns scattered over a large x, as for every kernel that gathers it.
// Traffic: 12 bytes per place in double, 4 where all values are equal; 4 per slice, and 4 per row of slices
// whose rows are not consecutive; plus the gather of x.
// Source: Kreutzer, Hager, Wellein, Fehske, Bishop 2014 (SELL-C-sigma); long rows apart are ours.
template <bool HasLongRows, class A, class V, class Offset, class Epilogue>
__global__ void sell_slices_kernel(sell_view<A, V, Offset> a, const V* __restrict__ x, V* __restrict__ y,
                                   Epilogue finish) {
  row_epilogue<Epilogue> finish_row(finish, y);
  std::int64_t place = thread_in_grid();
  if constexpr (HasLongRows) {
    place -= a.segments.blocks() * threads_per_block;
    if (place < 0)
      sum_segment(a.segments, a.segment_col, a.segment_values, x, finish_row);  // the whole block
  }
  if (place >= 0 && place < a.rows) {
    const std::int64_t slice = place / slice_height;
    const int lane = threadIdx.x % slice_height;
    const V sum = sum_of_place(a, slice, lane, x);
    const index row = row_of_place(a.first_row, a.listed_rows, slice, lane);
    if (!HasLongRows || row >= 0) finish_row(sum, row);
  }
  finish_row.publish_block_sums();
}

struct sell_slices_launch {
  /// Where the cache holds x, gathering by slices waits a little less than by rows (H200: 0.93 of the time in
  /// float, 0.9 in double, for 16 random columns per row); otherwise no less. Where row lengths differ much,
  /// csr_merge waits for other things too: 0.7. Values that are all equal are not stored.
  static prediction predict(const device_features& a) {
    constexpr double per_slice = 8, passes = 4;  // where a slice begins, and its first row
    const double value = a.slice.same == a.slice.entries ? 0 : a.value_bytes;
    const auto places = static_cast<double>(a.row.places + a.row.apart);
    const bool cache_holds_x = a.cols * a.vector_value_bytes < a.cache_bytes / 2;
    return {.bytes = places * (value + sizeof(index)) + a.rows / 32.0 * per_slice,
            .steps = static_cast<double>(a.row.longest_in_slices),
            .passes = passes,
            .gathers = !cache_holds_x    ? 1.0
                       : a.row.apart > 0 ? 0.7
                                         : 0.9};
  }

  static constexpr kernel_row row{.name = "sell_slices",
                                  .format = "sell",
                                  .summary = "a warp per slice of 32 rows, sorted within 1,024 rows",
                                  .is_candidate = true,
                                  .predict = predict};
  static constexpr bool has_mixed_precision = true;
  template <class A, class V, class Offset> using matrix = device_sell<A, Offset, V>;

  static std::int64_t blocks(const auto&, const auto& a) { return a.segments.blocks() + blocks_for(a.rows); }
  static std::int64_t split_rows(const auto& a) { return a.segments.split_rows(); }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const device_sell<A, Offset, V>& a, std::byte* set, const V* x, V* y,
                       Epilogue finish) {
    const auto launch = [&](auto kernel) {
      queue.launch("sell_slices", blocks(queue, a), threads_per_block, kernel, a.view(set), x, y, finish);
    };
    if (a.segments.size() == 0)
      launch(sell_slices_kernel<false, A, V, Offset, Epilogue>);
    else
      launch(sell_slices_kernel<true, A, V, Offset, Epilogue>);
  }
};

}  // namespace nz::gpu
