#pragma once

#include <nonzero/formats/csr.hpp>

namespace nz {

/// Jagged diagonal storage: CSR with the rows sorted by length, longest first, so that neighbouring threads
/// have about equal work. Place p has row row[p]; it owns the entries [row_begin[p], row_begin[p+1]).
template <class V> struct jds {
  index rows = 0, cols = 0;    // >= 0
  array<index> row;            // rows long; a permutation; equal lengths keep the order of the matrix
  array<offset> row_begin{0};  // rows+1 long; starts at 0, ends at nnz, never falls, by steps that never grow
  array<index> col;            // nnz long; 0 <= col < cols
  array<V> val;                // nnz long

  offset nnz() const { return last_or_0(row_begin); }
};

/// Arrays of a jds that belong to somebody else, in the host's memory or in a device's. Borrows as csr_view.
template <class V, class Offset = offset> struct jds_view {
  index rows = 0, cols = 0;           // as in jds
  std::span<const index> row;         // rows long
  std::span<const Offset> row_begin;  // rows+1 long
  std::span<const index> col;         // nnz long
  std::span<const V> val;             // nnz long

  // What kernels read: on a GPU through the read-only path.
  constexpr index row_at(std::int64_t place) const { return load_read_only(row.data() + place); }
  constexpr Offset begin(std::int64_t place) const { return load_read_only(row_begin.data() + place); }
  constexpr Offset end(std::int64_t place) const { return load_read_only(row_begin.data() + place + 1); }
  constexpr index column(Offset k) const { return load_read_only(col.data() + k); }
  constexpr V value(Offset k) const { return load_read_only(val.data() + k); }
};

template <class V> void validate(const jds<V>& a);
template <class V> footprint footprint_of(const jds<V>& a);

template <class V> footprint jds_footprint(csr_view<V> a);
template <class V> footprint jds_footprint(const csr<V>& a) { return jds_footprint(csr_view<V>(a)); }
template <class V> jds<V> to_jds(csr_view<V> a);
template <class V> jds<V> to_jds(const csr<V>& a) { return to_jds(csr_view<V>(a)); }

/// The rows of `a`, longest first; rows of equal length in the order of the matrix.
template <class V> array<index> rows_by_falling_length(csr_view<V> a);

/// body(row, column, value) for every entry; those of a row in its own order.
template <class V, class Body> void for_each_trusted_entry(const jds<V>& a, Body body) {
  for (index p = 0; p < a.rows; ++p)
    for (offset k = a.row_begin[p]; k < a.row_begin[p + 1]; ++k) body(a.row[p], a.col[k], a.val[k]);
}

}  // namespace nz
