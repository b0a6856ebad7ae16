#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <nonzero/formats/conversion_internal.hpp>
#include <nonzero/formats/invariants_internal.hpp>
#include <nonzero/formats/warp_packed_choice.hpp>

// The definition of the format: short rather than fast. gpu/convert/warp_packed_build.cuh makes the same bits
// on a device.
namespace nz {
namespace {

/// What the lanes of a slice do at once: those of the mask take their next entry. `column` as in
/// warp_packed_step.
struct slice_step {
  offset column;
  std::uint32_t mask;
};

/// The entries of a slice: lane l has [begin[l], end[l]) of the CSR matrix; none where there is no row.
struct slice_rows {
  offset first_place;
  std::array<offset, 32> begin{}, end{};
};

template <class V> slice_rows rows_of_slice(csr_view<V> a, const array<index>& row, offset slice) {
  slice_rows out{slice * 32};
  for (std::size_t l = 0; l < 32 && out.first_place + static_cast<offset>(l) < a.rows; ++l) {
    const offset place = out.first_place + static_cast<offset>(l), i = row.empty() ? place : row[place];
    out.begin[l] = a.row_begin[i];
    out.end[l] = a.row_begin[i + 1];
  }
  return out;
}

/// body(lane) for each lane of a mask.
template <class Body> void for_each_lane(std::uint32_t mask, Body body) {
  for (; mask != 0; mask &= mask - 1) body(static_cast<std::size_t>(std::countr_zero(mask)));
}

/// body(step, entries): lane l of the step's mask has the entry entries[l].
template <class Steps, class Body> void for_each_step(const Steps& steps, const slice_rows& rows, Body body) {
  std::array<offset, 32> next = rows.begin;
  for (const auto& step : steps) {
    body(step, next);
    for_each_lane(step.mask, [&](std::size_t l) { ++next[l]; });
  }
}

/// Groups the entries into steps. By rank, step k takes every row's k-th entry; offsets count from the lowest
/// column. By diagonal, each step takes the lowest diagonal among the next entries of all lanes, for all
/// lanes that have it. Nothing if that takes more than `most` steps.
template <class V>
std::optional<std::vector<slice_step>> make_steps(csr_view<V> a, const slice_rows& rows, bool by_rank,
                                                  offset most) {
  std::vector<slice_step> out;
  std::array<offset, 32> next = rows.begin;
  for (;;) {
    slice_step step{std::numeric_limits<offset>::max(), 0};
    for (std::size_t l = 0; l < 32; ++l) {
      if (next[l] >= rows.end[l]) continue;
      const offset column = a.col[next[l]] - rows.first_place - (by_rank ? 0 : static_cast<offset>(l));
      if (!by_rank && column < step.column) step.mask = 0;
      step.column = std::min(step.column, column);
      if (by_rank || column == step.column) step.mask |= std::uint32_t{1} << l;
    }
    if (step.mask == 0) return out;
    if (static_cast<offset>(out.size()) == most) return {};
    out.push_back(step);
    for_each_lane(step.mask, [&](std::size_t l) { ++next[l]; });
  }
}

/// With the shortest exact kind of values, and the fewest bytes for offsets.
template <class V>
warp_packed_choice choice_for(csr_view<V> a, const slice_rows& rows, std::span<const slice_step> steps,
                              bool by_rank) {
  offset entries = 0, span = 0;
  bool are_one = true, are_single = true;
  for_each_step(steps, rows, [&](const slice_step& step, const auto& entry) {
    const V first = a.val[entry[static_cast<std::size_t>(std::countr_zero(step.mask))]];
    for_each_lane(step.mask, [&](std::size_t l) {
      ++entries;
      span = std::max(span, a.col[entry[l]] - rows.first_place - step.column);
      are_one = are_one && have_same_bits(a.val[entry[l]], first);
      are_single = are_single && is_exactly_single(a.val[entry[l]]);
    });
  });
  return {static_cast<offset>(steps.size()), entries, by_rank ? warp_packed_width(span) : std::uint8_t{0},
          warp_packed_values<V>(are_one, are_single)};
}

template <class V>
std::pair<warp_packed_choice, std::vector<slice_step>> choose_steps(csr_view<V> a, const slice_rows& rows) {
  auto by_rank = *make_steps(a, rows, true, std::numeric_limits<offset>::max());
  const warp_packed_choice ranks = choice_for<V>(a, rows, by_rank, true);
  if (auto by_diagonal = make_steps(a, rows, false, most_diagonals(ranks))) {
    const warp_packed_choice diagonals = choice_for<V>(a, rows, *by_diagonal, false);
    if (are_better<V>(diagonals, ranks)) return {diagonals, *std::move(by_diagonal)};
  }
  return {ranks, std::move(by_rank)};
}

/// Fills `row`, as in warp_packed<V>: windows with too much padding are sorted by length.
template <class V> warp_packed_lengths order_rows(csr_view<V> a, array<index>& row) {
  row.resize(static_cast<std::size_t>(a.rows));
  std::iota(row.begin(), row.end(), 0);
  warp_packed_lengths all;
  bool is_any_sorted = false;
  for (offset begin = 0; begin < a.rows; begin += warp_packed_window_rows) {
    const offset end = std::min<offset>(begin + warp_packed_window_rows, a.rows);
    const auto for_each_slice = [&](auto body) {  // body(longest row, rows)
      for (offset first = begin; first < end; first += 32) {
        const offset last = std::min<offset>(first + 32, end);
        offset longest = 0;
        for (offset p = first; p < last; ++p) longest = std::max(longest, a.row_length(row[p]));
        body(longest, last - first);
      }
    };
    offset places = 0;
    for_each_slice([&](offset longest, offset rows) { places += longest * rows; });
    if (is_uneven_window(places, a.row_begin[end] - a.row_begin[begin])) {
      is_any_sorted = true;
      std::stable_sort(row.begin() + begin, row.begin() + end,
                       [&](index i, index j) { return a.row_length(i) > a.row_length(j); });
    }
    for_each_slice([&](offset longest, offset) {
      all.steps += longest;
      all.longest = std::max(all.longest, longest);
    });
  }
  if (!is_any_sorted) row = {};
  return all;
}

/// A matrix without its values.
template <class V> struct packed_patterns {
  warp_packed<V> made;
  offset singles = 0, fulls = 0;  // steps whose values will be of that kind
  footprint unshared;             // what the slices would take if none shared a pattern
};

/// Appends the pattern of a slice unless it is there; returns its number. `known` has all of them, byte by
/// byte.
template <class V>
index append_pattern(csr_view<V> a, const slice_rows& rows, const warp_packed_choice& how,
                     std::span<const slice_step> steps, std::unordered_map<std::string, index>& known,
                     warp_packed<V>& out) {
  warp_packed_pattern made{static_cast<offset>(out.steps.size()), how.steps,
                           static_cast<offset>(out.offsets.size() / 32), how.width, how.values};
  std::string key;
  const auto add_to_key = [&](auto number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  add_to_key(how.width);
  add_to_key(how.values);
  for_each_step(steps, rows, [&](const slice_step& step, const auto& entry) {
    const V first = a.val[entry[static_cast<std::size_t>(std::countr_zero(step.mask))]];
    const V value = how.values == packed_values::one ? first : V{0};
    out.steps.push_back({static_cast<index>(step.column), step.mask, value});
    add_to_key(static_cast<index>(step.column));
    add_to_key(step.mask);
    add_to_key(value);
    const std::size_t begin = out.offsets.size();
    out.offsets.resize(begin + std::size_t{32} * how.width, 0);
    for_each_lane(step.mask, [&](std::size_t l) {
      const auto from_column = static_cast<std::uint32_t>(a.col[entry[l]] - rows.first_place - step.column);
      for (std::size_t byte = 0; byte < how.width; ++byte)
        out.offsets[begin + l * how.width + byte] = static_cast<std::uint8_t>(from_column >> 8 * byte);
    });
  });
  key.append(out.offsets.begin() + made.offsets * 32, out.offsets.end());
  const auto [at, is_new] = known.emplace(std::move(key), static_cast<index>(out.patterns.size()));
  if (is_new) {
    out.patterns.push_back(made);
  } else {
    out.steps.resize(static_cast<std::size_t>(made.step));
    out.offsets.resize(static_cast<std::size_t>(made.offsets) * 32);
  }
  return at->second;
}

template <class V> packed_patterns<V> make_patterns(csr_view<V> a, array<index>&& row) {
  packed_patterns<V> out;
  out.made.rows = a.rows;
  out.made.cols = a.cols;
  out.made.row = std::move(row);
  std::unordered_map<std::string, index> known;
  for (offset s = 0; s < out.made.slices(); ++s) {
    const slice_rows rows = rows_of_slice(a, out.made.row, s);
    const auto [how, steps] = choose_steps(a, rows);
    out.made.pattern.push_back(append_pattern<V>(a, rows, how, steps, known, out.made));
    offset none = 0;
    offset& next = how.values == packed_values::one      ? none
                   : how.values == packed_values::single ? out.singles
                                                         : out.fulls;
    out.made.value.push_back(std::exchange(next, next + how.steps));
    const std::uint64_t value = warp_packed_value_bytes(how.values, sizeof(V));
    const offset lanes = std::min<offset>(32, a.rows - s * 32);
    out.unshared.padding_bytes += static_cast<std::uint64_t>(how.padding(lanes)) * value;
    out.unshared.bytes +=
        static_cast<std::uint64_t>(how.steps) * (sizeof(warp_packed_step<V>) + 32 * (value + how.width));
  }
  return out;
}

constexpr invariants check{"warp_packed"};

template <class V> void check_patterns(const warp_packed<V>& a) {
  const auto steps = static_cast<offset>(a.steps.size()),
             offsets = static_cast<offset>(a.offsets.size() / 32);
  offset next_step = 0, next_offsets = 0;
  for (std::size_t i = 0; i < a.patterns.size(); ++i) {
    const warp_packed_pattern& p = a.patterns[i];
    check.that(p.width <= 4 && p.width != 3, "pattern {} has offsets of {} bytes", i, p.width);
    check.that(p.values <= packed_values::full, "pattern {} has an unknown kind of values", i);
    check.that(p.step == next_step && p.offsets == next_offsets,
               "pattern {} starts at step {} and offset {} instead of {} and {}", i, p.step, p.offsets,
               next_step, next_offsets);
    check.that(p.steps >= 0 && p.steps <= steps - next_step, "pattern {} has {} steps from {} on, of {}", i,
               p.steps, p.step, steps);
    next_step += p.steps;
    check.that(p.width == 0 || p.steps <= (offsets - next_offsets) / p.width,
               "pattern {} has more offsets than the {} that there are", i, a.offsets.size());
    next_offsets += p.steps * p.width;
  }
  check.length("steps", a.steps.size(), next_step);
  check.length("offsets", a.offsets.size(), next_offsets * 32);
  for (std::size_t k = 0; k < a.steps.size(); ++k)
    check.that(a.steps[k].mask != 0, "step {} has no lanes", k);
}

/// The lanes and columns that a pattern uses; columns count from the first place of a slice.
struct reach {
  offset first_column = std::numeric_limits<offset>::max();
  offset last_column = std::numeric_limits<offset>::min();
  int rows = 0;  // one more than its last lane
};

template <class V> reach reach_of(const warp_packed<V>& a, const warp_packed_pattern& p) {
  reach out;
  for (offset k = 0; k < p.steps; ++k) {
    const std::uint32_t mask = a.steps[p.step + k].mask;
    out.rows = std::max(out.rows, static_cast<int>(std::bit_width(mask)));
    for_each_lane(mask, [&](std::size_t l) {
      const offset column = warp_packed_column(a, p, k, static_cast<int>(l));
      out.first_column = std::min(out.first_column, column);
      out.last_column = std::max(out.last_column, column);
    });
  }
  return out;
}

template <class V> void check_slices(const warp_packed<V>& a) {
  std::vector<reach> reaches;
  for (const warp_packed_pattern& p : a.patterns) reaches.push_back(reach_of(a, p));
  offset singles = 0, fulls = 0;
  for (offset s = 0; s < a.slices(); ++s) {
    const offset first = s * 32;
    const index number = a.pattern[s];
    const auto patterns = static_cast<offset>(a.patterns.size());
    check.that(number >= 0 && number < patterns, "pattern[{}] is {}, outside 0 to {}", s, number,
               patterns - 1);
    const reach& r = reaches[static_cast<std::size_t>(number)];
    check.that(first + r.rows <= a.rows, "slice {} has entries in lane {}, which has no row", s, r.rows - 1);
    if (r.rows > 0)
      check.that(first + r.first_column >= 0 && first + r.last_column < a.cols,
                 "slice {} has the columns {} to {}, outside 0 to {}", s, first + r.first_column,
                 first + r.last_column, a.cols - 1);
    const warp_packed_pattern& p = a.patterns[number];
    const bool is_one = p.values == packed_values::one;
    offset& next = p.values == packed_values::single ? singles : fulls;
    check.that(a.value[s] == (is_one ? 0 : next), "value[{}] is {} instead of {}", s, a.value[s],
               is_one ? 0 : next);
    if (!is_one) next += p.steps;  // cannot overflow: the steps exist, and there are fewer than 2^31 slices
  }
  const auto check_values = [](const char* name, std::size_t length, offset steps) {
    check.that(length % 32 == 0 && length / 32 == static_cast<std::size_t>(steps),
               "{} is {} long instead of 32 for each of {} steps", name, length, steps);
  };
  check_values("single_value", a.single_value.size(), singles);
  check_values("full_value", a.full_value.size(), fulls);
}

}  // namespace

template <class V> void validate(const warp_packed<V>& a) {
  check.sizes(a.rows, a.cols);
  if (!a.row.empty()) {
    check.length("row", a.row.size(), a.rows);
    check.permutation("row", a.row);
  }
  check.length("pattern", a.pattern.size(), a.slices());
  check.length("value", a.value.size(), a.slices());
  check_patterns(a);
  check_slices(a);
}

void require_even_warp_packed(index rows, offset nnz, const warp_packed_lengths& lengths,
                              padding_budget budget) {
  constexpr double always_places = 1 << 16, always_long = 1 << 12;
  const auto entries = static_cast<double>(nnz), places = 32 * static_cast<double>(lengths.steps);
  const double mean = entries / std::max(rows, 1);
  if (places > always_places + budget.times_csr * (entries + rows))
    throw unsupported(fmt::format(
        "warp_packed would take {} places for {} rows and {} entries, in slices of 32 rows as long "
        "as their longest row: more than {:g} for each; choose another format or raise the budget",
        32 * lengths.steps, rows, nnz, budget.times_csr));
  if (static_cast<double>(lengths.longest) > always_long + budget.times_csr * mean)
    throw unsupported(
        fmt::format("warp_packed would leave a row of {} entries to a single lane, while the mean is {:.1f}: "
                    "more than {:g} times that; choose another format or raise the budget",
                    lengths.longest, mean, budget.times_csr));
}

template <class V> warp_packed<V> to_warp_packed(csr_view<V> a, padding_budget budget) {
  a = validated(a);
  array<index> row;
  require_even_warp_packed(a.rows, a.nnz(), order_rows(a, row), budget);
  packed_patterns<V> patterns = make_patterns(a, std::move(row));
  require_within_budget("warp_packed", patterns.unshared, footprint_of(a), budget);
  warp_packed<V> out = std::move(patterns.made);
  out.single_value.resize(static_cast<std::size_t>(patterns.singles) * 32, 0);
  out.full_value.resize(static_cast<std::size_t>(patterns.fulls) * 32, 0);
  for (offset s = 0; s < out.slices(); ++s) {
    const warp_packed_pattern& p = out.patterns[out.pattern[s]];
    if (p.values == packed_values::one) continue;
    offset at = out.value[s] * 32;
    for_each_step(
        std::span(out.steps).subspan(static_cast<std::size_t>(p.step), static_cast<std::size_t>(p.steps)),
        rows_of_slice(a, out.row, s), [&](const warp_packed_step<V>& step, const auto& entry) {
          for_each_lane(step.mask, [&](std::size_t l) {
            const offset to = at + static_cast<offset>(l);
            if (p.values == packed_values::single)
              out.single_value[to] = static_cast<float>(a.val[entry[l]]);
            else
              out.full_value[to] = a.val[entry[l]];
          });
          at += 32;
        });
  }
  return out;
}

template <class V> footprint footprint_of(const warp_packed<V>& a) {
  footprint out{
      bytes_of(a.row, a.pattern, a.value, a.patterns, a.steps, a.offsets, a.single_value, a.full_value), 0};
  std::vector<offset> entries(a.patterns.size());
  for (std::size_t i = 0; i < entries.size(); ++i)
    for (offset k = 0; k < a.patterns[i].steps; ++k)
      entries[i] += std::popcount(a.steps[a.patterns[i].step + k].mask);
  for (offset s = 0; s < a.slices(); ++s) {
    const warp_packed_pattern& p = a.patterns[a.pattern[s]];
    const offset lanes = std::min<offset>(32, a.rows - s * 32);
    const auto padding = static_cast<std::uint64_t>(p.steps * lanes - entries[a.pattern[s]]);
    out.padding_bytes += padding * warp_packed_value_bytes(p.values, sizeof(V));
  }
  return out;
}

template <class V> footprint warp_packed_footprint(csr_view<V> a) {
  a = validated(a);
  array<index> row;
  order_rows(a, row);
  const packed_patterns<V> patterns = make_patterns(a, std::move(row));
  footprint out = footprint_of(patterns.made);
  out.bytes += 32 * (static_cast<std::uint64_t>(patterns.singles) * sizeof(float) +
                     static_cast<std::uint64_t>(patterns.fulls) * sizeof(V));
  return out;
}

#define NONZERO_INSTANTIATE(V)                                         \
  template void validate(const warp_packed<V>&);                       \
  template warp_packed<V> to_warp_packed(csr_view<V>, padding_budget); \
  template footprint footprint_of(const warp_packed<V>&);              \
  template footprint warp_packed_footprint(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
