#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nonzero/gpu/convert/slices.cuh>
#include <nonzero/gpu/long_rows.cuh>

namespace nz::gpu {

// A thread per place copies its row's entries to where the lanes of a warp read neighbours, and writes
// padding behind them. Reads are by rows; the cache makes up for it.
// Traffic: each entry read once, each place written once.
template <class A, class Offset>
__global__ void fill_slices_kernel(csr_view<A, Offset> from, row_lists lists,
                                   const Offset* __restrict__ slice_begin, index* __restrict__ col,
                                   A* __restrict__ val) {
  const std::int64_t place = thread_in_grid(), slice = place / slice_height;
  const int lane = threadIdx.x % slice_height;
  if (slice * slice_height >= from.rows) return;
  const index i = lists.list(place, from.rows);
  const Offset begin = i < 0 ? 0 : from.begin(i), length = i < 0 ? 0 : from.end(i) - begin;
  const Offset first = slice_begin[slice], width = slice_begin[slice + 1] - first;
  in_batches<4>(Offset{0}, width, [&](auto steps, Offset k) {
    index j[steps];
    A v[steps];
    for (int q = 0; q < steps; ++q) {
      const bool has_entry = k + q < length;
      j[q] = has_entry ? from.column(begin + k + q) : padding_column;
      v[q] = has_entry ? from.value(begin + k + q) : A{0};
    }
    for (int q = 0; q < steps; ++q) {
      const offset at = (offset{first} + k + q) * slice_height + lane;
      col[at] = j[q];
      if (val != nullptr) val[at] = v[q];
    }
  });
}

/// What a multiply reads of a device_sell.
template <class A, class V, class Offset> struct sell_view {
  index rows;
  const index *first_row, *listed_rows;  // as in row_lists
  const Offset* slice_begin;
  const index* col;
  entry_values<A> values;
  segment_view<V, Offset> segments;
  const index* segment_col;
  entry_values<A> segment_values;
};

/// SELL with slices of 32 rows in a device's memory. Rows that are too long for a lane are stored apart, in
/// segments.
template <class A, class Offset, class V = A> struct device_sell {
  index rows, cols;
  vector<Offset> slice_begin;  // in steps of slice_height places: 32 bits are enough for 2^36 places
  device_slice_rows row;
  vector<index> col;
  vector<A> val;  // empty where all are equal
  device_segments<V, Offset> segments;
  vector<index> segment_col;
  vector<A> segment_val;  // empty where val is
  std::optional<A> one_value;
  std::uint64_t padding_bytes;

  /// Throws `unsupported` where padding exceeds the budget.
  template <class Queue>
  device_sell(Queue& queue, const std::shared_ptr<const device_csr<A>>& a, const prepare_options& options)
      : rows(a->rows), cols(a->cols) {
    constexpr offset longest_segment = 512;
    const csr_or_one_value<A, Offset> from(queue, a, options);
    // Padding has an x of 0, and any number times 0 must be 0.
    if (from.one_value && std::isfinite(*from.one_value)) one_value = from.one_value;
    const auto longest = static_cast<Offset>(
        std::min<offset>(longest_in_slices(rows, from.nnz()), std::numeric_limits<Offset>::max()));
    slice_layout<Queue, Offset> layout(queue, options.on, rows, from.row_begin.data(), longest);
    auto segment_entry = queue.template temporary<Offset>(static_cast<std::size_t>(rows) + 1);
    segments = device_segments<V, Offset>(queue, options.on, rows, from.row_begin.data(),
                                          {longest, longest_segment}, segment_entry.data());
    const auto [steps, listed, apart] =
        queue.read(layout.steps(), layout.listed(), segment_entry.data() + rows);
    const offset places = offset{steps} * slice_height;
    require_slices_within_budget<A>(rows, from.nnz(), apart, places, options.budget);

    const auto size = [](offset n) { return static_cast<std::size_t>(n); };
    row = device_slice_rows(options.on, layout.slices, listed);
    col = vector<index>(options.on, size(places));
    val = vector<A>(options.on, one_value ? 0 : size(places));
    segment_col = vector<index>(options.on, size(apart));
    segment_val = vector<A>(options.on, one_value ? 0 : size(apart));
    padding_bytes = static_cast<std::uint64_t>(places - (from.nnz() - apart)) *
                    (sizeof(index) + (one_value ? 0 : sizeof(A)));
    launch_threads(queue, "sell_slices (convert)", layout.slices * slice_height,
                   fill_slices_kernel<A, Offset>, from.view(), row.lists(layout), layout.slice_begin.data(),
                   col.data(), val.data());
    launch_threads(queue, "copy_segments", segments.size() * 32, copy_segments_kernel<A, Offset>,
                   segments.size(), segments.list(), segment_entry.data(), from.view(), segment_col.data(),
                   segment_val.data());
    slice_begin = std::move(layout.slice_begin);
  }
  void reserve(scratch_layout& layout) { segments.reserve(layout); }
  sell_view<A, V, Offset> view(std::byte* set) const {
    return {rows,
            row.first.data(),
            row.listed.data(),
            slice_begin.data(),
            col.data(),
            values_of(val.data(), one_value),
            segments.view(set),
            segment_col.data(),
            values_of(segment_val.data(), one_value)};
  }
  footprint storage() const {
    return {row.bytes() + segments.bytes() + bytes_of(slice_begin, col, val, segment_col, segment_val),
            padding_bytes};
  }
  std::string encodings() const {
    std::string out = one_value ? "one value for all entries" : "";
    if (segment_col.size() > 0)
      out += (out.empty() ? "" : ", ") + std::to_string(segment_col.size()) + " entries in long rows, apart";
    return out;
  }
};

}  // namespace nz::gpu
