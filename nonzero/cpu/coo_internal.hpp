#pragma once

#include <algorithm>
#include <span>

#include <nonzero/cpu/chunked_matrix.hpp>

namespace nz::cpu {

/// What coo_runs.cpp compiles for each instruction set, for hyb too.
template <class A, class V> struct coo_functions {
  /// sums[row[k] - first_row] += val[k] * x[col[k]] over all k.
  void (*add_sums)(const index* row, const index* col, const A* val, offset entries, index first_row,
                   const V* x, V* sums);
};

/// The first of the entries, which are in the order of their rows, of each chunk; chunks+1 long.
inline array<offset> entries_before_chunks(std::span<const index> row, const chunking& cut) {
  array<offset> before;
  before.reserve(cut.first_row.size());
  for (const index first : cut.first_row)
    before.push_back(std::lower_bound(row.begin(), row.end(), first) - row.begin());
  return before;
}

}  // namespace nz::cpu
