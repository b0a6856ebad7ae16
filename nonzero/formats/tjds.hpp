#pragma once

#include <nonzero/formats/csr.hpp>

namespace nz {

/// Transposed JDS: the rows sorted as in JDS, then stored by jagged diagonals: first the first entry of every
/// row, then every second entry, and so on. Neighbouring rows' k-th entries are neighbours in memory, as in
/// ELL, without its padding. Entry k of place p (row row[p]) is at diagonal_begin[k] + p.
template <class V> struct tjds {
  index rows = 0, cols = 0;         // >= 0
  array<index> row;                 // rows long; a permutation; equal lengths keep the order of the matrix
  array<offset> diagonal_begin{0};  // starts at 0, ends at nnz, by steps of 1 to rows that never grow
  array<index> col;                 // nnz long; 0 <= col < cols
  array<V> val;                     // nnz long

  offset nnz() const { return last_or_0(diagonal_begin); }
  /// The number of diagonals: the length of the longest row.
  offset width() const { return static_cast<offset>(diagonal_begin.size()) - 1; }
};

/// Arrays of a tjds that belong to somebody else, in the host's memory or in a device's. Borrows as csr_view.
template <class V, class Offset = offset> struct tjds_view {
  index rows = 0, cols = 0;                // as in tjds
  std::span<const index> row;              // rows long
  std::span<const Offset> diagonal_begin;  // width+1 long
  std::span<const index> col;              // nnz long
  std::span<const V> val;                  // nnz long

  constexpr offset width() const { return static_cast<offset>(diagonal_begin.size()) - 1; }
  // What kernels read: on a GPU through the read-only path.
  constexpr index row_at(std::int64_t place) const { return load_read_only(row.data() + place); }
  constexpr Offset diagonal(offset k) const { return load_read_only(diagonal_begin.data() + k); }
  constexpr index column(offset at) const { return load_read_only(col.data() + at); }
  constexpr V value(offset at) const { return load_read_only(val.data() + at); }
};

template <class V> void validate(const tjds<V>& a);
template <class V> footprint footprint_of(const tjds<V>& a);

template <class V> footprint tjds_footprint(csr_view<V> a);
template <class V> footprint tjds_footprint(const csr<V>& a) { return tjds_footprint(csr_view<V>(a)); }
template <class V> tjds<V> to_tjds(csr_view<V> a);
template <class V> tjds<V> to_tjds(const csr<V>& a) { return to_tjds(csr_view<V>(a)); }

/// body(row, column, value) for every entry; those of a row in its own order.
template <class V, class Body> void for_each_trusted_entry(const tjds<V>& a, Body body) {
  for (offset k = 0; k < a.width(); ++k)
    for (offset at = a.diagonal_begin[k]; at < a.diagonal_begin[k + 1]; ++at)
      body(a.row[at - a.diagonal_begin[k]], a.col[at], a.val[at]);
}

}  // namespace nz
