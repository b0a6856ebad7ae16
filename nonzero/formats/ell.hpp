#pragma once

#include <nonzero/formats/csr.hpp>

namespace nz {

/// The column of a place without an entry. Kernels must skip it: 0 * x would turn an infinite x into NaN.
inline constexpr index padding_column = -1;

/// ELLPACK: every row has `width` places, stored column-major, so that neighbouring rows' k-th entries are
/// neighbours in memory: entry k of row i is at k*rows + i. A row's entries come first, padding after them.
template <class V> struct ell {
  index rows = 0, cols = 0;  // >= 0
  offset width = 0;          // >= 0
  array<index> col;  // rows*width long; 0 <= col < cols, or padding_column from some k to the row's end
  array<V> val;      // rows*width long; 0 at padding
};

/// Arrays of an ell that belong to somebody else, in the host's memory or in a device's. Borrows as csr_view.
template <class V> struct ell_view {
  index rows = 0, cols = 0;  // as in ell
  offset width = 0;
  std::span<const index> col;  // rows*width long
  std::span<const V> val;      // rows*width long

  /// Where entry k of a row is.
  constexpr offset place(std::int64_t row, offset k) const { return k * rows + row; }
  // What kernels read: on a GPU by ld.global.nc, except float values (core/load.hpp).
  constexpr index column(offset at) const { return load_read_only(col.data() + at); }
  constexpr V value(offset at) const { return load_read_only(val.data() + at); }
};

template <class V> void validate(const ell<V>& a);
template <class V> footprint footprint_of(const ell<V>& a);

template <class V> footprint ell_footprint(csr_view<V> a);
template <class V> footprint ell_footprint(const csr<V>& a) { return ell_footprint(csr_view<V>(a)); }
/// As wide as the longest row. Throws `unsupported` if padding would exceed the budget.
template <class V> ell<V> to_ell(csr_view<V> a, padding_budget budget = {});
template <class V> ell<V> to_ell(const csr<V>& a, padding_budget budget = {}) {
  return to_ell(csr_view<V>(a), budget);
}

/// At most the first `width` entries of each row, for HYB. Checks no budget.
template <class V> ell<V> to_ell_of_width(csr_view<V> a, offset width);
/// The footprint of that.
template <class V> footprint ell_footprint_of_width(csr_view<V> a, offset width);

/// body(row, column, value) for every entry; those of a row in its own order.
template <class V, class Body> void for_each_trusted_entry(const ell<V>& a, Body body) {
  for (offset k = 0; k < a.width; ++k)
    for (index i = 0; i < a.rows; ++i)
      if (const offset at = k * a.rows + i; a.col[at] != padding_column) body(i, a.col[at], a.val[at]);
}

}  // namespace nz
