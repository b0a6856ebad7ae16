#pragma once

#include <cstdint>

#include <nonzero/formats/csr.hpp>
#include <nonzero/formats/packed.hpp>

namespace nz {

/// One step of a warp: each lane of the mask has an entry, whose column is 32 * slice + column + the lane's
/// offset. Aligned so that a GPU reads it in one load.
template <class V> struct alignas(16) warp_packed_step {
  index column;
  std::uint32_t mask;  // never 0; bit l: lane l
  V value;             // of all its entries, where the pattern's values are of kind one
};

/// The steps of a slice. Columns count from the slice's first row, so that equal slices share one pattern.
struct warp_packed_pattern {
  offset step, steps;    // its first, and how many
  offset offsets;        // where its offsets start, in units of 32 bytes; `width` units for each step
  std::uint8_t width;    // bytes of an offset: 1, 2 or 4, little endian; or 0: lane l has the offset l
  packed_values values;  // of the slices that have this pattern
};

/// `packed` for GPUs: a row per lane, slices of 32 rows, each slice stored losslessly in as few bytes as
/// possible. A step has at most one entry of each row; the entries of a row are in its own order. A slice of
/// a stencil is stored by diagonals (width 0) and has nothing of its own but the number of its pattern. Other
/// slices are stored by rank: every row's first entry, every row's second entry and so on, with offsets from
/// the lowest column of the step.
template <class V> struct warp_packed {
  static constexpr index slice_rows = 32;
  index rows = 0, cols = 0;  // >= 0
  array<index> row;          // empty: place p holds row p; or rows long, a permutation: row[p]
  array<index> pattern;      // slices() long: which of `patterns`; lane l of slice s: place 32 * s + l
  array<offset> value;       // slices() long: its first step in single_value or full_value; 0 for kind one
  array<warp_packed_pattern> patterns;  // their steps and offsets follow each other and leave nothing out
  array<warp_packed_step<V>>
      steps;                    // lanes of the mask are rows, their columns >= 0 and < cols, in all slices
  array<std::uint8_t> offsets;  // 32 for each step of width > 0: those of lanes without entry are not used
  array<float> single_value;    // 32 for each step of the slices of that kind, slice after slice; those of
  array<V> full_value;          // lanes without entry are not used

  offset slices() const { return (offset{rows} + slice_rows - 1) / slice_rows; }
};

template <class V> void validate(const warp_packed<V>& a);
/// Padding: the values of rows that have no entry in a step.
template <class V> footprint footprint_of(const warp_packed<V>& a);
template <class V> footprint warp_packed_footprint(csr_view<V> a);
template <class V> footprint warp_packed_footprint(const csr<V>& a) {
  return warp_packed_footprint(csr_view<V>(a));
}

/// Rows keep their order, except that windows of 1,024 rows of very unequal length are sorted by length.
/// Throws `unsupported` if padding would exceed the budget, or if a row is so long that its lane would work
/// alone. On one thread.
template <class V> warp_packed<V> to_warp_packed(csr_view<V> a, padding_budget budget = {});
template <class V> warp_packed<V> to_warp_packed(const csr<V>& a, padding_budget budget = {}) {
  return to_warp_packed(csr_view<V>(a), budget);
}

/// The column of a lane in step k of a pattern, counted from the first place of the slice.
template <class V>
offset warp_packed_column(const warp_packed<V>& a, const warp_packed_pattern& p, offset k, int lane) {
  const offset base = a.steps[p.step + k].column;
  if (p.width == 0) return base + lane;
  std::uint32_t from_base = 0;
  for (int byte = p.width - 1; byte >= 0; --byte)
    from_base = from_base << 8 | a.offsets[p.offsets * 32 + (k * 32 + lane) * p.width + byte];
  return base + from_base;
}

/// body(row, column, value) for every entry; those of a row in its own order.
template <class V, class Body> void for_each_trusted_entry(const warp_packed<V>& a, Body body) {
  for (offset s = 0; s < a.slices(); ++s) {
    const warp_packed_pattern& p = a.patterns[a.pattern[s]];
    const offset first = s * 32;
    for (offset k = 0; k < p.steps; ++k) {
      const warp_packed_step<V>& step = a.steps[p.step + k];
      for (int lane = 0; lane < 32; ++lane) {
        if ((step.mask >> lane & 1U) == 0) continue;
        const offset at = (a.value[s] + k) * 32 + lane;
        const V val = p.values == packed_values::one      ? step.value
                      : p.values == packed_values::single ? static_cast<V>(a.single_value[at])
                                                          : a.full_value[at];
        body(a.row.empty() ? static_cast<index>(first + lane) : a.row[first + lane],
             static_cast<index>(first + warp_packed_column(a, p, k, lane)), val);
      }
    }
  }
}

}  // namespace nz
