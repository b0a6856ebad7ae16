#pragma once

#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz {

/// How long the rows are; all 0 for a matrix without rows.
struct row_length_features {
  offset shortest = 0, longest = 0;
  double mean = 0, median = 0, deviation = 0;  // deviation: of the rows as the whole population
  index empty = 0;
  /// How many rows there are of each size: [0] the empty ones, [b] those of 2^(b-1) … 2^b - 1 entries. Ends
  /// with the longest row's.
  std::vector<index> histogram;
};

/// What a few passes over a matrix tell: what `nz info` shows. Low level: trusts the matrix to be valid.
struct matrix_features {
  index rows = 0, cols = 0;
  offset entries = 0;
  offset explicit_zeros = 0;  // of those, the ones of value 0
  offset nans = 0;            // and those that are not a number
  offset infinities = 0;      // and those that are infinite, of either sign
  row_length_features row_length;
  index empty_cols = 0;
  index diagonal_entries = 0;          // rows i that hold an entry (i, i)
  index lower_bandwidth = 0;           // largest i - j of an entry below the diagonal
  index upper_bandwidth = 0;           // largest j - i of an entry above it
  bool has_symmetric_pattern = false;  // (i, j) is an entry exactly where (j, i) is; square matrices only
  bool is_symmetric = false;           // and they are equal; NaN equals NaN here
  bool is_skew_symmetric = false;      // and they are each other's negative, the diagonal 0

  index bandwidth() const { return lower_bandwidth > upper_bandwidth ? lower_bandwidth : upper_bandwidth; }
};

/// Takes the memory of a second matrix (its transpose) where rows and columns are equally long, and little
/// where they are not; throws `not_enough_memory` where that is not available. A column that a row repeats
/// counts as many entries.
template <class V> matrix_features find_features(csr_view<V> a);
template <class V> matrix_features find_features(const csr<V>& a) { return find_features(csr_view<V>(a)); }

}  // namespace nz
