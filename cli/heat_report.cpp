#include "heat_report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <nonzero/core/values.hpp>

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
int cube_colour(double heat) {
  const rgb c = heat_colour(heat);
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
  kept_.push_back({steps, shrink(q, grid, history_columns, 1).value});
  if (kept_.size() > most_rows && steps % every_ == 0) {
    for (std::size_t i = 1; 2 * i < kept_.size(); ++i) kept_[i] = std::move(kept_[2 * i]);
    kept_.resize((kept_.size() + 1) / 2);
    every_ *= 2;
  }
  return (steps / every_ + 1) * every_;
}

small_field heat_history::field() const {
  if (kept_.empty()) return {};
  const std::size_t last = kept_.size() - 1;
  const auto end = static_cast<double>(last_step()), every = static_cast<double>(every_);
  const bool is_even = last_step() % every_ == 0;
  small_field out{
      static_cast<int>(kept_[0].value.size()), static_cast<int>(is_even ? last + 1 : most_rows), {}};
  for (int r = 0; r < out.rows; ++r) {
    auto nearest = static_cast<std::size_t>(r);
    if (!is_even) {
      const double step = end * r / (out.rows - 1);
      nearest = std::min(static_cast<std::size_t>(std::llround(step / every)), last - 1);
      if (end - step < std::abs(step - every * static_cast<double>(nearest))) nearest = last;
    }
    const std::vector<double>& row = kept_[nearest].value;
    out.value.insert(out.value.end(), row.begin(), row.end());
  }
  return out;
}

std::string draw_heat(const small_field& field, bool with_colour) {
  constexpr std::string_view shades = " .:-=+*#%@";
  const double low = field.lowest(), extent = std::max(field.highest() - low, 1e-300);
  const auto heat = [&](int x, int y) { return (field.at(x, y) - low) / extent; };
  std::string out = frame_line(field.columns, "┌", "┐");
  for (int y = field.rows - 1; y >= 0; y -= with_colour ? 2 : 1) {
    out += "│";
    for (int x = 0; x < field.columns; ++x) {
      if (with_colour && y > 0)
        out += fmt::format("\x1b[38;5;{};48;5;{}m▀", cube_colour(heat(x, y)), cube_colour(heat(x, y - 1)));
      else if (with_colour)
        out += fmt::format("\x1b[38;5;{}m▀", cube_colour(heat(x, y)));
      else
        out += shades[static_cast<std::size_t>(std::clamp(heat(x, y), 0.0, 1.0) * 9.999)];
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
