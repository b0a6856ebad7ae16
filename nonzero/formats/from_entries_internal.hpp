#pragma once

#include <nonzero/formats/csr.hpp>

namespace nz {

/// The matrix of a format whose entries do not come row by row: those of a row in the order in which
/// for_each_entry has them.
template <class V, class Format> csr<V> csr_from_entries(const Format& a) {
  csr<V> out{a.rows, a.cols, array<offset>(static_cast<std::size_t>(a.rows) + 1, 0), {}, {}};
  for_each_entry(a, [&](index row, index, V) { ++out.row_begin[row + 1]; });
  for (index i = 0; i < a.rows; ++i) out.row_begin[i + 1] += out.row_begin[i];
  out.col.resize(static_cast<std::size_t>(out.nnz()));
  out.val.resize(static_cast<std::size_t>(out.nnz()));
  array<offset> next(out.row_begin.begin(), out.row_begin.end() - 1);
  for_each_entry(a, [&](index row, index col, V val) {
    const offset k = next[row]++;
    out.col[k] = col;
    out.val[k] = val;
  });
  return out;
}

}  // namespace nz
