#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <nonzero/formats/from_entries_internal.hpp>
#include <nonzero/formats/warp_packed_slice_internal.hpp>

namespace nz {
namespace {

constexpr offset part_slices = 256;  // that are converted together

/// What is known of a window of rows from their lengths.
struct window_order {
  warp_packed_lengths lengths;
  offset places = 0;  // of rows, in as many steps as their slice has
  bool is_sorted = false;
};

template <class V> window_order measure_window(csr_view<V> a, const index* row, offset begin, offset end) {
  window_order out;
  for (offset first = begin; first < end; first += 32) {
    const offset last = std::min<offset>(first + 32, end);
    offset longest = 0;
    for (offset p = first; p < last; ++p) longest = std::max(longest, a.row_length(row[p]));
    out.places += longest * (last - first);
    out.lengths.steps += longest;
    out.lengths.longest = std::max(out.lengths.longest, longest);
  }
  return out;
}

/// The rows of a window in their own order, or the longest first if that leaves too much padding.
template <class V> window_order order_window(csr_view<V> a, index* row, offset begin, offset end) {
  std::iota(row + begin, row + end, static_cast<index>(begin));
  window_order out = measure_window(a, row, begin, end);
  if (!is_uneven_window(out.places, a.row_begin[end] - a.row_begin[begin])) return out;
  std::sort(row + begin, row + end, [&](index i, index j) {
    const offset of_i = a.row_length(i), of_j = a.row_length(j);
    return of_i != of_j ? of_i > of_j : i < j;
  });
  out = measure_window(a, row, begin, end);
  out.is_sorted = true;
  return out;
}

/// Fills `row`, as in warp_packed<V>.
template <class V>
warp_packed_lengths order_rows(csr_view<V> a, const for_each_runner& for_each, array<index>& row) {
  row.resize(static_cast<std::size_t>(a.rows));
  const offset windows = (offset{a.rows} + warp_packed_window_rows - 1) / warp_packed_window_rows;
  std::vector<window_order> order(static_cast<std::size_t>(windows));
  for_each(windows, [&](offset w) {
    const offset begin = w * warp_packed_window_rows,
                 end = std::min<offset>(begin + warp_packed_window_rows, a.rows);
    order[static_cast<std::size_t>(w)] = order_window(a, row.data(), begin, end);
  });
  warp_packed_lengths out;
  for (const window_order& one : order) {
    out.steps += one.lengths.steps;
    out.longest = std::max(out.longest, one.lengths.longest);
  }
  const auto is_sorted = [](const window_order& one) { return one.is_sorted; };
  if (std::none_of(order.begin(), order.end(), is_sorted)) row = {};
  return out;
}

/// Some slices, one after the other, and the patterns that are distinct among them.
template <class V> struct warp_packed_part {
  offset slice = 0, slices = 0;  // its first, and how many
  std::vector<warp_packed_choice> choices;
  std::vector<index> pattern;  // of each slice, in `own`
  warp_packed_dictionary<V> own;
  std::vector<index> shared;      // of each own pattern, its number in the matrix
  std::vector<char> is_first;     // of each own pattern: no part before has it
  offset singles = 0, fulls = 0;  // where its values begin, / 32
};

/// A matrix on its way: all that is known of it before its values are copied.
template <class V> struct warp_packed_plan {
  array<index> row;
  std::vector<warp_packed_part<V>> parts;
  std::vector<warp_packed_pattern> patterns;
  offset steps = 0, offsets = 0, singles = 0, fulls = 0;  // of the matrix; all but steps / 32
};

/// What each slice is to be, its rows in order, and what that would take if none shared a pattern.
template <class V>
footprint choose_all(csr_view<V> a, const for_each_runner& for_each, warp_packed_plan<V>& plan) {
  const offset slices = (offset{a.rows} + 31) / 32;
  plan.parts.resize(static_cast<std::size_t>((slices + part_slices - 1) / part_slices));
  for_each(static_cast<offset>(plan.parts.size()), [&](offset p) {
    auto& part = plan.parts[static_cast<std::size_t>(p)];
    part.slice = p * part_slices;
    part.slices = std::min(part_slices, slices - part.slice);
    for (offset s = 0; s < part.slices; ++s)
      part.choices.push_back(choose(a, rows_of_slice(a, plan.row, part.slice + s)));
  });
  footprint all;
  for (const auto& part : plan.parts)
    for (offset s = 0; s < part.slices; ++s) {
      const warp_packed_choice& how = part.choices[static_cast<std::size_t>(s)];
      const std::uint64_t value = warp_packed_value_bytes(how.values, sizeof(V));
      const offset lanes = std::min<offset>(32, a.rows - (part.slice + s) * 32);
      all.padding_bytes += static_cast<std::uint64_t>(how.padding(lanes)) * value;
      all.bytes +=
          static_cast<std::uint64_t>(how.steps) * (sizeof(warp_packed_step<V>) + 32 * (value + how.width));
    }
  return all;
}

/// Makes the patterns of a part's slices, the same ones once.
template <class V> void make_patterns(csr_view<V> a, const array<index>& row, warp_packed_part<V>& part) {
  std::unordered_multimap<std::uint64_t, std::size_t> known;
  auto& own = part.own;
  for (offset s = 0; s < part.slices; ++s) {
    append_pattern(a, rows_of_slice(a, row, part.slice + s), part.choices[static_cast<std::size_t>(s)], own);
    const std::size_t made = own.patterns.size() - 1;
    const auto [from, to] = known.equal_range(own.hashes[made]);
    const auto same =
        std::find_if(from, to, [&](const auto& k) { return is_same_pattern(own, k.second, own, made); });
    part.pattern.push_back(static_cast<index>(same == to ? made : same->second));
    if (same == to) {
      known.emplace(own.hashes[made], made);
      continue;
    }
    own.steps.resize(static_cast<std::size_t>(own.patterns[made].step));
    own.offsets.resize(static_cast<std::size_t>(own.patterns[made].offsets) * 32);
    own.hashes.pop_back();
    own.patterns.pop_back();
  }
}

/// Numbers the patterns of all parts in the order of slices, and says where everything will be.
template <class V> void number_patterns(warp_packed_plan<V>& plan) {
  struct seen {
    const warp_packed_dictionary<V>* in;
    std::size_t at;
    index number;
  };
  std::unordered_multimap<std::uint64_t, seen> known;
  for (auto& part : plan.parts) {
    for (std::size_t i = 0; i < part.own.patterns.size(); ++i) {
      const auto [from, to] = known.equal_range(part.own.hashes[i]);
      const auto same = std::find_if(
          from, to, [&](const auto& k) { return is_same_pattern(*k.second.in, k.second.at, part.own, i); });
      part.is_first.push_back(same == to);
      part.shared.push_back(same == to ? static_cast<index>(plan.patterns.size()) : same->second.number);
      if (same != to) continue;
      known.emplace(part.own.hashes[i], seen{&part.own, i, part.shared.back()});
      warp_packed_pattern made = part.own.patterns[i];
      made.step = plan.steps;
      made.offsets = plan.offsets;
      plan.patterns.push_back(made);
      plan.steps += made.steps;
      plan.offsets += made.steps * made.width;
    }
    part.singles = plan.singles;
    part.fulls = plan.fulls;
    for (const warp_packed_choice& how : part.choices) {
      if (how.values == packed_values::single) plan.singles += how.steps;
      if (how.values == packed_values::full) plan.fulls += how.steps;
    }
  }
}

template <class V>
void share_patterns(csr_view<V> a, const for_each_runner& for_each, warp_packed_plan<V>& plan) {
  for_each(static_cast<offset>(plan.parts.size()),
           [&](offset p) { make_patterns(a, plan.row, plan.parts[static_cast<std::size_t>(p)]); });
  number_patterns(plan);
}

/// The values of a slice, step by step; 0 where a lane has none.
template <class V, class S>
void fill_values(csr_view<V> a, warp_packed_rows rows, const warp_packed_step<V>* step, offset steps,
                 S* out) {
  for (offset k = 0; k < steps; ++k)
    for (std::size_t l = 0; l < 32; ++l)
      *out++ = step[k].mask >> l & 1U ? static_cast<S>(a.val[rows.begin[l]++]) : S{0};
}

template <class V>
void fill_part(csr_view<V> a, const warp_packed_plan<V>& plan, const warp_packed_part<V>& part,
               warp_packed<V>& out) {
  for (std::size_t i = 0; i < part.own.patterns.size(); ++i) {
    if (!part.is_first[i]) continue;
    const warp_packed_pattern &from = part.own.patterns[i],
                              &to = plan.patterns[static_cast<std::size_t>(part.shared[i])];
    std::copy_n(part.own.steps.begin() + from.step, from.steps, out.steps.begin() + to.step);
    std::copy_n(part.own.offsets.begin() + from.offsets * 32, from.steps * from.width * 32,
                out.offsets.begin() + to.offsets * 32);
  }
  offset singles = part.singles, fulls = part.fulls;
  for (offset s = 0; s < part.slices; ++s) {
    const auto own = static_cast<std::size_t>(part.pattern[static_cast<std::size_t>(s)]);
    const warp_packed_pattern& p = part.own.patterns[own];
    const warp_packed_step<V>* const step = part.own.steps.data() + p.step;
    const warp_packed_rows rows = rows_of_slice(a, plan.row, part.slice + s);
    out.pattern[part.slice + s] = part.shared[own];
    out.value[part.slice + s] = 0;
    if (p.values == packed_values::single) {
      fill_values(a, rows, step, p.steps, out.single_value.data() + singles * 32);
      out.value[part.slice + s] = std::exchange(singles, singles + p.steps);
    } else if (p.values == packed_values::full) {
      fill_values(a, rows, step, p.steps, out.full_value.data() + fulls * 32);
      out.value[part.slice + s] = std::exchange(fulls, fulls + p.steps);
    }
  }
}

}  // namespace

template <class V>
warp_packed<V> to_warp_packed(csr_view<V> a, padding_budget budget, const for_each_runner& for_each) {
  warp_packed_plan<V> plan;
  require_even_warp_packed(a.rows, a.nnz(), order_rows(a, for_each, plan.row), budget);
  require_within_budget("warp_packed", choose_all(a, for_each, plan), footprint_of(a), budget);
  share_patterns(a, for_each, plan);
  warp_packed<V> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.row = plan.row;
  out.pattern.resize(static_cast<std::size_t>(out.slices()));
  out.value.resize(out.pattern.size());
  out.patterns.assign(plan.patterns.begin(), plan.patterns.end());
  out.steps.resize(static_cast<std::size_t>(plan.steps));
  out.offsets.resize(static_cast<std::size_t>(plan.offsets) * 32);
  out.single_value.resize(static_cast<std::size_t>(plan.singles) * 32);
  out.full_value.resize(static_cast<std::size_t>(plan.fulls) * 32);
  for_each(static_cast<offset>(plan.parts.size()),
           [&](offset p) { fill_part(a, plan, plan.parts[static_cast<std::size_t>(p)], out); });
  return out;
}

void require_even_warp_packed(index rows, offset nnz, const warp_packed_lengths& lengths,
                              padding_budget budget) {
  constexpr double always_places = 1 << 16, always_long = 1 << 12;
  const auto entries = static_cast<double>(nnz), places = 32 * static_cast<double>(lengths.steps);
  const double mean = entries / std::max(rows, 1);
  if (places > always_places + budget.times_csr * (entries + rows))
    throw unsupported(
        fmt::format("lanes would take {} places for {} rows and {} entries, in slices of 32 rows as long as "
                    "their longest: "
                    "past {:g} for each; choose another format or raise the budget",
                    32 * lengths.steps, rows, nnz, budget.times_csr));
  if (static_cast<double>(lengths.longest) > always_long + budget.times_csr * mean)
    throw unsupported(
        fmt::format("lanes would leave a row of {} entries to a single lane, {:.1f} being the mean: past "
                    "{:g} times that; "
                    "choose another format or raise the budget",
                    lengths.longest, mean, budget.times_csr));
}

template <class V> csr<V> to_csr(const warp_packed<V>& a) { return csr_from_entries<V>(a); }

template <class V> footprint footprint_of(const warp_packed<V>& a) {
  footprint out;
  out.bytes = (a.row.size() + a.pattern.size()) * sizeof(index) + a.value.size() * sizeof(offset) +
              a.patterns.size() * sizeof(warp_packed_pattern) + a.steps.size() * sizeof(warp_packed_step<V>) +
              a.offsets.size() + a.single_value.size() * sizeof(float) + a.full_value.size() * sizeof(V);
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
  warp_packed_plan<V> plan;
  order_rows(a, run_in_order, plan.row);
  footprint out = choose_all(a, run_in_order, plan);
  share_patterns(a, run_in_order, plan);
  const auto bytes = [](offset count, std::size_t size) { return static_cast<std::uint64_t>(count) * size; };
  out.bytes = plan.row.size() * sizeof(index) + plan.patterns.size() * sizeof(warp_packed_pattern) +
              bytes((offset{a.rows} + 31) / 32, sizeof(index) + sizeof(offset)) +
              bytes(plan.steps, sizeof(warp_packed_step<V>)) + bytes(plan.offsets, 32) +
              bytes(plan.singles, 32 * sizeof(float)) + bytes(plan.fulls, 32 * sizeof(V));
  return out;
}

template warp_packed<float> to_warp_packed(csr_view<float>, padding_budget, const for_each_runner&);
template warp_packed<double> to_warp_packed(csr_view<double>, padding_budget, const for_each_runner&);
template csr<float> to_csr(const warp_packed<float>&);
template csr<double> to_csr(const warp_packed<double>&);
template footprint footprint_of(const warp_packed<float>&);
template footprint footprint_of(const warp_packed<double>&);
template footprint warp_packed_footprint(csr_view<float>);
template footprint warp_packed_footprint(csr_view<double>);

}  // namespace nz
