#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <nonzero/formats/conversion_internal.hpp>
#include <nonzero/formats/hubs.hpp>
#include <nonzero/formats/invariants_internal.hpp>

// The definition of the format: short rather than fast. gpu/convert/device_hubs.cuh makes the same bits on a
// device.
namespace nz {
namespace {

/// A virtual row of a CSR matrix: its entries are begin, begin + stride, begin + 2 stride and so on.
struct virtual_row {
  index target;  // as in hubs<V>
  offset begin, stride;
  offset hub_length, rest_length;

  offset length() const { return hub_length + rest_length; }
  offset entry(offset k) const { return begin + k * stride; }
};

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
  std::vector<bits_of<V>> known;
  for (const V value : a.val) {
    const auto bits = std::bit_cast<bits_of<V>>(value);
    const auto at = std::lower_bound(known.begin(), known.end(), bits);
    if (at != known.end() && *at == bits) continue;
    if (known.size() == hubs<V>::most_coded) return {};
    known.insert(at, bits);
  }
  array<V> out;
  if (known.size() < 2) return out;
  for (const auto bits : known) out.push_back(std::bit_cast<V>(bits));
  return out;
}

/// Splits the long rows and sorts the virtual rows. number[j] is the hub number of column j, or -1.
template <class V>
std::vector<virtual_row> make_virtual_rows(csr_view<V> a, const array<index>& number, hubs<V>& out) {
  std::vector<virtual_row> all;
  for (index i = 0; i < a.rows; ++i) {
    constexpr offset most = hubs<V>::most_virtual_row_entries;
    const offset entries = a.row_length(i), n = std::max<offset>(1, (entries + most - 1) / most);
    const offset first = out.segment_begin.back();
    for (offset p = 0; p < n; ++p) {
      const offset length = length_of_segment(entries, n, p);
      virtual_row made{n == 1 ? i : static_cast<index>(-1 - (first + p)), a.row_begin[i] + p, n, 0, 0};
      for (offset k = 0; k < length; ++k)
        ++(number[a.col[made.entry(k)]] >= 0 ? made.hub_length : made.rest_length);
      all.push_back(made);
    }
    if (n == 1) continue;
    out.split_row.push_back(i);
    out.segment_begin.push_back(first + n);
  }
  std::stable_sort(all.begin(), all.end(), [](const virtual_row& v, const virtual_row& w) {
    return std::pair(v.rest_length, v.hub_length) > std::pair(w.rest_length, w.hub_length);
  });
  for (const virtual_row& v : all) {
    out.target.push_back(v.target);
    out.hub_length.push_back(static_cast<std::uint8_t>(v.hub_length));
    out.rest_length.push_back(static_cast<std::uint8_t>(v.rest_length));
  }
  return all;
}

/// The shortest exact way to store the values of some virtual rows.
template <class V>
hubs_values choose_values(csr_view<V> a, std::span<const virtual_row> rows, const hubs<V>& out) {
  bool are_one = true, are_single = std::is_same_v<V, double>;
  const V* first = nullptr;
  for (const virtual_row& v : rows)
    for (offset k = 0; k < v.length(); ++k) {
      const V& value = a.val[v.entry(k)];
      if (first == nullptr) first = &value;
      are_one = are_one && have_same_bits(value, *first);
      are_single = are_single && is_exactly_single(value);
    }
  if (first == nullptr) return hubs_values::full;
  if (are_one) return hubs_values::one;
  if (!out.dictionary.empty()) return hubs_values::coded;
  return are_single ? hubs_values::single : hubs_values::full;
}

/// Appends `steps` steps of zeros to an array; returns how many steps it had.
template <class Array> offset append_steps(Array& array, offset steps, std::size_t step = 32) {
  const std::size_t size = array.size();
  array.resize(size + static_cast<std::size_t>(steps) * step, 0);
  return static_cast<offset>(size / step);
}

/// Appends a slice of up to 32 virtual rows: all but its columns and values.
template <class V> void append_slice(csr_view<V> a, std::span<const virtual_row> rows, hubs<V>& out) {
  offset hub_steps = 0, rest_steps = 0;
  for (const virtual_row& v : rows) {
    hub_steps = std::max(hub_steps, v.hub_length);
    rest_steps = std::max(rest_steps, v.rest_length);
  }
  hubs_slice<offset> slice{append_steps(out.hub_number, hub_steps),
                           append_steps(out.rest_col, rest_steps),
                           0,
                           static_cast<std::uint8_t>(hub_steps),
                           static_cast<std::uint8_t>(rest_steps),
                           choose_values(a, rows, out)};
  const offset steps = hub_steps + rest_steps;
  slice.value = slice.values == hubs_values::one      ? append_steps(out.constant, 1, 1)
                : slice.values == hubs_values::coded  ? append_steps(out.coded_value, steps)
                : slice.values == hubs_values::single ? append_steps(out.single_value, steps)
                                                      : append_steps(out.full_value, steps);
  out.slices.push_back(slice);
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

template <class... Args> [[noreturn]] void refuse(fmt::format_string<Args...> what, Args&&... args) {
  throw shape_error("hubs: " + fmt::format(what, std::forward<Args>(args)...));
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
    refuse("{} segments are more than the {} virtual rows", a.segment_begin.back(), a.virtual_rows());
  invariants::length_is("hubs", "target", a.target.size(),
                        a.rows - static_cast<offset>(a.split_row.size()) + a.segment_begin.back());
}

/// There are as many virtual rows as rows and segments: none is missing if none is named twice.
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
    if (taken[static_cast<std::size_t>(at)]++) refuse("target[{}] is {}, which has its virtual rows", s, to);
  }
}

/// The segments of a row take its entries in turn.
template <class V> void check_lengths(const hubs<V>& a) {
  invariants::length_is("hubs", "hub_length", a.hub_length.size(), a.virtual_rows());
  invariants::length_is("hubs", "rest_length", a.rest_length.size(), a.virtual_rows());
  std::vector<offset> segment(static_cast<std::size_t>(a.segment_begin.back()));
  for (offset s = 0; s < a.virtual_rows(); ++s) {
    const offset length = offset{a.hub_length[s]} + a.rest_length[s];
    if (length > a.most_virtual_row_entries)
      refuse("virtual row {} has {} + {} entries, more than {}", s, a.hub_length[s], a.rest_length[s],
             a.most_virtual_row_entries);
    if (a.target[s] < 0) segment[static_cast<std::size_t>(-1 - offset{a.target[s]})] = length;
  }
  for (std::size_t c = 0; c < a.split_row.size(); ++c) {
    const offset n = a.segment_begin[c + 1] - a.segment_begin[c];
    const auto begin = segment.begin() + a.segment_begin[c];
    const offset entries = std::accumulate(begin, begin + n, offset{0});
    for (offset p = 0; p < n; ++p)
      if (begin[p] != length_of_segment(entries, n, p))
        refuse("segment {} of row {} has {} entries instead of {}", p, a.split_row[c], begin[p],
               length_of_segment(entries, n, p));
  }
}

template <class V> void check_slices(const hubs<V>& a) {
  invariants::length_is("hubs", "slices", a.slices.size(), (a.virtual_rows() + 31) / 32);
  offset hub_steps = 0, rest_steps = 0;
  std::array<offset, 4> values{};  // of each kind
  for (std::size_t i = 0; i < a.slices.size(); ++i) {
    const hubs_slice<offset>& slice = a.slices[i];
    const auto begin = static_cast<offset>(i) * 32, end = std::min(begin + 32, a.virtual_rows());
    const auto hub = *std::max_element(a.hub_length.begin() + begin, a.hub_length.begin() + end);
    const auto rest = *std::max_element(a.rest_length.begin() + begin, a.rest_length.begin() + end);
    if (slice.hub_steps != hub || slice.rest_steps != rest)
      refuse("slice {} has {} and {} steps instead of {} and {}", i, slice.hub_steps, slice.rest_steps, hub,
             rest);
    if (slice.hub_step != hub_steps || slice.rest_step != rest_steps)
      refuse("slice {} starts at steps {} and {} instead of {} and {}", i, slice.hub_step, slice.rest_step,
             hub_steps, rest_steps);
    if (slice.values > hubs_values::full) refuse("slice {} has an unknown kind of values", i);
    if (slice.values == hubs_values::one && hub == 0 && rest == 0)
      refuse("slice {} has a value but no entries", i);
    offset& next = values[static_cast<std::size_t>(slice.values)];
    if (slice.value != next) refuse("slice {} has its values at {} instead of {}", i, slice.value, next);
    hub_steps += hub;
    rest_steps += rest;
    next += slice.values == hubs_values::one ? 1 : hub + rest;
  }
  invariants::length_is("hubs", "hub_number", a.hub_number.size(), hub_steps * 32);
  invariants::length_is("hubs", "rest_col", a.rest_col.size(), rest_steps * 32);
  invariants::length_is("hubs", "constant", a.constant.size(), values[0]);
  invariants::length_is("hubs", "coded_value", a.coded_value.size(), values[1] * 32);
  invariants::length_is("hubs", "single_value", a.single_value.size(), values[2] * 32);
  invariants::length_is("hubs", "full_value", a.full_value.size(), values[3] * 32);
}

template <class V> void check_numbers(const hubs<V>& a) {
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
  if (a.hub.size() > a.most_hubs) refuse("{} hubs are more than {}", a.hub.size(), a.most_hubs);
  invariants::within("hubs", "hub", a.hub, a.cols);
  std::vector<char> is_hub(static_cast<std::size_t>(a.cols));
  for (const index j : a.hub)
    if (is_hub[static_cast<std::size_t>(j)]++) refuse("hub names {} twice", j);
  check_segments(a);
  check_targets(a);
  check_lengths(a);
  check_slices(a);
  check_numbers(a);
}

template <class V> hubs<V> to_hubs(csr_view<V> a, const hubs_options& options, padding_budget budget) {
  hubs<V> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.hub = choose_hubs(a, options);
  out.dictionary = make_dictionary(a);
  array<index> number(static_cast<std::size_t>(a.cols), -1);
  for (std::size_t h = 0; h < out.hub.size(); ++h) number[out.hub[h]] = static_cast<index>(h);
  const std::vector<virtual_row> rows = make_virtual_rows(a, number, out);
  for (std::size_t begin = 0; begin < rows.size(); begin += 32)
    append_slice(a, std::span(rows).subspan(begin, std::min<std::size_t>(32, rows.size() - begin)), out);
  require_within_budget("hubs", footprint_of(out), footprint_of(a), budget);
  for (std::size_t v = 0; v < rows.size(); ++v) {
    const hubs_slice<offset>& slice = out.slices[v / 32];
    const auto lane = static_cast<offset>(v % 32);
    offset hub = 0, rest = 0;
    for (offset k = 0; k < rows[v].length(); ++k) {
      const offset entry = rows[v].entry(k);
      const index h = number[a.col[entry]];
      const offset step = h >= 0 ? hub : slice.hub_steps + rest;
      if (h >= 0)
        out.hub_number[(slice.hub_step + hub++) * 32 + lane] = static_cast<std::uint16_t>(h);
      else
        out.rest_col[(slice.rest_step + rest++) * 32 + lane] = a.col[entry];
      put_value(out, slice, (slice.value + step) * 32 + lane, a.val[entry]);
    }
  }
  return out;
}

template <class V> csr<V> to_csr(const hubs<V>& a) {
  csr<V> out{a.rows, a.cols, array<offset>(static_cast<std::size_t>(a.rows) + 1, 0), {}, {}};
  for (offset s = 0; s < a.virtual_rows(); ++s)
    out.row_begin[row_of_virtual_row(a, s) + 1] += offset{a.hub_length[s]} + a.rest_length[s];
  std::partial_sum(out.row_begin.begin(), out.row_begin.end(), out.row_begin.begin());
  out.col.resize(static_cast<std::size_t>(out.nnz()));
  out.val.resize(static_cast<std::size_t>(out.nnz()));
  for (offset s = 0; s < a.virtual_rows(); ++s) {
    const index row = row_of_virtual_row(a, s);
    const bool is_segment = a.target[s] < 0;
    const auto split = std::lower_bound(a.split_row.begin(), a.split_row.end(), row) - a.split_row.begin();
    offset to = out.row_begin[row] + (is_segment ? -1 - offset{a.target[s]} - a.segment_begin[split] : 0);
    const offset stride = is_segment ? a.segment_begin[split + 1] - a.segment_begin[split] : 1;
    std::vector<std::pair<index, V>> hub, rest;
    for_each_hub_entry(a, s, [&](index col, V val) { hub.emplace_back(col, val); });
    for_each_rest_entry(a, s, [&](index col, V val) { rest.emplace_back(col, val); });
    for (std::size_t h = 0, r = 0; h < hub.size() || r < rest.size(); to += stride) {
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
