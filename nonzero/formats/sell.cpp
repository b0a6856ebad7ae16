#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <nonzero/formats/invariants_internal.hpp>
#include <nonzero/formats/sell.hpp>

namespace nz {
namespace {

/// The number of slices of so many rows. Cannot overflow.
index slices_of(index rows, index height) { return rows / height + (rows % height != 0); }

array<index> equal_windows(index rows, sell_options options) {
  if (options.height < 1 || options.sigma < 1)
    throw shape_error(fmt::format("sell: slices of {} places and windows of {} rows; both must be at least 1",
                                  options.height, options.sigma));
  array<index> begin{0};
  for (offset next = options.sigma; begin.back() < rows; next += options.sigma)
    begin.push_back(static_cast<index>(std::min<offset>(next, rows)));
  return begin;
}

/// For each window its first slice, then the number of slices.
template <class V> array<offset> first_slices(const sell<V>& a) {
  array<offset> first{0};
  for (index w = 0; w < a.windows(); ++w)
    first.push_back(first.back() + slices_of(a.window_begin[w + 1] - a.window_begin[w], a.height));
  return first;
}

constexpr invariants check{"sell"};

void validate_windows(index rows, index height, const array<index>& window_begin) {
  check.that(height >= 1, "a height of {} is below 1", height);
  check.that(!window_begin.empty() && window_begin.front() == 0 && window_begin.back() == rows,
             "window_begin does not go from 0 to the {} rows", rows);
  for (std::size_t w = 1; w < window_begin.size(); ++w)
    check.that(window_begin[w] > window_begin[w - 1], "window {} (counted from 1) has no rows", w);
}

template <class V> void validate_order(const sell<V>& a) {
  check.length("row", a.row.size(), a.rows);
  check.permutation("row", a.row);
  for (index w = 0; w < a.windows(); ++w)
    for (index p = a.window_begin[w]; p < a.window_begin[w + 1]; ++p)
      check.that(a.row[p] >= a.window_begin[w] && a.row[p] < a.window_begin[w + 1],
                 "place {} of window {} holds row {} (counted from 1), which is in another window", p + 1,
                 w + 1, a.row[p] + 1);
}

/// Returns the number of entries at place r of a slice.
template <class V> offset validate_place(const sell<V>& a, offset slice, index r, bool has_row) {
  const offset begin = a.slice_begin[slice], width = (a.slice_begin[slice + 1] - begin) / a.height;
  const auto is_padding = [&](offset k) { return a.col[begin + k * a.height + r] == padding_column; };
  offset length = 0;
  while (length < width && !is_padding(length)) ++length;
  for (offset k = length; k < width; ++k)
    check.that(is_padding(k), "place {} of slice {} (counted from 1) has an entry after its padding", r + 1,
               slice + 1);
  check.that(r > 0 || length == width, "slice {} (counted from 1) is wider than its longest row", slice + 1);
  check.that(has_row || length == 0, "place {} of slice {} (counted from 1) has entries but no row", r + 1,
             slice + 1);
  return length;
}

}  // namespace

template <class V> void validate(const sell<V>& a) {
  check.sizes(a.rows, a.cols);
  validate_windows(a.rows, a.height, a.window_begin);
  validate_order(a);
  const array<offset> first_slice = first_slices(a);
  check.length("slice_begin", a.slice_begin.size(), first_slice.back() + 1);
  check.begins("slice_begin", a.slice_begin, static_cast<offset>(a.col.size()));
  check.length("val", a.val.size(), static_cast<offset>(a.col.size()));
  for (offset s = 0; s < a.slices(); ++s)
    check.that((a.slice_begin[s + 1] - a.slice_begin[s]) % a.height == 0,
               "slice {} (counted from 1) is no multiple of {} long", s + 1, a.height);
  check.places(a.col, a.val, a.cols);
  array<offset> length(a.row.size());
  for (index w = 0; w < a.windows(); ++w) {
    const offset end = a.window_begin[w + 1];
    offset p = a.window_begin[w];
    for (offset s = first_slice[w]; s < first_slice[w + 1]; ++s)
      for (index r = 0; r < a.height && (p < end || a.slice_begin[s] < a.slice_begin[s + 1]); ++r, ++p) {
        const offset entries = validate_place(a, s, r, p < end);
        if (p < end) length[p] = entries;
      }
    check.sorted_by_length(a.row, a.window_begin[w], a.window_begin[w + 1],
                           [&](index place) { return length[place]; });
  }
}

namespace {

template <class V> footprint footprint_of_places(const sell<V>& a, offset entries) {
  constexpr std::uint64_t place = sizeof(index) + sizeof(V);
  const auto places = static_cast<std::uint64_t>(last_or_0(a.slice_begin));
  footprint out{saturating_bytes(places, place),
                saturating_bytes(places - static_cast<std::uint64_t>(entries), place)};
  const std::uint64_t others = bytes_of(a.window_begin, a.row, a.slice_begin);
  if (__builtin_add_overflow(out.bytes, others, &out.bytes)) out.bytes = static_cast<std::uint64_t>(-1);
  return out;
}

template <class V> offset kept_length(csr_view<V> a, index row, offset longest) {
  const offset length = a.row_length(row);
  return length > longest ? 0 : length;
}

/// Sorts the rows of a window and writes each slice's width to its slice_begin.
template <class V>
void sort_window(csr_view<V> from, offset longest, index window, offset first_slice, sell<V>& a) {
  index* const row = a.row.data();
  const index begin = a.window_begin[window], end = a.window_begin[window + 1];
  const auto length = [&](index i) { return kept_length(from, i, longest); };
  const auto is_before = [&](index i, index j) {
    return length(i) != length(j) ? length(i) > length(j) : i < j;
  };
  std::iota(row + begin, row + end, begin);
  if (!std::is_sorted(row + begin, row + end, is_before)) std::sort(row + begin, row + end, is_before);
  for (offset p = begin; p < end; p += a.height) a.slice_begin[first_slice++] = length(row[p]);
}

/// Windows and slices: all but col and val.
template <class V> sell<V> lay_out(csr_view<V> from, const sell_steps& steps) {
  sell<V> a{from.rows, from.cols, steps.height, steps.window_begin, array<index>(from.rows), {}, {}, {}};
  const array<offset> first_slice = first_slices(a);
  a.slice_begin.resize(first_slice.back() + 1);
  steps.for_each_window(a.windows(),
                        [&](index w) { sort_window(from, steps.longest, w, first_slice[w], a); });
  offset places = 0;
  for (offset s = 0; s < a.slices(); ++s) {
    offset size = std::exchange(a.slice_begin[s], places);
    // No memory holds so many: the budget or the allocator refuses.
    if (__builtin_mul_overflow(size, offset{a.height}, &size) ||
        __builtin_add_overflow(places, size, &places))
      places = std::numeric_limits<offset>::max();
  }
  a.slice_begin.back() = places;
  return a;
}

template <class V> offset kept_entries(csr_view<V> a, offset longest) {
  if (longest == std::numeric_limits<offset>::max()) return a.row_begin.back();
  offset entries = 0;
  for (index i = 0; i < a.rows; ++i) entries += kept_length(a, i, longest);
  return entries;
}

/// Copies the entries of a window's rows to their places.
template <class V>
void fill_window(csr_view<V> from, offset longest, index window, offset first_slice, sell<V>& a) {
  const index end = a.window_begin[window + 1];
  offset s = first_slice;
  for (offset first = a.window_begin[window]; first < end; first += a.height, ++s) {
    const offset width = (a.slice_begin[s + 1] - a.slice_begin[s]) / a.height;
    for (index r = 0; width > 0 && r < a.height; ++r) {
      offset k = 0, at = a.slice_begin[s] + r;
      if (first + r < end) {
        const index i = a.row[first + r];
        const offset length = kept_length(from, i, longest);
        for (; k < length; ++k, at += a.height) {
          a.col[at] = from.col[from.row_begin[i] + k];
          a.val[at] = from.val[from.row_begin[i] + k];
        }
      }
      for (; k < width; ++k, at += a.height) {
        a.col[at] = padding_column;
        a.val[at] = 0;
      }
    }
  }
}

sell_steps serial_steps(index rows, sell_options options) {
  return {.height = options.height,
          .window_begin = equal_windows(rows, options),
          .for_each_window = [](index windows, const std::function<void(index)>& task) {
            for (index w = 0; w < windows; ++w) task(w);
          }};
}

}  // namespace

template <class V> footprint footprint_of(const sell<V>& a) {
  const auto padding = std::count(a.col.begin(), a.col.end(), padding_column);
  return footprint_of_places(a, static_cast<offset>(a.col.size()) - padding);
}

template <class V> footprint sell_footprint(csr_view<V> a, sell_options options) {
  a = validated(a);
  return footprint_of_places(lay_out(a, serial_steps(a.rows, options)), a.row_begin.back());
}

template <class V>
sell<V> to_sell_by_steps(csr_view<V> from, const sell_steps& steps, padding_budget budget) {
  from = validated(from);
  validate_windows(from.rows, steps.height, steps.window_begin);
  sell<V> a = lay_out(from, steps);
  require_within_budget("sell", footprint_of_places(a, kept_entries(from, steps.longest)), footprint_of(from),
                        budget);
  a.col.resize(static_cast<std::size_t>(a.slice_begin.back()));
  a.val.resize(a.col.size());
  const array<offset> first_slice = first_slices(a);
  steps.for_each_window(a.windows(),
                        [&](index w) { fill_window(from, steps.longest, w, first_slice[w], a); });
  return a;
}

template <class V> sell<V> to_sell(csr_view<V> a, sell_options options, padding_budget budget) {
  a = validated(a);
  return to_sell_by_steps(a, serial_steps(a.rows, options), budget);
}

#define NONZERO_INSTANTIATE(V)                                         \
  template void validate(const sell<V>&);                              \
  template footprint footprint_of(const sell<V>&);                     \
  template footprint sell_footprint(csr_view<V>, sell_options);        \
  template sell<V> to_sell(csr_view<V>, sell_options, padding_budget); \
  template sell<V> to_sell_by_steps(csr_view<V>, const sell_steps&, padding_budget);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
