#pragma once

#include <string>
#include <vector>

#include "canvas.hpp"

namespace nz::cli {

struct chart_axis {
  std::string label;
  double low = 0, high = 1;
  bool is_log = false;    // low and high are then positive
  bool is_whole = false;  // between two whole numbers there is no tick
};

/// Round numbers from low to high, few enough to be read: 1, 2 or 5 times a power of ten apart; powers of ten
/// on a logarithmic axis.
std::vector<double> ticks_of(const chart_axis& axis, int most);
/// "0.25", "1e-06": as short as tells ticks apart.
std::string tick_label(double tick);

/// Numbers over numbers, joined by a line. What is not finite, or not positive on a logarithmic axis, is a
/// gap.
struct chart_line {
  std::string name;  // for the legend; empty: not in it
  std::vector<double> x, y;
};

/// One pair of numbers, as a dot.
struct chart_dot {
  std::string name;  // as a line's
  double x = 0, y = 0;
};

struct line_chart {
  std::string title;
  chart_axis x, y;
  std::vector<chart_line> lines;
  std::vector<chart_dot> dots = {};
};

/// Numbers over a plane, as colours from colour.low to colour.high.
struct field_chart {
  std::string title;
  chart_axis x, y, colour;
  int columns = 0, rows = 0;
  std::vector<double> value;  // row by row from y.low up, columns*rows long
  bool is_square = false;     // a unit of x is as long as one of y
};

/// From cold to hot, 0 to 1: near black, violet, red, orange, pale yellow.
rgb heat_colour(double part);

/// A PNG file that is whole or not there. Throws `nz::error` where the picture cannot be made or written.
void write_chart(const std::string& path, const line_chart& chart);
void write_chart(const std::string& path, const field_chart& chart);

}  // namespace nz::cli
