#pragma once

#include <nonzero/formats/ell.hpp>

namespace nz::cpu {

/// What ell_blocks.cpp compiles for each instruction set, for hyb too.
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

}  // namespace nz::cpu
