#pragma once

#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz::cli {

/// How many entries fall into each cell of a grid laid over a matrix.
struct density_grid {
  int width = 0, height = 0;           // in cells
  index cell_rows = 1, cell_cols = 1;  // of the matrix, in each cell
  std::vector<offset> count;           // row by row
  offset largest = 0;                  // of the counts

  offset at(int x, int y) const { return count[static_cast<std::size_t>(y) * width + x]; }
  bool is_one_to_one() const { return cell_rows == 1 && cell_cols == 1; }
  /// How full a cell is beside the fullest, 0 to 1, on a logarithmic scale: the fullest is often a thousand
  /// times as full as the rest.
  double shade(int x, int y) const;
};

/// A grid of at most that many cells. All cells are equally large, as a picture of unequal ones shows stripes
/// that are not there; and square, except that a very long matrix is shown as 16 to 1.
template <class V> density_grid find_density(const csr<V>& a, int max_width, int max_height);

}  // namespace nz::cli
