#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <nonzero/formats/conversion_internal.hpp>
#include <nonzero/formats/hubs.hpp>
#include <nonzero/formats/invariants_internal.hpp>

// The definition of the format: short rather than fast. gpu/convert/device_hubs.cuh makes the same bits on a
// device.
namespace nz {
namespace {

/// Which entries of the CSR matrix a virtual row has: each `parts`-th of a row's, beginning with number
/// `part`.
struct row_part {
  index row;
  offset part, parts;
};

/// Of virtual row s.
template <class V> row_part part_of(const hubs<V>& a, offset s) {
  const index row = row_of_virtual_row(a, s);
  if (a.target[s] >= 0) return {row, 0, 1};
  const auto split = std::lower_bound(a.split_row.begin(), a.split_row.end(), row) - a.split_row.begin();
  return {row, -1 - offset{a.target[s]} - a.segment_begin[split],
          a.segment_begin[split + 1] - a.segment_begin[split]};
}

/// Calls body(k) for each entry of the CSR matrix that virtual row s has.
template <class V, class Body>
void for_each_entry_of(csr_view<V> a, const hubs<V>& out, offset s, Body body) {
  const row_part from = part_of(out, s);
  for (offset k = a.row_begin[from.row] + from.part; k < a.row_begin[from.row + 1]; k += from.parts) body(k);
}

/// The columns that are used most, by how often they are used, then by column.
template <class V> array<index> choose_hubs(csr_view<V> a, const hubs_options& options) {
  array<offset> uses(static_cast<std::size_t>(a.cols), 0);
  for (const index j : a.col) ++uses[j];
  array<index> used;
  for (index j = 0; j < a.cols; ++j)
    if (uses[j] > 0) used.push_back(j);
  std::stable_sort(used.begin(), used.end(), [&](index i, index j) { return uses[i] > uses[j]; });
  used.resize(std::min<std::size_t>(
      {used.size(), hubs<V>::most_hubs, static_cast<std::size_t>(std::max<index>(0, options.most_hubs))}));
  offset covered = 0;
  for (const index j : used) covered += uses[j];
  if (covered * options.worth_one_in < a.nnz()) used.clear();
  return used;
}

/// The distinct values in the order of their bits, if there are 2 to most_coded; else none. Codes of floats
/// would save little.
template <class V> array<V> make_dictionary(csr_view<V> a) {
  if (std::is_same_v<V, float>) return {};
  std::set<bits_of<V>> known;
  for (const V value : a.val) {
    known.insert(std::bit_cast<bits_of<V>>(value));
    if (known.size() > hubs<V>::most_coded) return {};
  }
  array<V> out;
  if (known.size() < 2) return out;
  for (const auto bits : known) out.push_back(std::bit_cast<V>(bits));
  return out;
}

/// Splits the long rows and sorts the virtual rows: those with most entries outside of hub columns first,
/// then those with most in them. number[j] is the hub number of column j, or -1.
template <class V> void make_virtual_rows(csr_view<V> a, const array<index>& number, hubs<V>& out) {
  constexpr offset most = hubs<V>::most_virtual_row_entries;
  array<index> target;
  array<std::uint8_t> hub_length, rest_length;
  std::vector<offset> place(std::size_t{1} << 16);  // by lengths: how many, then where the next one goes
  const auto place_for = [&](std::size_t s) -> offset& {
    return place[(std::size_t{255} - rest_length[s]) * 256 + (std::size_t{255} - hub_length[s])];
  };
  for (index i = 0; i < a.rows; ++i) {
    const offset n = std::max<offset>(1, (a.row_length(i) + most - 1) / most),
                 first = out.segment_begin.back();
    for (offset p = 0; p < n; ++p) {
      target.push_back(n == 1 ? i : static_cast<index>(-1 - (first + p)));
      std::uint8_t in_hubs = 0, others = 0;
      for (offset k = a.row_begin[i] + p; k < a.row_begin[i + 1]; k += n)
        ++(number[a.col[k]] >= 0 ? in_hubs : others);
      hub_length.push_back(in_hubs);
      rest_length.push_back(others);
      ++place_for(target.size() - 1);
    }
    if (n == 1) continue;
    out.split_row.push_back(i);
    out.segment_begin.push_back(first + n);
  }
  std::exclusive_scan(place.begin(), place.end(), place.begin(), offset{0});
  out.target.resize(target.size());
  out.hub_length.resize(target.size());
  out.rest_length.resize(target.size());
  for (std::size_t s = 0; s < target.size(); ++s) {
    const offset to = place_for(s)++;
    out.target[to] = target[s];
    out.hub_length[to] = hub_length[s];
    out.rest_length[to] = rest_length[s];
  }
}

/// The shortest exact way to store the values of virtual rows [begin, end).
template <class V> hubs_values choose_values(csr_view<V> a, offset begin, offset end, const hubs<V>& out) {
  bool are_one = true, are_single = std::is_same_v<V, double>;
  const V* first = nullptr;
  for (offset s = begin; s < end; ++s)
    for_each_entry_of(a, out, s, [&](offset k) {
      if (first == nullptr) first = &a.val[k];
      are_one = are_one && have_same_bits(a.val[k], *first);
      are_single = are_single && is_exactly_single(a.val[k]);
    });
  if (first == nullptr) return hubs_values::full;
  if (are_one) return hubs_values::one;
  if (!out.dictionary.empty()) return hubs_values::coded;
  return are_single ? hubs_values::single : hubs_values::full;
}

/// Appends `steps` steps of zeros to an array; returns how many steps it had.
template <class Array> offset append_steps(Array& array, std::size_t steps, std::size_t step = 32) {
  const std::size_t size = array.size();
  array.resize(size + steps * step, 0);
  return static_cast<offset>(size / step);
}

template <class V> void put_value(hubs<V>& out, const hubs_slice<offset>& slice, offset at, V value) {
  const auto is_before = [](V v, V w) { return std::bit_cast<bits_of<V>>(v) < std::bit_cast<bits_of<V>>(w); };
  const array<V>& known = out.dictionary;
  if (slice.values == hubs_values::one)
    out.constant[slice.value] = value;
  else if (slice.values == hubs_values::coded)
    out.coded_value[at] = static_cast<std::uint8_t>(
        std::lower_bound(known.begin(), known.end(), value, is_before) - known.begin());
  else if (slice.values == hubs_values::single)
    out.single_value[at] = static_cast<float>(value);
  else
    out.full_value[at] = value;
}

/// Appends the slice of virtual rows [begin, end), up to 32.
template <class V>
void append_slice(csr_view<V> a, const array<index>& number, offset begin, offset end, hubs<V>& out) {
  const auto longest = [&](const array<std::uint8_t>& length) -> std::size_t {
    return *std::max_element(length.begin() + begin, length.begin() + end);
  };
  const std::size_t hub_steps = longest(out.hub_length), rest_steps = longest(out.rest_length),
                    steps = hub_steps + rest_steps;
  hubs_slice<offset> slice{append_steps(out.hub_number, hub_steps),
                           append_steps(out.rest_col, rest_steps),
                           0,
                           static_cast<std::uint8_t>(hub_steps),
                           static_cast<std::uint8_t>(rest_steps),
                           choose_values(a, begin, end, out)};
  slice.value = slice.values == hubs_values::one      ? append_steps(out.constant, 1, 1)
                : slice.values == hubs_values::coded  ? append_steps(out.coded_value, steps)
                : slice.values == hubs_values::single ? append_steps(out.single_value, steps)
                                                      : append_steps(out.full_value, steps);
  out.slices.push_back(slice);
  for (offset s = begin; s < end; ++s) {
    const auto place = [&](offset step) { return step * 32 + (s - begin); };
    offset in_hubs = 0, others = 0;
    for_each_entry_of(a, out, s, [&](offset k) {
      const index j = a.col[k];
      if (number[j] >= 0) {
        out.hub_number[place(slice.hub_step + in_hubs)] = static_cast<std::uint16_t>(number[j]);
        put_value(out, slice, place(slice.value + in_hubs++), a.val[k]);
      } else {
        out.rest_col[place(slice.rest_step + others)] = j;
        put_value(out, slice, place(slice.value + slice.hub_steps + others++), a.val[k]);
      }
    });
  }
}

constexpr invariants check{"hubs"};

template <class V> void check_segments(const hubs<V>& a) {
  const auto split_rows = static_cast<offset>(a.split_row.size());
  check.within("split_row", a.split_row, a.rows);
  check.length("segment_begin", a.segment_begin.size(), split_rows + 1);
  check.rises("split_row", a.split_row, 0, split_rows);
  check.that(a.segment_begin[0] == 0, "segment_begin does not start at 0");
  for (offset c = 0; c < split_rows; ++c)
    check.that(a.segment_begin[c + 1] > a.segment_begin[c], "row {} has no segments", a.split_row[c]);
  check.that(a.segment_begin.back() <= a.virtual_rows(), "{} segments are more than the {} virtual rows",
             a.segment_begin.back(), a.virtual_rows());
  check.length("target", a.target.size(), a.rows - split_rows + a.segment_begin.back());
}

/// There are as many virtual rows as rows and segments: none is missing if none is named twice.
template <class V> void check_targets(const hubs<V>& a) {
  std::vector<char> is_row_taken(static_cast<std::size_t>(a.rows)),
      is_segment_taken(static_cast<std::size_t>(a.segment_begin.back()));
  for (const index row : a.split_row) is_row_taken[static_cast<std::size_t>(row)] = 1;
  for (offset s = 0; s < a.virtual_rows(); ++s) {
    const index to = a.target[s];
    auto& is_taken = to < 0 ? is_segment_taken : is_row_taken;
    const auto at = static_cast<std::size_t>(to < 0 ? -1 - offset{to} : to);
    check.that(at < is_taken.size(), "target[{}] is {}, outside {} to {}", s, to, -a.segment_begin.back(),
               a.rows - 1);
    check.that(is_taken[at] == 0, "target[{}] is {}, which has its virtual rows", s, to);
    is_taken[at] = 1;
  }
}

/// The segments of a row take its entries in turn.
template <class V> void check_lengths(const hubs<V>& a) {
  check.length("hub_length", a.hub_length.size(), a.virtual_rows());
  check.length("rest_length", a.rest_length.size(), a.virtual_rows());
  std::vector<offset> segment(static_cast<std::size_t>(a.segment_begin.back()));
  for (offset s = 0; s < a.virtual_rows(); ++s) {
    const offset length = offset{a.hub_length[s]} + a.rest_length[s];
    check.that(length <= a.most_virtual_row_entries, "virtual row {} has {} + {} entries, more than {}", s,
               a.hub_length[s], a.rest_length[s], a.most_virtual_row_entries);
    if (a.target[s] < 0) segment[static_cast<std::size_t>(-1 - offset{a.target[s]})] = length;
  }
  for (std::size_t c = 0; c < a.split_row.size(); ++c) {
    const offset n = a.segment_begin[c + 1] - a.segment_begin[c];
    const auto begin = segment.begin() + a.segment_begin[c];
    const offset entries = std::accumulate(begin, begin + n, offset{0});
    for (offset p = 0; p < n; ++p)
      check.that(begin[p] == length_of_segment(entries, n, p),
                 "segment {} of row {} has {} entries instead of {}", p, a.split_row[c], begin[p],
                 length_of_segment(entries, n, p));
  }
}

template <class V> void check_slices(const hubs<V>& a) {
  check.length("slices", a.slices.size(), (a.virtual_rows() + 31) / 32);
  offset hub_steps = 0, rest_steps = 0;
  std::array<offset, 4> values{};  // of each kind
  for (std::size_t i = 0; i < a.slices.size(); ++i) {
    const hubs_slice<offset>& slice = a.slices[i];
    const auto begin = static_cast<offset>(i) * 32, end = std::min(begin + 32, a.virtual_rows());
    const auto hub = *std::max_element(a.hub_length.begin() + begin, a.hub_length.begin() + end);
    const auto rest = *std::max_element(a.rest_length.begin() + begin, a.rest_length.begin() + end);
    check.that(slice.hub_steps == hub && slice.rest_steps == rest,
               "slice {} has {} and {} steps instead of {} and {}", i, slice.hub_steps, slice.rest_steps, hub,
               rest);
    check.that(slice.hub_step == hub_steps && slice.rest_step == rest_steps,
               "slice {} starts at steps {} and {} instead of {} and {}", i, slice.hub_step, slice.rest_step,
               hub_steps, rest_steps);
    check.that(slice.values <= hubs_values::full, "slice {} has an unknown kind of values", i);
    check.that(slice.values != hubs_values::one || hub > 0 || rest > 0, "slice {} has a value but no entries",
               i);
    offset& next = values[static_cast<std::size_t>(slice.values)];
    check.that(slice.value == next, "slice {} has its values at {} instead of {}", i, slice.value, next);
    hub_steps += hub;
    rest_steps += rest;
    next += slice.values == hubs_values::one ? 1 : hub + rest;
  }
  check.length("hub_number", a.hub_number.size(), hub_steps * 32);
  check.length("rest_col", a.rest_col.size(), rest_steps * 32);
  check.length("constant", a.constant.size(), values[0]);
  check.length("coded_value", a.coded_value.size(), values[1] * 32);
  check.length("single_value", a.single_value.size(), values[2] * 32);
  check.length("full_value", a.full_value.size(), values[3] * 32);
}

template <class V> void check_numbers(const hubs<V>& a) {
  check.within("rest_col", a.rest_col, a.cols);
  for (std::size_t i = 0; i < a.hub_number.size(); ++i)
    check.that(a.hub_number[i] < a.hub.size(), "hub_number[{}] is {}, but there are {} hubs", i,
               a.hub_number[i], a.hub.size());
  check.that(a.dictionary.size() <= a.most_coded, "dictionary is {} long, more than {}", a.dictionary.size(),
             a.most_coded);
  for (std::size_t i = 0; i < a.coded_value.size(); ++i)
    check.that(a.coded_value[i] < a.dictionary.size(), "coded_value[{}] is {}, but the dictionary has {}", i,
               a.coded_value[i], a.dictionary.size());
}

}  // namespace

template <class V> void validate(const hubs<V>& a) {
  check.sizes(a.rows, a.cols);
  check.that(a.hub.size() <= a.most_hubs, "{} hubs are more than {}", a.hub.size(), a.most_hubs);
  check.within("hub", a.hub, a.cols);
  std::vector<char> is_hub(static_cast<std::size_t>(a.cols));
  for (const index j : a.hub) check.that(is_hub[static_cast<std::size_t>(j)]++ == 0, "hub names {} twice", j);
  check_segments(a);
  check_targets(a);
  check_lengths(a);
  check_slices(a);
  check_numbers(a);
}

template <class V> hubs<V> to_hubs(csr_view<V> a, const hubs_options& options, padding_budget budget) {
  a = validated(a);
  hubs<V> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.hub = choose_hubs(a, options);
  out.dictionary = make_dictionary(a);
  array<index> number(static_cast<std::size_t>(a.cols), -1);
  for (std::size_t h = 0; h < out.hub.size(); ++h) number[out.hub[h]] = static_cast<index>(h);
  make_virtual_rows(a, number, out);
  for (offset begin = 0; begin < out.virtual_rows(); begin += 32)
    append_slice(a, number, begin, std::min(begin + 32, out.virtual_rows()), out);
  require_within_budget("hubs", footprint_of(out), footprint_of(a), budget);
  return out;
}

template <class V> csr<V> to_csr(const hubs<V>& a) {
  validate(a);
  csr<V> out{a.rows, a.cols, array<offset>(static_cast<std::size_t>(a.rows) + 1, 0), {}, {}};
  for (offset s = 0; s < a.virtual_rows(); ++s)
    out.row_begin[row_of_virtual_row(a, s) + 1] += offset{a.hub_length[s]} + a.rest_length[s];
  std::partial_sum(out.row_begin.begin(), out.row_begin.end(), out.row_begin.begin());
  out.col.resize(static_cast<std::size_t>(out.nnz()));
  out.val.resize(static_cast<std::size_t>(out.nnz()));
  for (offset s = 0; s < a.virtual_rows(); ++s) {
    const row_part from = part_of(a, s);
    offset to = out.row_begin[from.row] + from.part;
    std::vector<std::pair<index, V>> hub, rest;
    for_each_hub_entry(a, s, [&](index col, V val) { hub.emplace_back(col, val); });
    for_each_rest_entry(a, s, [&](index col, V val) { rest.emplace_back(col, val); });
    for (std::size_t h = 0, r = 0; h < hub.size() || r < rest.size(); to += from.parts) {
      const bool is_hub = r == rest.size() || (h < hub.size() && hub[h].first < rest[r].first);
      std::tie(out.col[to], out.val[to]) = is_hub ? hub[h++] : rest[r++];
    }
  }
  return out;
}

template <class V> footprint footprint_of(const hubs<V>& a) {
  footprint out{bytes_of(a.hub, a.split_row, a.segment_begin, a.target, a.hub_length, a.rest_length, a.slices,
                         a.hub_number, a.rest_col, a.constant, a.dictionary, a.coded_value, a.single_value,
                         a.full_value),
                0};
  constexpr std::size_t value_bytes[] = {0, 1, sizeof(float), sizeof(V)};
  for (offset s = 0; s < a.virtual_rows(); ++s) {
    const hubs_slice<offset>& slice = a.slices[s / 32];
    const std::size_t value = value_bytes[static_cast<int>(slice.values)];
    out.padding_bytes += (slice.hub_steps - a.hub_length[s]) * (sizeof(std::uint16_t) + value) +
                         (slice.rest_steps - a.rest_length[s]) * (sizeof(index) + value);
  }
  return out;
}

template <class V> footprint hubs_footprint(csr_view<V> a) {
  a = validated(a);
  // The whole conversion: padding is small, because virtual rows are sorted by their lengths.
  return footprint_of(to_hubs(a, {}, {std::numeric_limits<double>::infinity()}));
}

#define NONZERO_INSTANTIATE(V)                                                \
  template void validate(const hubs<V>&);                                     \
  template hubs<V> to_hubs(csr_view<V>, const hubs_options&, padding_budget); \
  template csr<V> to_csr(const hubs<V>&);                                     \
  template footprint footprint_of(const hubs<V>&);                            \
  template footprint hubs_footprint(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
