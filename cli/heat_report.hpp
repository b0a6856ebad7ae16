#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nonzero/algorithms/heat.hpp>

#include "chart.hpp"

// The pictures of nz heat.
namespace nz::cli {

/// At most that many columns and rows: averages of cells.
small_field shrink(const small_field& field, int columns, int rows);
/// The same for a grid: a line is one row; of a cube, the middle layer is taken.
template <class V> small_field shrink(std::span<const V> q, const cell_grid& grid, int columns, int rows);

/// The temperatures of a line over time: a row for every `every` steps. 0: every other row is dropped
/// whenever there are too many.
class heat_history {
 public:
  explicit heat_history(std::int64_t every) : every_(every > 0 ? every : 1) {}
  /// Adds the temperatures after `steps` steps; returns the step of the next row.
  template <class V> std::int64_t add(std::int64_t steps, std::span<const V> q, const cell_grid& grid);
  /// From the first step to the last, evenly in time. Where the last step is not a multiple of `every`, each
  /// row is the kept one that is nearest in time.
  small_field field() const;
  std::int64_t last_step() const { return kept_.empty() ? 0 : kept_.back().step; }

 private:
  struct kept_row {
    std::int64_t step;
    std::vector<double> value;
  };
  std::int64_t every_;
  std::vector<kept_row> kept_;  // row i is of step i * every_; only the last may be of an earlier one
};

/// Draws with characters, in a frame. With colour, a line of text shows two rows; without, one row.
std::string draw_heat(const small_field& field, bool with_colour);

}  // namespace nz::cli
