#include <limits>
#include <string>

#include <nonzero/algorithms/heat.hpp>
#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>

namespace nz {
namespace {

constexpr std::int64_t grain = 1 << 16;

/// body(neighbour) for those that there are, lowest first; `middle` between the lower and the higher.
template <class Body, class Middle>
void for_each_neighbour(const cell_grid& grid, std::int64_t cell, const Body& body, const Middle& middle) {
  const std::int64_t n = grid.side, stride[3] = {1, n, n * n};
  for (int d = grid.dim - 1; d >= 0; --d)
    if (cell / stride[d] % n > 0) body(cell - stride[d]);
  middle();
  for (int d = 0; d < grid.dim; ++d)
    if (cell / stride[d] % n < n - 1) body(cell + stride[d]);
}

}  // namespace

template <class V> csr<V> heat_matrix(const cell_grid& grid) {
  require_grid(grid);
  const std::int64_t cells = grid.cells();
  if (cells > std::numeric_limits<index>::max())
    throw shape_error("a grid of " + std::to_string(cells) +
                      " cells has a matrix of more rows than 2^31 - 1; the method 'fused' stores none");
  csr<V> a;
  a.rows = a.cols = static_cast<index>(cells);
  a.row_begin.resize(static_cast<std::size_t>(cells) + 1);
  a.row_begin[0] = 0;
  parallel_ranges(cells, grain, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t cell = begin; cell < end; ++cell) {
      offset entries = 1;
      for_each_neighbour(
          grid, cell, [&](std::int64_t) { ++entries; }, [] {});
      a.row_begin[cell + 1] = entries;
    }
  });
  for (std::int64_t cell = 0; cell < cells; ++cell) a.row_begin[cell + 1] += a.row_begin[cell];
  a.col.resize(static_cast<std::size_t>(a.row_begin[cells]));
  a.val.resize(a.col.size());
  parallel_ranges(cells, grain, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t cell = begin; cell < end; ++cell) {
      offset at = a.row_begin[cell];
      const auto neighbours = static_cast<V>(a.row_begin[cell + 1] - at - 1);
      const auto add = [&](std::int64_t col, V value) {
        a.col[at] = static_cast<index>(col);
        a.val[at++] = value;
      };
      const V diagonal = grid.edge == grid_edge::mirror ? -neighbours : static_cast<V>(-2 * grid.dim);
      for_each_neighbour(
          grid, cell, [&](std::int64_t other) { add(other, 1); }, [&] { add(cell, diagonal); });
    }
  });
  return a;
}

template csr<float> heat_matrix(const cell_grid&);
template csr<double> heat_matrix(const cell_grid&);

}  // namespace nz
