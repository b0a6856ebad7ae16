#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include <nonzero/algorithms/heat.hpp>
#include <nonzero/core/counted.hpp>
#include <nonzero/core/errors.hpp>
#include <nonzero/core/memory.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/core/values.hpp>

// The heat equation on a grid: its spacing, its matrix and where it starts.
namespace nz {
namespace {

constexpr std::int64_t grain = 1 << 16;

/// body(neighbour) for each neighbour inside the grid, lowest first; `middle` between the lower and the
/// higher.
template <class Body, class Middle>
void for_each_neighbour(const cell_grid& grid, std::int64_t cell, const Body& body, const Middle& middle) {
  const std::int64_t n = grid.side, stride[3] = {1, n, n * n};
  for (int d = grid.dim - 1; d >= 0; --d)
    if (cell / stride[d] % n > 0) body(cell - stride[d]);
  middle();
  for (int d = 0; d < grid.dim; ++d)
    if (cell / stride[d] % n < n - 1) body(cell + stride[d]);
}

/// The coordinate of a cell in one direction.
double place_of(const cell_grid& grid, std::int64_t number) {
  const double first = grid.edge == grid_edge::mirror ? 0.5 : 1.0;
  return (static_cast<double>(number) + first) * heat_spacing(grid);
}

double hot_centre(const cell_grid& grid, const double (&at)[3]) {
  constexpr double radius = 0.2;
  double squares = 0;
  for (int d = 0; d < grid.dim; ++d) squares += (at[d] - 0.5) * (at[d] - 0.5);
  return squares <= radius * radius ? 1 : 0;
}

double slowest_wave(const cell_grid& grid, const double (&at)[3]) {
  // With a mirroring edge, a wave along x alone decays most slowly.
  if (grid.edge == grid_edge::mirror) return 0.5 + 0.5 * std::cos(std::numbers::pi * at[0]);
  double product = 1;
  for (int d = 0; d < grid.dim; ++d) product *= std::sin(std::numbers::pi * at[d]);
  return product;
}

}  // namespace

double heat_spacing(const cell_grid& grid) {
  const double side = grid.side;
  return grid.edge == grid_edge::mirror ? 1 / side : 1 / (side + 1);
}

double largest_time_step(const cell_grid& grid, double conductivity) {
  const double spacing = heat_spacing(grid);
  return spacing * spacing / (2 * grid.dim * conductivity);
}

template <class V> std::vector<V> heat_initial(const cell_grid& grid, heat_start start) {
  require_grid(grid);
  std::vector<V> q(static_cast<std::size_t>(grid.cells()));
  parallel_ranges(grid.cells(), grain, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t cell = begin; cell < end; ++cell) {
      double at[3] = {};
      std::int64_t rest = cell;
      for (int d = 0; d < grid.dim; ++d, rest /= grid.side) at[d] = place_of(grid, rest % grid.side);
      q[static_cast<std::size_t>(cell)] =
          static_cast<V>(start == heat_start::hot_centre ? hot_centre(grid, at)
                         : start == heat_start::step     ? (at[0] < 0.5 ? 1 : 0)
                                                         : slowest_wave(grid, at));
    }
  });
  return q;
}

template <class V> csr<V> heat_matrix(const cell_grid& grid) {
  require_grid(grid);
  const std::int64_t cells = grid.cells();
  if (cells > std::numeric_limits<index>::max())
    throw shape_error("a grid of " + std::to_string(cells) +
                      " cells has a matrix of more rows than 2^31 - 1; the method 'fused' stores none");
  const std::int64_t all_entries = cells + std::int64_t{2} * grid.dim * (cells - cells / grid.side);
  require_memory("out of memory: the matrix of a grid of " + counted(cells, "cell") + " takes",
                 static_cast<std::uint64_t>(cells + 1) * sizeof(offset) +
                     static_cast<std::uint64_t>(all_entries) * (sizeof(index) + sizeof(V)));
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

#define NONZERO_INSTANTIATE(V)                   \
  template csr<V> heat_matrix(const cell_grid&); \
  template std::vector<V> heat_initial(const cell_grid&, heat_start);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
