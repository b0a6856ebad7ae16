#include "density.hpp"

#include <algorithm>
#include <cmath>

namespace nz::cli {
namespace {

constexpr int longest_shape = 16;

/// How many segments of `size` cover `length`.
index segments(index length, index size) { return length / size + (length % size != 0); }

/// The smallest size of which at most `count` segments cover `length`.
index segment_size(index length, int count) { return std::max(index{1}, segments(length, count)); }

}  // namespace

double density_grid::shade(int x, int y) const {
  return largest == 0 ? 0
                      : std::log1p(static_cast<double>(at(x, y))) / std::log1p(static_cast<double>(largest));
}

template <class V> density_grid find_density(const csr<V>& a, int max_width, int max_height) {
  density_grid out;
  out.cell_rows = out.cell_cols = std::max(segment_size(a.cols, max_width), segment_size(a.rows, max_height));
  const int least_height = segments(segments(a.cols, out.cell_cols), longest_shape);
  const int least_width = segments(segments(a.rows, out.cell_rows), longest_shape);
  if (least_height > 0) out.cell_rows = std::min(out.cell_rows, segment_size(a.rows, least_height));
  if (least_width > 0) out.cell_cols = std::min(out.cell_cols, segment_size(a.cols, least_width));
  out.width = segments(a.cols, out.cell_cols);
  out.height = segments(a.rows, out.cell_rows);
  out.count.resize(static_cast<std::size_t>(out.width) * out.height);
  for (index i = 0; i < a.rows; ++i) {
    offset* line = out.count.data() + static_cast<std::size_t>(i / out.cell_rows) * out.width;
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) ++line[a.col[k] / out.cell_cols];
  }
  if (!out.count.empty()) out.largest = *std::max_element(out.count.begin(), out.count.end());
  return out;
}

template density_grid find_density(const csr<float>&, int, int);
template density_grid find_density(const csr<double>&, int, int);

}  // namespace nz::cli
