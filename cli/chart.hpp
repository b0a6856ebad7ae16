#pragma once

#include <string>
#include <vector>

#include "canvas.hpp"

namespace nz::cli {

struct chart_axis {
  std::string label;
  double low = 0, high = 1;
  bool is_log = false;    // low and high must be positive
  bool is_whole = false;  // ticks at whole numbers only
};

/// About `most` round numbers from low to high, 1, 2 or 5 times a power of ten apart; powers of ten on a
/// logarithmic axis.
std::vector<double> ticks_of(const chart_axis& axis, int most);
/// "0.25", "1e-06".
std::string tick_label(double tick);

/// Points joined by a line. A value that is not finite, or not positive on a logarithmic axis, is a gap.
struct chart_line {
  std::string name;  // in the legend; empty: not shown there
  std::vector<double> x, y;
};

struct chart_dot {
  std::string name;  // as of a line
  double x = 0, y = 0;
};

struct line_chart {
  std::string title;
  chart_axis x, y;
  std::vector<chart_line> lines;
  std::vector<chart_dot> dots = {};
};

/// Values over a plane, shown as colours from colour.low to colour.high.
struct field_chart {
  std::string title;
  chart_axis x, y, colour;
  int columns = 0, rows = 0;
  std::vector<double> value;  // row by row from y.low up, columns*rows long
  bool is_square = false;     // a unit of x is as long as one of y
};

/// From cold to hot, 0 to 1: near black, violet, red, orange, pale yellow.
rgb heat_colour(double part);

/// Writes a PNG file atomically. Throws `nz::error` where it cannot be drawn or written.
void write_chart(const std::string& path, const line_chart& chart);
void write_chart(const std::string& path, const field_chart& chart);

}  // namespace nz::cli
