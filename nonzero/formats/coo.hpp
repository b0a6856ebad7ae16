#pragma once

#include <nonzero/formats/csr.hpp>

namespace nz {

/// Coordinates: entry k is (row[k], col[k]) = val[k]. In row order; within a row in any order.
template <class V> struct coo {
  index rows = 0, cols = 0;  // >= 0
  array<index> row;          // nnz long; 0 <= row < rows; never falls
  array<index> col;          // nnz long; 0 <= col < cols
  array<V> val;              // nnz long

  offset nnz() const { return static_cast<offset>(val.size()); }
};

/// Arrays of a coo that belong to somebody else, in the host's memory or in a device's. Borrows as csr_view.
template <class V> struct coo_view {
  index rows = 0, cols = 0;         // as in coo
  std::span<const index> row, col;  // nnz long
  std::span<const V> val;           // nnz long

  constexpr offset nnz() const { return static_cast<offset>(val.size()); }
  // What kernels read: on a GPU through the read-only path.
  constexpr index row_of(offset k) const { return load_read_only(row.data() + k); }
  constexpr index column(offset k) const { return load_read_only(col.data() + k); }
  constexpr V value(offset k) const { return load_read_only(val.data() + k); }
};

template <class V> void validate(const coo<V>& a);
template <class V> footprint footprint_of(const coo<V>& a);

template <class V> footprint coo_footprint(csr_view<V> a);
template <class V> footprint coo_footprint(const csr<V>& a) { return coo_footprint(csr_view<V>(a)); }
template <class V> coo<V> to_coo(csr_view<V> a);
template <class V> coo<V> to_coo(const csr<V>& a) { return to_coo(csr_view<V>(a)); }

/// body(row, column, value) for every entry.
template <class V, class Body> void for_each_trusted_entry(const coo<V>& a, Body body) {
  for (offset k = 0; k < a.nnz(); ++k) body(a.row[k], a.col[k], a.val[k]);
}

}  // namespace nz
