#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nonzero/kernel/grid_steps.hpp>

namespace nz::cli {

/// Numbers over a plane, few enough to be drawn.
struct small_field {
  int columns = 0, rows = 0;
  std::vector<double> value;  // row by row from the lowest up, columns*rows long

  double lowest() const;
  double highest() const;
};

/// No more columns and rows than that: cells that fall together are averaged.
small_field shrink(const small_field& field, int columns, int rows);

/// A line as one row, a square as it is, the middle slice of a cube; each cell that is drawn is the mean of
/// those that it stands for.
template <class V> small_field shrink(std::span<const V> q, const cell_grid& grid, int columns, int rows);

/// The temperatures of a line over time. Keeps a row for every so many steps; where none is asked for, as
/// many as make a picture: when there are too many, every other one is dropped.
class heat_history {
 public:
  explicit heat_history(std::int64_t every) : every_(every > 0 ? every : 1) {}
  /// Adds a row where it is due, or the last, and returns when the next is.
  template <class V> std::int64_t add(std::int64_t steps, std::span<const V> q, const cell_grid& grid);
  /// From the first step up to the last, evenly in time. Where the last was no multiple of the steps between
  /// rows, more rows than were kept: each is the one nearest in time.
  small_field field() const;
  std::int64_t last_step() const;

 private:
  const std::vector<double>& nearest(double step) const;

  std::int64_t every_;
  std::vector<std::vector<double>> kept_;
  std::vector<double> last_;  // empty where it is kept as any other
  std::int64_t last_at_ = 0;
};

/// In characters, framed; each line ends with a newline. Two rows to a line where there is colour, else one,
/// in shades.
std::string draw_heat(const small_field& field, bool with_colour);

}  // namespace nz::cli
