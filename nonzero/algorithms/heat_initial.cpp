#include <cmath>
#include <numbers>

#include <nonzero/algorithms/heat.hpp>
#include <nonzero/core/threads.hpp>

namespace nz {
namespace {

/// Where a cell is, in one direction.
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
  // Where the outside mirrors, one that goes along x alone decays more slowly than any other.
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
  parallel_ranges(grid.cells(), 1 << 16, 0, [&](std::int64_t begin, std::int64_t end) {
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

template std::vector<float> heat_initial(const cell_grid&, heat_start);
template std::vector<double> heat_initial(const cell_grid&, heat_start);

}  // namespace nz
