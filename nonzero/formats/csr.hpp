#pragma once

#include <nonzero/core/array.hpp>
#include <nonzero/core/errors.hpp>
#include <nonzero/core/types.hpp>
#include <nonzero/formats/footprint.hpp>

namespace nz {

/// Compressed sparse rows: row i owns the entries [row_begin[i], row_begin[i+1]).
/// Entries of a row may come in any order and may repeat a column; what the readers and generators make is
/// sorted by column and repeats none.
template <class V> struct csr {
  index rows = 0, cols = 0;    // >= 0
  array<offset> row_begin{0};  // rows+1 long; starts at 0, ends at nnz, never falls
  array<index> col;            // nnz long; 0 <= col < cols
  array<V> val;                // nnz long

  offset nnz() const { return row_begin.back(); }
  offset row_length(index i) const { return row_begin[i + 1] - row_begin[i]; }
};

/// Throws `shape_error` naming the first invariant that does not hold. Data from outside passes here once.
template <class V> void validate(const csr<V>& a);

template <class V> footprint footprint_of(const csr<V>& a);

/// The number of entries in the longest row; 0 when there are no rows.
template <class V> offset longest_row(const csr<V>& a);

/// The matrix with rows and columns exchanged; each row sorted by column.
template <class V> csr<V> transpose(const csr<V>& a);

template <class V> bool operator==(const csr<V>& a, const csr<V>& b) {
  return a.rows == b.rows && a.cols == b.cols && a.row_begin == b.row_begin && a.col == b.col &&
         a.val == b.val;
}

}  // namespace nz
