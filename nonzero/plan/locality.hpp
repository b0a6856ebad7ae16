#pragma once

#include <nonzero/formats/csr.hpp>

namespace nz {

/// How close together the elements of x are that neighbouring entries gather; all 0 for a matrix without
/// entries. Measured on a sample: up to 64 windows of 2048 consecutive entries, evenly spaced, at most 1/64
/// of the entries, and at least one window.
struct locality {
  /// Lines of 64 bytes of x (x starting at one) that a window touches, over its entries. From near 0 (rows
  /// that share what they gather) to 1 (every entry a line of its own).
  double lines_per_entry = 0;
  /// The fraction of the windows' entries whose column is more than 16,384 from the diagonal; in a
  /// rectangular matrix that is the line from its first corner to its last.
  double far_fraction = 0;
  /// What a better order could do: from the first row of every fourth window, rows are visited breadth first
  /// until they have 2048 entries; this is the number of different columns among them, over the entries. A
  /// mesh has about rows / entries, whatever its order: neighbours have columns in common, and an order can
  /// bring them together. Near 1 they have none in common, as in a random graph, and no order helps. 1 where
  /// the matrix is not square.
  double nearby_columns_per_entry = 0;
};

/// Takes about as long as a multiply of those entries with scattered columns: a millisecond or so at most.
template <class V> locality find_locality(csr_view<V> a);
template <class V> locality find_locality(const csr<V>& a) { return find_locality(csr_view<V>(a)); }

}  // namespace nz
