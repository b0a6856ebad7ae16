#pragma once

#include <algorithm>
#include <cstdint>

#include <nonzero/formats/csr.hpp>
#include <nonzero/formats/packed.hpp>

namespace nz {

/// How the values of a slice are stored, always exactly: one value for all entries, codes of the matrix's
/// dictionary, single precision, or full precision.
enum class hubs_values : std::uint8_t { one, coded, single, full };

/// 32 virtual rows: first the steps for entries in hub columns, then those for the rest. A step has a place
/// for each virtual row. Aligned so that a GPU reads it in one load.
template <class Offset> struct alignas(16) hubs_slice {
  Offset hub_step, rest_step;  // its first among the matrix's hub steps, and among its rest steps
  Offset value;                // its first step in the array of its kind of values; one: index of `constant`
  std::uint8_t hub_steps, rest_steps;  // the longest virtual row's number of entries of either kind
  hubs_values values;                  // `one` only if there is an entry
};

/// For power laws and giant rows. The columns that are used most are the hubs. An entry in a hub column
/// stores a 16-bit hub number, and a GPU can keep x of all hubs in shared memory. A virtual row is a short
/// row or one segment of a long row. Segments take the entries of their row in turn, so that neighbouring
/// lanes read neighbouring columns. A virtual row has its entries in hub columns first, then the rest, both
/// in the row's own order. Virtual rows are sorted by the number of rest entries, then by that of hub
/// entries, both descending, so that slices of 32 have little padding.
template <class V> struct hubs {
  static constexpr index slice_virtual_rows = 32;
  static constexpr index most_virtual_row_entries = 128;  // so that 8 bits hold a length
  static constexpr std::size_t most_hubs = 65536, most_coded = 256;

  index rows = 0, cols = 0;        // >= 0
  array<index> hub;                // distinct columns, at most most_hubs; hub number h: column hub[h]
  array<index> split_row;          // the rows that are split into segments, ascending
  array<offset> segment_begin{0};  // one longer; split row c has the segments [segment_begin[c],
                                   // segment_begin[c+1]), at least one; starts at 0
  array<index> target;  // of each virtual row: a row, or -1 - a segment; each row that is not split
                        // and each segment once
  array<std::uint8_t> hub_length;    // as long as target: entries of each kind; together at
  array<std::uint8_t> rest_length;   // most most_virtual_row_entries, and length_of_segment in a segment
  array<hubs_slice<offset>> slices;  // lane l of slice s: virtual row 32 * s + l
  array<std::uint16_t> hub_number;   // 32 for each hub step, slice after slice; < hub.size()
  array<index> rest_col;             // 32 for each rest step; 0 <= rest_col < cols
  array<V> constant;                 // one for each slice of kind one
  array<V> dictionary;               // at most most_coded
  array<std::uint8_t> coded_value;   // 32 for each step of the slices of that kind; < dictionary.size()
  array<float> single_value;         // likewise: hub steps, then rest steps, slice after slice
  array<V> full_value;               // places past the end of their virtual row are not used

  offset virtual_rows() const { return static_cast<offset>(target.size()); }
};

struct hubs_options {
  /// The most hubs.
  index most_hubs = 24320;
  /// Without hubs if their columns have fewer than one in so many entries.
  offset worth_one_in = 8;
};

template <class V> void validate(const hubs<V>& a);
/// Padding: places past the end of their virtual row.
template <class V> footprint footprint_of(const hubs<V>& a);
template <class V> footprint hubs_footprint(csr_view<V> a);
template <class V> footprint hubs_footprint(const csr<V>& a) { return hubs_footprint(csr_view<V>(a)); }

/// Hubs are numbered by how often they are used, then by column. Rows of more than 128 entries are split into
/// the fewest segments. Throws `unsupported` if padding would exceed the budget. On one thread.
template <class V>
hubs<V> to_hubs(csr_view<V> a, const hubs_options& options = {}, padding_budget budget = {});
template <class V>
hubs<V> to_hubs(const csr<V>& a, const hubs_options& options = {}, padding_budget budget = {}) {
  return to_hubs(csr_view<V>(a), options, budget);
}
/// Rows that are sorted by column come back as they were. In other rows, each segment merges its entries in
/// hub columns with the rest: of the next two, the one with the lower column comes first.
template <class V> csr<V> to_csr(const hubs<V>& a);

/// The number of entries of segment p of n: entries p, p + n, p + 2n and so on of the row.
constexpr offset length_of_segment(offset entries, offset n, offset p) { return (entries - p + n - 1) / n; }

/// The value of a lane in a step of a slice, hub steps first.
template <class V> V hubs_value(const hubs<V>& a, const hubs_slice<offset>& slice, offset step, offset lane) {
  const offset at = (slice.value + step) * 32 + lane;
  switch (slice.values) {
    case hubs_values::one:
      return a.constant[slice.value];
    case hubs_values::coded:
      return a.dictionary[a.coded_value[at]];
    case hubs_values::single:
      return static_cast<V>(a.single_value[at]);
    default:
      return a.full_value[at];
  }
}

/// body(column, value) for the entries of a virtual row in hub columns, or for the rest.
template <class V, class Body> void for_each_hub_entry(const hubs<V>& a, offset virtual_row, Body body) {
  const hubs_slice<offset>& slice = a.slices[virtual_row / 32];
  for (offset k = 0; k < a.hub_length[virtual_row]; ++k)
    body(a.hub[a.hub_number[(slice.hub_step + k) * 32 + virtual_row % 32]],
         hubs_value(a, slice, k, virtual_row % 32));
}
template <class V, class Body> void for_each_rest_entry(const hubs<V>& a, offset virtual_row, Body body) {
  const hubs_slice<offset>& slice = a.slices[virtual_row / 32];
  for (offset k = 0; k < a.rest_length[virtual_row]; ++k)
    body(a.rest_col[(slice.rest_step + k) * 32 + virtual_row % 32],
         hubs_value(a, slice, slice.hub_steps + k, virtual_row % 32));
}

template <class V> index row_of_virtual_row(const hubs<V>& a, offset virtual_row) {
  const index target = a.target[virtual_row];
  if (target >= 0) return target;
  const auto after = std::upper_bound(a.segment_begin.begin(), a.segment_begin.end(), -1 - offset{target});
  return a.split_row[after - a.segment_begin.begin() - 1];
}

/// body(row, column, value) for every entry, virtual row by virtual row.
template <class V, class Body> void for_each_trusted_entry(const hubs<V>& a, Body body) {
  for (offset s = 0; s < a.virtual_rows(); ++s) {
    const index row = row_of_virtual_row(a, s);
    const auto with_row = [&](index col, V val) { body(row, col, val); };
    for_each_hub_entry(a, s, with_row);
    for_each_rest_entry(a, s, with_row);
  }
}

}  // namespace nz
