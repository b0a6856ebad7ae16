#include "heat_report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <nonzero/core/values.hpp>

#include "chart.hpp"
#include "output.hpp"

namespace nz::cli {
namespace {

constexpr int history_columns = 480;
constexpr std::size_t most_rows = 800;  // of a picture

/// The averages of at(x, y) over sections of a plane.
template <class At>
small_field average(std::int64_t width, std::int64_t height, int columns, int rows, const At& at) {
  small_field out{static_cast<int>(std::min<std::int64_t>(columns, width)),
                  static_cast<int>(std::min<std::int64_t>(rows, height)),
                  {}};
  for (int r = 0; r < out.rows; ++r)
    for (int c = 0; c < out.columns; ++c) {
      const std::int64_t left = width * c / out.columns, right = width * (c + 1) / out.columns;
      const std::int64_t low = height * r / out.rows, high = height * (r + 1) / out.rows;
      double sum = 0;
      for (std::int64_t y = low; y < high; ++y)
        for (std::int64_t x = left; x < right; ++x) sum += at(x, y);
      out.value.push_back(sum / static_cast<double>((right - left) * (high - low)));
    }
  return out;
}

/// A colour of the terminal's 6 × 6 × 6 colour cube.
int cube_colour(double part) {
  const rgb c = heat_colour(part);
  const auto level = [](int value) { return (value * 5 + 127) / 255; };
  return 16 + 36 * level(c[0]) + 6 * level(c[1]) + level(c[2]);
}

}  // namespace

small_field shrink(const small_field& field, int columns, int rows) {
  return average(field.columns, field.rows, columns, rows,
                 [&](std::int64_t x, std::int64_t y) { return field.at(x, y); });
}

template <class V> small_field shrink(std::span<const V> q, const cell_grid& grid, int columns, int rows) {
  const std::int64_t side = grid.side, first = grid.dim == 3 ? side / 2 * side * side : 0;
  return average(side, grid.dim == 1 ? 1 : side, columns, rows, [&](std::int64_t x, std::int64_t y) {
    return static_cast<double>(q[static_cast<std::size_t>(first + y * side + x)]);
  });
}

template <class V>
std::int64_t heat_history::add(std::int64_t steps, std::span<const V> q, const cell_grid& grid) {
  if (steps % every_ != 0) {  // the last
    last_ = shrink(q, grid, history_columns, 1).value;
    last_at_ = steps;
    return steps + 1;
  }
  kept_.push_back(shrink(q, grid, history_columns, 1).value);
  if (kept_.size() > most_rows) {
    for (std::size_t i = 1; 2 * i < kept_.size(); ++i) kept_[i] = std::move(kept_[2 * i]);
    kept_.resize((kept_.size() + 1) / 2);
    every_ *= 2;
  }
  return (steps / every_ + 1) * every_;
}

std::int64_t heat_history::last_step() const {
  return last_.empty() ? every_ * (static_cast<std::int64_t>(kept_.size()) - 1) : last_at_;
}

small_field heat_history::field() const {
  small_field out;
  out.rows = static_cast<int>(last_.empty() ? kept_.size() : most_rows);
  out.columns = kept_.empty() ? 0 : static_cast<int>(kept_[0].size());
  for (int r = 0; r < out.rows; ++r) {
    const auto& row = last_.empty() ? kept_[static_cast<std::size_t>(r)]
                                    : nearest(static_cast<double>(last_at_) * r / (out.rows - 1));
    out.value.insert(out.value.end(), row.begin(), row.end());
  }
  return out;
}

const std::vector<double>& heat_history::nearest(double step) const {
  const auto row =
      std::min(static_cast<std::size_t>(std::llround(step / static_cast<double>(every_))), kept_.size() - 1);
  const double off = std::abs(step - static_cast<double>(every_) * static_cast<double>(row));
  return static_cast<double>(last_at_) - step < off ? last_ : kept_[row];
}

std::string draw_heat(const small_field& field, bool with_colour) {
  constexpr std::string_view shades = " .:-=+*#%@";
  const double low = field.lowest(), extent = std::max(field.highest() - low, 1e-300);
  const auto part = [&](int x, int y) { return (field.at(x, y) - low) / extent; };
  std::string out = frame_line(field.columns, "┌", "┐");
  for (int y = field.rows - 1; y >= 0; y -= with_colour ? 2 : 1) {
    out += "│";
    for (int x = 0; x < field.columns; ++x) {
      if (with_colour && y > 0)
        out += fmt::format("\x1b[38;5;{};48;5;{}m▀", cube_colour(part(x, y)), cube_colour(part(x, y - 1)));
      else if (with_colour)
        out += fmt::format("\x1b[38;5;{}m▀", cube_colour(part(x, y)));
      else
        out += shades[static_cast<std::size_t>(std::clamp(part(x, y), 0.0, 1.0) * 9.999)];
    }
    out += with_colour ? "\x1b[0m│\n" : "│\n";
  }
  return out + frame_line(field.columns, "└", "┘");
}

#define NZ_INSTANTIATE(V)                                                      \
  template small_field shrink(std::span<const V>, const cell_grid&, int, int); \
  template std::int64_t heat_history::add(std::int64_t, std::span<const V>, const cell_grid&);
NONZERO_FOR_EACH_VALUE(NZ_INSTANTIATE)

}  // namespace nz::cli
