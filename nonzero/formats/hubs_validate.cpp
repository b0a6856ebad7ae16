#include <numeric>
#include <vector>

#include <fmt/format.h>

#include <nonzero/formats/hubs_plan_internal.hpp>
#include <nonzero/formats/invariants_internal.hpp>

namespace nz {
namespace {

template <class... Args> [[noreturn]] void refuse(fmt::format_string<Args...> what, Args&&... args) {
  throw shape_error("hubs: " + fmt::format(what, std::forward<Args>(args)...));
}

template <class V> void check_hubs(const hubs<V>& a) {
  if (a.hub.size() > a.most_hubs) refuse("{} hubs are more than {}", a.hub.size(), a.most_hubs);
  invariants::within("hubs", "hub", a.hub, a.cols);
  std::vector<char> is_hub(static_cast<std::size_t>(a.cols));
  for (const index j : a.hub)
    if (is_hub[static_cast<std::size_t>(j)]++) refuse("hub names {} twice", j);
}

template <class V> void check_segments(const hubs<V>& a) {
  invariants::within("hubs", "split_row", a.split_row, a.rows);
  invariants::length_is("hubs", "segment_begin", a.segment_begin.size(),
                        static_cast<offset>(a.split_row.size()) + 1);
  if (a.segment_begin[0] != 0) refuse("segment_begin does not start at 0");
  for (std::size_t c = 0; c < a.split_row.size(); ++c) {
    if (c > 0 && a.split_row[c] <= a.split_row[c - 1]) refuse("split_row does not rise at position {}", c);
    if (a.segment_begin[c + 1] <= a.segment_begin[c]) refuse("row {} has no segments", a.split_row[c]);
  }
  if (a.segment_begin.back() > a.virtual_rows())
    refuse("{} segments are more than the {} virtual_rows", a.segment_begin.back(), a.virtual_rows());
  invariants::length_is("hubs", "target", a.target.size(),
                        a.rows - static_cast<offset>(a.split_row.size()) + a.segment_begin.back());
}

/// With as many virtual_rows as there are rows and segments, none is left out where none is named twice.
template <class V> void check_targets(const hubs<V>& a) {
  std::vector<char> is_row_taken(static_cast<std::size_t>(a.rows)),
      is_segment_taken(static_cast<std::size_t>(a.segment_begin.back()));
  for (const index row : a.split_row) is_row_taken[static_cast<std::size_t>(row)] = 1;
  for (offset s = 0; s < a.virtual_rows(); ++s) {
    const index to = a.target[s];
    auto& taken = to < 0 ? is_segment_taken : is_row_taken;
    const offset at = to < 0 ? -1 - offset{to} : to;
    if (at >= static_cast<offset>(taken.size()))
      refuse("target[{}] is {}, outside {} to {}", s, to, -a.segment_begin.back(), a.rows - 1);
    if (taken[static_cast<std::size_t>(at)]++) refuse("target[{}] is {}, which has its virtual_rows", s, to);
  }
}

template <class V> void check_lengths(const hubs<V>& a) {
  invariants::length_is("hubs", "hub_length", a.hub_length.size(), a.virtual_rows());
  invariants::length_is("hubs", "rest_length", a.rest_length.size(), a.virtual_rows());
  for (offset s = 0; s < a.virtual_rows(); ++s)
    if (a.hub_length[s] + a.rest_length[s] > a.most_virtual_row_entries)
      refuse("virtual_row {} has {} + {} entries, more than {}", s, a.hub_length[s], a.rest_length[s],
             a.most_virtual_row_entries);
}

/// Pieces take the entries of their row in turns.
template <class V> void check_turns(const hubs<V>& a) {
  const auto length = [&](offset s) { return offset{a.hub_length[s]} + a.rest_length[s]; };
  std::vector<offset> segment(static_cast<std::size_t>(a.segment_begin.back()));
  for (offset s = 0; s < a.virtual_rows(); ++s)
    if (a.target[s] < 0) segment[static_cast<std::size_t>(-1 - offset{a.target[s]})] = length(s);
  for (std::size_t c = 0; c < a.split_row.size(); ++c) {
    const offset first = a.segment_begin[c], n = a.segment_begin[c + 1] - first;
    const auto begin = segment.begin() + first;
    const offset entries = std::accumulate(begin, begin + n, offset{0});
    for (offset p = 0; p < n; ++p)
      if (begin[p] != length_of_segment(entries, n, p))
        refuse("segment {} of row {} has {} entries instead of {}", p, a.split_row[c], begin[p],
               length_of_segment(entries, n, p));
  }
}

/// Returns what the slices take together.
template <class V> hubs_totals check_slices(const hubs<V>& a) {
  invariants::length_is("hubs", "slices", a.slices.size(), (a.virtual_rows() + 31) / 32);
  hubs_totals next;
  for (std::size_t i = 0; i < a.slices.size(); ++i) {
    const hubs_slice<offset>& slice = a.slices[i];
    const auto begin = static_cast<offset>(i) * 32, end = std::min(begin + 32, a.virtual_rows());
    const auto hub = *std::max_element(a.hub_length.begin() + begin, a.hub_length.begin() + end);
    const auto rest = *std::max_element(a.rest_length.begin() + begin, a.rest_length.begin() + end);
    if (slice.hub_steps != hub || slice.rest_steps != rest)
      refuse("slice {} has {} and {} steps instead of {} and {}", i, slice.hub_steps, slice.rest_steps, hub,
             rest);
    if (slice.hub_step != next.hub_steps || slice.rest_step != next.rest_steps)
      refuse("slice {} starts at steps {} and {} instead of {} and {}", i, slice.hub_step, slice.rest_step,
             next.hub_steps, next.rest_steps);
    if (slice.values > hubs_values::full) refuse("slice {} holds values in no known way", i);
    if (slice.values == hubs_values::one && hub == 0 && rest == 0)
      refuse("slice {} has a value but no entries", i);
    next.hub_steps += hub;
    next.rest_steps += rest;
    const offset value = next.add(slice.values, hub + rest);
    if (slice.value != value) refuse("slice {} has its values at {} instead of {}", i, slice.value, value);
  }
  return next;
}

template <class V> void check_places(const hubs<V>& a, const hubs_totals& totals) {
  const auto length_is = [](const char* name, std::size_t length, offset steps) {
    invariants::length_is("hubs", name, length, steps * 32);
  };
  length_is("hub_number", a.hub_number.size(), totals.hub_steps);
  length_is("rest_col", a.rest_col.size(), totals.rest_steps);
  invariants::length_is("hubs", "constant", a.constant.size(), totals.constants);
  length_is("coded_value", a.coded_value.size(), totals.coded);
  length_is("single_value", a.single_value.size(), totals.singles);
  length_is("full_value", a.full_value.size(), totals.fulls);
  invariants::within("hubs", "rest_col", a.rest_col, a.cols);
  for (std::size_t i = 0; i < a.hub_number.size(); ++i)
    if (a.hub_number[i] >= a.hub.size())
      refuse("hub_number[{}] is {}, but there are {} hubs", i, a.hub_number[i], a.hub.size());
  if (a.dictionary.size() > a.most_coded)
    refuse("dictionary is {} long, more than {}", a.dictionary.size(), a.most_coded);
  for (std::size_t i = 0; i < a.coded_value.size(); ++i)
    if (a.coded_value[i] >= a.dictionary.size())
      refuse("coded_value[{}] is {}, but the dictionary has {}", i, a.coded_value[i], a.dictionary.size());
}

}  // namespace

template <class V> void validate(const hubs<V>& a) {
  invariants::sizes_are_not_negative("hubs", a.rows, a.cols);
  check_hubs(a);
  check_segments(a);
  check_targets(a);
  check_lengths(a);
  check_turns(a);
  check_places(a, check_slices(a));
}

template void validate(const hubs<float>&);
template void validate(const hubs<double>&);

}  // namespace nz
