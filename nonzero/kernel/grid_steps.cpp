#include <string>

#include <nonzero/core/values.hpp>
#include <nonzero/kernel/grid_steps.hpp>

namespace nz {

void require_grid(const cell_grid& grid) {
  constexpr std::int64_t most_cells = std::int64_t{1} << 40;
  if (grid.dim < 1 || grid.dim > 3)
    throw shape_error("a grid has 1, 2 or 3 dimensions, not " + std::to_string(grid.dim));
  if (grid.side < 1)
    throw shape_error("a grid has at least one cell a side, not " + std::to_string(grid.side));
  std::int64_t cells = 1;
  for (int d = 0; d < grid.dim; ++d) {
    if (cells > most_cells / grid.side)
      throw shape_error("a grid of " + std::to_string(grid.side) +
                        " cells a side has more than 2^40 of them");
    cells *= grid.side;
  }
}

template <class V>
grid_steps<V>::grid_steps(const cell_grid& grid, V factor, std::shared_ptr<device> on)
    : grid_(grid), factor_(factor), on_(std::move(on)) {
  require_grid(grid);
}

template <class V>
void grid_steps<V>::run(int steps, const vector<V>& from, vector<V>& to, vector<double>* norm, stream in) {
  const auto cells = static_cast<std::size_t>(grid_.cells());
  if (from.size() != cells || to.size() != cells)
    throw shape_error("a grid of " + std::to_string(cells) + " cells needs vectors of as many numbers, not " +
                      std::to_string(from.size()) + " and " + std::to_string(to.size()));
  if (from.data() == to.data()) throw shape_error("steps on a grid cannot be made in place");
  if (norm != nullptr && norm->size() == 0) throw shape_error("there is no place for the norm");
  if (from.where() != on_ || to.where() != on_ || (norm != nullptr && norm->where() != on_))
    throw device_error("the vectors of steps on a grid must be on its device");
  if (steps < 1 || steps_in_pass(steps) != steps)
    throw shape_error("a pass cannot have " + std::to_string(steps) + " steps");
  run_pass(steps, from.data(), to.data(), norm == nullptr ? nullptr : norm->data(), in);
}

#define NONZERO_INSTANTIATE(V) template class grid_steps<V>;
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
