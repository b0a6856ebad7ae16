#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <nonzero/formats/from_entries_internal.hpp>
#include <nonzero/formats/lanes_slice_internal.hpp>

namespace nz {
namespace {

constexpr index window_rows = 1024;  // that are sorted together
constexpr offset part_slices = 256;  // that are converted together

std::uint64_t value_bytes(packed_values kind, std::size_t full) {
  return kind == packed_values::one ? 0 : kind == packed_values::single ? sizeof(float) : full;
}

/// Sorts the rows of a window, the longest first, if more than an eighth of its places were padding.
template <class V> bool sort_if_uneven(const csr<V>& a, index* row, offset begin, offset end) {
  const auto length = [&](offset i) { return a.row_length(static_cast<index>(i)); };
  offset places = 0;
  for (offset first = begin; first < end; first += 32) {
    const offset last = std::min<offset>(first + 32, end);
    offset longest = 0;
    for (offset i = first; i < last; ++i) longest = std::max(longest, length(i));
    places += longest * (last - first);
  }
  std::iota(row + begin, row + end, static_cast<index>(begin));
  const offset entries = a.row_begin[end] - a.row_begin[begin];
  if (places <= entries + entries / 8) return false;
  std::sort(row + begin, row + end,
            [&](index i, index j) { return length(i) != length(j) ? length(i) > length(j) : i < j; });
  return true;
}

template <class V> array<index> order_rows(const csr<V>& a, const for_each_runner& for_each) {
  array<index> row(static_cast<std::size_t>(a.rows));
  const offset windows = (offset{a.rows} + window_rows - 1) / window_rows;
  std::vector<char> is_sorted(static_cast<std::size_t>(windows));
  for_each(windows, [&](offset w) {
    const offset begin = w * window_rows, end = std::min<offset>(begin + window_rows, a.rows);
    is_sorted[static_cast<std::size_t>(w)] = sort_if_uneven(a, row.data(), begin, end);
  });
  if (std::find(is_sorted.begin(), is_sorted.end(), 1) == is_sorted.end()) return {};
  return row;
}

/// Some slices, one after the other, and the patterns that are distinct among them.
template <class V> struct lanes_part {
  offset slice = 0, slices = 0;  // its first, and how many
  std::vector<lanes_choice> choices;
  std::vector<index> pattern;  // of each slice, in `own`
  lanes_dictionary<V> own;
  std::vector<index> shared;      // of each own pattern, its number in the matrix
  std::vector<char> is_first;     // of each own pattern: no part before has it
  offset singles = 0, fulls = 0;  // where its values begin, / 32
};

/// A matrix on its way: all that is known of it before its values are copied.
template <class V> struct lanes_plan {
  array<index> row;
  std::vector<lanes_part<V>> parts;
  std::vector<lanes_pattern> patterns;
  offset steps = 0, offsets = 0, singles = 0, fulls = 0;  // of the matrix; all but steps / 32
};

/// What each slice is to be, and what that would take if none shared a pattern.
template <class V>
footprint choose_all(const csr<V>& a, const for_each_runner& for_each, lanes_plan<V>& plan) {
  plan.row = order_rows(a, for_each);
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
      const lanes_choice& how = part.choices[static_cast<std::size_t>(s)];
      const std::uint64_t value = value_bytes(how.values, sizeof(V));
      const offset lanes = std::min<offset>(32, a.rows - (part.slice + s) * 32);
      all.padding_bytes += static_cast<std::uint64_t>(how.padding(lanes)) * value;
      all.bytes += static_cast<std::uint64_t>(how.steps) * (sizeof(lanes_step<V>) + 32 * (value + how.width));
    }
  return all;
}

/// Makes the patterns of a part's slices, the same ones once.
template <class V> void make_patterns(const csr<V>& a, const array<index>& row, lanes_part<V>& part) {
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
template <class V> void number_patterns(lanes_plan<V>& plan) {
  struct seen {
    const lanes_dictionary<V>* in;
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
      lanes_pattern made = part.own.patterns[i];
      made.step = plan.steps;
      made.offsets = plan.offsets;
      plan.patterns.push_back(made);
      plan.steps += made.steps;
      plan.offsets += made.steps * made.width;
    }
    part.singles = plan.singles;
    part.fulls = plan.fulls;
    for (const lanes_choice& how : part.choices) {
      if (how.values == packed_values::single) plan.singles += how.steps;
      if (how.values == packed_values::full) plan.fulls += how.steps;
    }
  }
}

template <class V>
void share_patterns(const csr<V>& a, const for_each_runner& for_each, lanes_plan<V>& plan) {
  for_each(static_cast<offset>(plan.parts.size()),
           [&](offset p) { make_patterns(a, plan.row, plan.parts[static_cast<std::size_t>(p)]); });
  number_patterns(plan);
}

/// The values of a slice, step by step; 0 where a lane has none.
template <class V, class S>
void fill_values(const csr<V>& a, lanes_rows rows, const lanes_step<V>* step, offset steps, S* out) {
  for (offset k = 0; k < steps; ++k)
    for (std::size_t l = 0; l < 32; ++l)
      *out++ = step[k].mask >> l & 1U ? static_cast<S>(a.val[rows.begin[l]++]) : S{0};
}

template <class V>
void fill_part(const csr<V>& a, const lanes_plan<V>& plan, const lanes_part<V>& part, lanes<V>& out) {
  for (std::size_t i = 0; i < part.own.patterns.size(); ++i) {
    if (!part.is_first[i]) continue;
    const lanes_pattern &from = part.own.patterns[i],
                        &to = plan.patterns[static_cast<std::size_t>(part.shared[i])];
    std::copy_n(part.own.steps.begin() + from.step, from.steps, out.steps.begin() + to.step);
    std::copy_n(part.own.offsets.begin() + from.offsets * 32, from.steps * from.width * 32,
                out.offsets.begin() + to.offsets * 32);
  }
  offset singles = part.singles, fulls = part.fulls;
  for (offset s = 0; s < part.slices; ++s) {
    const auto own = static_cast<std::size_t>(part.pattern[static_cast<std::size_t>(s)]);
    const lanes_pattern& p = part.own.patterns[own];
    const lanes_step<V>* const step = part.own.steps.data() + p.step;
    const lanes_rows rows = rows_of_slice(a, plan.row, part.slice + s);
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
lanes<V> to_lanes(const csr<V>& a, padding_budget budget, const for_each_runner& for_each) {
  lanes_plan<V> plan;
  require_within_budget("lanes", choose_all(a, for_each, plan), footprint_of(a), budget);
  share_patterns(a, for_each, plan);
  lanes<V> out;
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

template <class V> csr<V> to_csr(const lanes<V>& a) { return csr_from_entries<V>(a); }

template <class V> footprint footprint_of(const lanes<V>& a) {
  footprint out;
  out.bytes = (a.row.size() + a.pattern.size()) * sizeof(index) + a.value.size() * sizeof(offset) +
              a.patterns.size() * sizeof(lanes_pattern) + a.steps.size() * sizeof(lanes_step<V>) +
              a.offsets.size() + a.single_value.size() * sizeof(float) + a.full_value.size() * sizeof(V);
  std::vector<offset> entries(a.patterns.size());
  for (std::size_t i = 0; i < entries.size(); ++i)
    for (offset k = 0; k < a.patterns[i].steps; ++k)
      entries[i] += std::popcount(a.steps[a.patterns[i].step + k].mask);
  for (offset s = 0; s < a.slices(); ++s) {
    const lanes_pattern& p = a.patterns[a.pattern[s]];
    const offset lanes = std::min<offset>(32, a.rows - s * 32);
    const auto padding = static_cast<std::uint64_t>(p.steps * lanes - entries[a.pattern[s]]);
    out.padding_bytes += padding * value_bytes(p.values, sizeof(V));
  }
  return out;
}

template <class V> footprint lanes_footprint(const csr<V>& a) {
  lanes_plan<V> plan;
  footprint out = choose_all(a, run_in_order, plan);
  share_patterns(a, run_in_order, plan);
  const auto bytes = [](offset count, std::size_t size) { return static_cast<std::uint64_t>(count) * size; };
  out.bytes = plan.row.size() * sizeof(index) + plan.patterns.size() * sizeof(lanes_pattern) +
              bytes((offset{a.rows} + 31) / 32, sizeof(index) + sizeof(offset)) +
              bytes(plan.steps, sizeof(lanes_step<V>)) + bytes(plan.offsets, 32) +
              bytes(plan.singles, 32 * sizeof(float)) + bytes(plan.fulls, 32 * sizeof(V));
  return out;
}

template lanes<float> to_lanes(const csr<float>&, padding_budget, const for_each_runner&);
template lanes<double> to_lanes(const csr<double>&, padding_budget, const for_each_runner&);
template csr<float> to_csr(const lanes<float>&);
template csr<double> to_csr(const lanes<double>&);
template footprint footprint_of(const lanes<float>&);
template footprint footprint_of(const lanes<double>&);
template footprint lanes_footprint(const csr<float>&);
template footprint lanes_footprint(const csr<double>&);

}  // namespace nz
