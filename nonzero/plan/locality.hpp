#pragma once

#include <nonzero/formats/csr.hpp>

namespace nz {

/// How close together the elements of x are that neighbouring entries gather; all 0 for a matrix without
/// entries. Found on a sample: up to 64 windows of 2048 consecutive entries, evenly spaced, and no more than
/// an 64th of the entries (one window at the least).
struct locality {
  /// Lines of 64 bytes of x (x starting at one) that a window touches, over its entries. From near 0 (rows
  /// that share what they gather) to 1 (every entry a line of its own).
  double lines_per_entry = 0;
  /// Of the windows' entries, the share whose column is more than 16,384 from the diagonal; in a rectangular
  /// matrix that is from its first corner to its last.
  double far_share = 0;
  /// What a better order could do: from the first row of every fourth window the rows that can be reached are
  /// taken breadth first until they have 2048 entries, and the different columns among those are counted,
  /// over the entries. A mesh comes near rows / entries, whatever its order: rows that are close share
  /// columns, and an order can bring them together. Near 1 they share none, as in a random graph, and none
  /// can. 1 where the matrix is not square.
  double nearby_columns_per_entry = 0;
};

/// Takes about as long as a multiply of those entries with scattered columns: a millisecond or so at the
/// most.
template <class V> locality find_locality(csr_view<V> a);
template <class V> locality find_locality(const csr<V>& a) { return find_locality(csr_view<V>(a)); }

}  // namespace nz
