#pragma once

#include <algorithm>
#include <span>

#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/formats/ell.hpp>

// Functions that are compiled for each instruction set and that several kernels use. Matrix values are held
// in A; x and the sums are in V.
namespace nz::cpu {

/// In csr_balanced.cpp, for formats that store the entries of a row together.
template <class A, class V> struct csr_functions {
  void (*find_sums)(const offset* row_begin, const index* col, const A* val, index rows, const V* x, V* sums);
  V (*find_sum)(const index* col, const A* val, offset entries, const V* x);

  /// Over a segment of a long row; `a` holds the arrays col and val.
  V sum(const auto& a, const chunking::segment& segment, const V* x) const {
    return find_sum(a.col.data() + segment.begin, a.val.data() + segment.begin, segment.end - segment.begin,
                    x);
  }
};

/// In ell_blocks.cpp, for ell and hyb.
template <class A, class V> struct ell_functions {
  /// Of `rows` rows from `first` on; entry k of row i is at `stride` * k + i.
  void (*find_sums)(const index* col, const A* val, offset stride, offset width, index first, index rows,
                    const V* x, V* sums);
};

/// The sum over the entries [begin, end) of a row.
template <class A, class V> V find_ell_sum(const ell<A>& a, index row, offset begin, offset end, const V* x) {
  V sum = 0;
  for (offset at = begin * a.rows + row; at < end * a.rows; at += a.rows)
    sum += static_cast<V>(a.val[at]) * x[a.col[at]];
  return sum;
}

/// In coo_runs.cpp, for coo and hyb.
template <class A, class V> struct coo_functions {
  /// sums[row[k] - first_row] += val[k] * x[col[k]] for all k.
  void (*add_sums)(const index* row, const index* col, const A* val, offset entries, index first_row,
                   const V* x, V* sums);
};

/// The first entry of each chunk, where entries are in the order of rows; chunks+1 long.
inline array<offset> entries_before_chunks(std::span<const index> row, const chunking& chunks) {
  array<offset> before;
  before.reserve(chunks.first_row.size());
  for (const index first : chunks.first_row)
    before.push_back(std::lower_bound(row.begin(), row.end(), first) - row.begin());
  return before;
}

}  // namespace nz::cpu
