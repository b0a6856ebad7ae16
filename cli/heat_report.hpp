#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nonzero/algorithms/heat.hpp>

// The pictures of nz heat.
namespace nz::cli {

/// Numbers over a plane, few enough to draw.
struct small_field {
  int columns = 0, rows = 0;
  std::vector<double> value;  // row by row from the lowest up, columns*rows long

  double at(std::int64_t x, std::int64_t y) const { return value[static_cast<std::size_t>(y * columns + x)]; }
  double lowest() const { return value.empty() ? 0 : *std::min_element(value.begin(), value.end()); }
  double highest() const { return value.empty() ? 0 : *std::max_element(value.begin(), value.end()); }
};

/// At most so many columns and rows: averages of cells.
small_field shrink(const small_field& field, int columns, int rows);

/// The same for a grid: a line is one row, of a cube the middle slice is taken.
template <class V> small_field shrink(std::span<const V> q, const cell_grid& grid, int columns, int rows);

/// The temperatures of a line over time: a row for every `every` steps. 0: the number of rows is limited, and
/// when there are too many, every other one is dropped.
class heat_history {
 public:
  explicit heat_history(std::int64_t every) : every_(every > 0 ? every : 1) {}
  /// Adds the temperatures after `steps` steps; returns the step of the next row.
  template <class V> std::int64_t add(std::int64_t steps, std::span<const V> q, const cell_grid& grid);
  /// From the first step to the last, evenly in time. Where the last step is not a multiple of `every`, there
  /// are more rows than were kept, each the one nearest in time.
  small_field field() const;
  std::int64_t last_step() const;

 private:
  const std::vector<double>& nearest(double step) const;

  std::int64_t every_;
  std::vector<std::vector<double>> kept_;
  std::vector<double> last_;  // empty where the last row is in kept_
  std::int64_t last_at_ = 0;
};

/// Draws with characters, in a frame; each line ends with a newline. With colour two rows share a line;
/// without, each row is a line of letters.
std::string draw_heat(const small_field& field, bool with_colour);

}  // namespace nz::cli
