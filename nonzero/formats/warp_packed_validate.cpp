#include <algorithm>
#include <bit>
#include <vector>

#include <fmt/format.h>

#include <nonzero/formats/invariants_internal.hpp>
#include <nonzero/formats/warp_packed.hpp>

namespace nz {
namespace {

template <class... Args> [[noreturn]] void refuse(fmt::format_string<Args...> what, Args&&... args) {
  throw shape_error("lanes: " + fmt::format(what, std::forward<Args>(args)...));
}

/// What a pattern reaches, counted from the first place of a slice.
struct reach {
  offset first_column, last_column;  // first > last: none
  int rows;                          // one more than its last lane
};

/// `have` elements hold `count` of `size` each; whatever the numbers are.
bool holds_exactly(std::size_t have, offset count, std::size_t size) {
  return count >= 0 && have % size == 0 && have / size == static_cast<std::size_t>(count);
}

template <class V> void check_patterns(const warp_packed<V>& a) {
  const auto steps = static_cast<offset>(a.steps.size()),
             offsets = static_cast<offset>(a.offsets.size() / 32);
  offset next_step = 0, next_offsets = 0;
  for (std::size_t i = 0; i < a.patterns.size(); ++i) {
    const warp_packed_pattern& p = a.patterns[i];
    if (p.width > 4 || p.width == 3) refuse("pattern {} has offsets of {} bytes", i, p.width);
    if (p.values > packed_values::full) refuse("pattern {} holds values in no known way", i);
    if (p.step != next_step || p.offsets != next_offsets)
      refuse("pattern {} starts at step {} and offset {} instead of {} and {}", i, p.step, p.offsets,
             next_step, next_offsets);
    if (p.steps < 0 || p.steps > steps - next_step)
      refuse("pattern {} has {} steps from {} on, of {}", i, p.steps, p.step, steps);
    next_step += p.steps;
    if (p.width > 0 && p.steps > (offsets - next_offsets) / p.width)
      refuse("pattern {} has more offsets than the {} that there are", i, a.offsets.size());
    next_offsets += p.steps * p.width;
  }
  invariants::length_is("warp_packed", "steps", a.steps.size(), next_step);
  invariants::length_is("warp_packed", "offsets", a.offsets.size(), next_offsets * 32);
  for (std::size_t k = 0; k < a.steps.size(); ++k)
    if (a.steps[k].mask == 0) refuse("step {} has no lanes", k);
}

template <class V> reach reach_of(const warp_packed<V>& a, const warp_packed_pattern& p) {
  reach out{0, -1, 0};
  for (offset k = 0; k < p.steps; ++k) {
    const std::uint32_t mask = a.steps[p.step + k].mask;
    out.rows = std::max(out.rows, static_cast<int>(std::bit_width(mask)));
    for (int lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1U) == 0) continue;
      const offset column = warp_packed_column(a, p, k, lane);
      const bool is_first = out.first_column > out.last_column;
      out.first_column = is_first ? column : std::min(out.first_column, column);
      out.last_column = is_first ? column : std::max(out.last_column, column);
    }
  }
  return out;
}

template <class V> void check_slices(const warp_packed<V>& a) {
  std::vector<reach> reaches;
  for (const warp_packed_pattern& p : a.patterns) reaches.push_back(reach_of(a, p));
  offset singles = 0, fulls = 0;
  for (offset s = 0; s < a.slices(); ++s) {
    const offset first = s * 32;
    if (a.pattern[s] < 0 || static_cast<std::size_t>(a.pattern[s]) >= a.patterns.size())
      refuse("pattern[{}] is {}, outside 0 to {}", s, a.pattern[s],
             static_cast<offset>(a.patterns.size()) - 1);
    const reach& r = reaches[static_cast<std::size_t>(a.pattern[s])];
    if (first + r.rows > a.rows) refuse("slice {} has entries in lane {}, which has no row", s, r.rows - 1);
    if (r.first_column <= r.last_column && (first + r.first_column < 0 || first + r.last_column >= a.cols))
      refuse("slice {} has the columns {} to {}, outside 0 to {}", s, first + r.first_column,
             first + r.last_column, a.cols - 1);
    const warp_packed_pattern& p = a.patterns[a.pattern[s]];
    offset none = 0;
    offset& next = p.values == packed_values::one      ? none
                   : p.values == packed_values::single ? singles
                                                       : fulls;
    if (a.value[s] != next) refuse("value[{}] is {} instead of {}", s, a.value[s], next);
    // Cannot overflow: a pattern's steps are there, and there are fewer than 2^31 slices.
    if (p.values != packed_values::one) next += p.steps;
  }
  if (!holds_exactly(a.single_value.size(), singles, 32))
    refuse("single_value is {} long instead of 32 for each of {} steps", a.single_value.size(), singles);
  if (!holds_exactly(a.full_value.size(), fulls, 32))
    refuse("full_value is {} long instead of 32 for each of {} steps", a.full_value.size(), fulls);
}

}  // namespace

template <class V> void validate(const warp_packed<V>& a) {
  invariants::sizes_are_not_negative("warp_packed", a.rows, a.cols);
  if (!a.row.empty()) {
    invariants::length_is("warp_packed", "row", a.row.size(), a.rows);
    invariants::is_permutation("warp_packed", "row", a.row);
  }
  invariants::length_is("warp_packed", "pattern", a.pattern.size(), a.slices());
  invariants::length_is("warp_packed", "value", a.value.size(), a.slices());
  check_patterns(a);
  check_slices(a);
}

template void validate(const warp_packed<float>&);
template void validate(const warp_packed<double>&);

}  // namespace nz
