#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include <nonzero/gpu/convert/sell_build.cuh>

namespace nz::gpu {

/// What a multiply reads of a device_sell.
template <class A, class V> struct sell_view {
  std::uint32_t slices;  // those of long rows first, slices_of_segment for each segment
  const sell_slice* slice;
  const index* row;
  const std::uint16_t *col, *upper;
  entry_values<A> values;
  segment_sums<V> segments;
};

/// Slices of rows in a device's memory, 32 lanes each. A slice has 32 rows of a lane each, or 16 of two
/// lanes, … or one of 32: few enough entries for each lane that all its loads are in flight at once. Columns
/// take 16 bits where those of a slice are near each other.
template <class A, class Offset, class V = A> struct device_sell {
  index rows, cols;
  int most;                  // entries of a lane: 4 or 8
  vector<sell_slice> slice;  // those of segments first
  vector<index> row;  // of each place: in each window of 1,024 rows the longest first; -1 for long ones
  vector<std::uint16_t> col;    // as sell_slice says
  vector<std::uint16_t> upper;  // halves of the columns of wide slices
  vector<A> val;                // empty where all are equal
  device_segments<V, Offset> segments;
  std::optional<A> one_value;
  std::uint64_t padding_bytes;

  /// Throws `unsupported` where padding exceeds the budget.
  template <class Queue>
  device_sell(Queue& queue, const std::shared_ptr<const device_csr<A>>& a, const prepare_options& options)
      : rows(a->rows), cols(a->cols), most(most_entries_of_lane(queue, a->nnz)) {
    const shared_csr<A, Offset> from(a);
    const std::int64_t windows = (std::int64_t{rows} + rows_per_window - 1) / rows_per_window;
    const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    row = vector<index>(options.on, size(rows));
    auto shapes = queue.template temporary<window_shape>(size(windows));
    auto step = queue.template temporary<std::uint32_t>(size(rows));
    auto before = queue.template temporary<std::int64_t>(size(3 * (windows + 1) + 1));
    // A row that is split has a counter, which takes longer than a second round of entries; where there is
    // one anyway, one round each.
    const split_rule rule{offset{32} * most, longest_segment, offset{lanes_of_segment} * most};
    queue.launch("sell_slices (windows)", windows + 1, threads_per_block, shape_windows_kernel<A, Offset>,
                 from.view(), windows, most, rule, row.data(), shapes.data(), step.data(), before.data());
    queue.exclusive_sum(before.data(), before.data(), 3 * (windows + 1));
    // From the sum of the first array on: for up to some ten million rows one copy is faster than one for
    // each of four numbers.
    const auto sums = queue.read_array(before.data() + windows, size(2 * windows + 4));
    const std::int64_t in_windows = sums.front(), with_segments = sums[size(windows + 1)],
                       with_steps = sums[size(2 * (windows + 1))], differ = sums.back();
    if (differ == 0) one_value = find_one_value(queue, from.view());
    // Padding has an x of 0, and any number times 0 must be 0.
    if (one_value && !std::isfinite(*one_value)) one_value.reset();
    const std::int64_t window_slices = in_windows >> 32, window_steps = in_windows & 0xffffffff;

    if (with_segments > in_windows)
      segments = device_segments<V, Offset>(queue, options.on, rows, from.row_begin.data(), rule, nullptr,
                                            with_segments - in_windows);
    auto segment_step = queue.template temporary<std::int64_t>(size(segments.size()));
    launch_threads(queue, "sell_slices (segments)", segments.size(), count_segment_steps_kernel<Offset>,
                   segments.size(), segments.list(), segment_step.data());
    queue.exclusive_sum(segment_step.data(), segment_step.data(), segments.size());
    const std::int64_t segment_steps = with_steps - with_segments;
    const std::int64_t slices = slices_of_segment * segments.size() + window_slices,
                       steps = segment_steps + window_steps;
    require_fits(from, slices, steps, options.budget);
    slice = vector<sell_slice>(options.on, size(slices));
    auto wide = queue.template temporary<std::int64_t>(size(slices + 1));
    const slice_source<Offset> source{rows,          windows,         from.row_begin.data(), row.data(),
                                      shapes.data(), step.data(),     before.data(),         segments.size(),
                                      segment_steps, segments.list(), segment_step.data()};
    launch_threads(queue, "sell_slices (describe)", (slices + 1) * 32, describe_slices_kernel<Offset>, source,
                   slices, cols <= most_narrow_columns, from.col.data(), slice.data(), wide.data());
    std::int64_t wide_steps = 0;
    if (cols > most_narrow_columns) {
      queue.exclusive_sum(wide.data(), wide.data(), slices + 1);
      wide_steps = queue.read(wide.data() + slices);
    }
    col = vector<std::uint16_t>(options.on, size(32 * steps));
    upper = vector<std::uint16_t>(options.on, size(32 * wide_steps));
    val = vector<A>(options.on, one_value ? 0 : size(32 * steps));
    padding_bytes = static_cast<std::uint64_t>(32 * steps - from.nnz()) *
                    (sizeof(std::uint16_t) + (one_value ? 0 : sizeof(A)));
    with_one_of<4, 8>(most, [&](auto each) {
      launch_threads(queue, "sell_slices (fill)", slices * 32, fill_slices_kernel<each.value, A, Offset>,
                     source, slices, from.col.data(), from.val.data(), wide_steps > 0 ? wide.data() : nullptr,
                     slice.data(), col.data(), upper.data(), val.data());
    });
  }
  void reserve(scratch_layout& layout) { segments.reserve(layout); }
  sell_view<A, V> view(std::byte* set) const {
    return {static_cast<std::uint32_t>(slice.size()), slice.data(),      row.data(), col.data(), upper.data(),
            values_of(val.data(), one_value),         segments.sums(set)};
  }
  bool has_wide_slices() const { return upper.size() > 0; }
  /// The segments of long rows have a block each, the other slices a warp each.
  std::int64_t blocks(int warps_of_block) const {
    const auto others = static_cast<std::int64_t>(slice.size()) - slices_of_segment * segments.size();
    return segments.size() + (others + warps_of_block - 1) / warps_of_block;
  }
  footprint storage() const {
    return {segments.bytes() + bytes_of(slice, row, col, upper, val), padding_bytes};
  }
  std::string encodings() const {
    std::string out = one_value ? "one value for all entries" : "";
    if (col.size() > 0) {
      const auto narrow = static_cast<double>(col.size() - upper.size()) / static_cast<double>(col.size());
      out += (out.empty() ? "" : ", ") + std::to_string(static_cast<int>(100 * narrow + 0.5)) +
             " % of columns in 16 bits";
    }
    if (segments.size() > 0) out += ", " + std::to_string(segments.size()) + " segments of long rows";
    return out;
  }

 private:
  void require_fits(const shared_csr<A, Offset>& from, std::int64_t slices, std::int64_t steps,
                    padding_budget budget) const {
    // Steps and slices are numbered by 32 bits.
    if (std::max(steps, slices) > std::numeric_limits<std::uint32_t>::max())
      throw unsupported("sell_slices: more than 2^32 steps of 32 entries");
    const auto count = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
    const footprint csr = from.storage();
    const std::uint64_t entry = sizeof(std::uint16_t) + (one_value ? 0 : sizeof(A));
    const footprint sliced{
        count(32 * steps) * entry + count(rows) * sizeof(index) + count(slices) * sizeof(sell_slice),
        count(32 * steps - from.nnz()) * entry};
    require_within_budget("sell", sliced, csr, for_slices(budget, csr));
  }
};

}  // namespace nz::gpu
