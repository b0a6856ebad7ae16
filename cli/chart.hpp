#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Pictures and charts as PNG files, written atomically. Throws `nz::error` where that fails.
namespace nz::cli {

using rgb = std::array<std::uint8_t, 3>;

struct image {
  int width = 0, height = 0;
  std::vector<rgb> pixels;  // row by row, width*height long

  image(int w, int h, rgb colour)
      : width(w), height(h), pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), colour) {}
  /// Fills a rectangle that is inside the image.
  void fill(int x, int y, int w, int h, rgb colour);
};

/// Interpolates between the colours of a ramp (at least two): 0 and NaN give the first, 1 the last.
rgb colour_on(std::span<const rgb> ramp, double place);
/// From cold to hot, 0 to 1: near black, violet, red, orange, pale yellow.
rgb heat_colour(double heat);

void write_png(const std::string& path, const image& picture);

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
  bool is_dots = false;  // a dot at each point instead
};

struct line_chart {
  std::string title;
  chart_axis x, y;
  std::vector<chart_line> lines;
};

/// Numbers over a plane, few enough to draw.
struct small_field {
  int columns = 0, rows = 0;
  std::vector<double> value;  // row by row from the lowest up, columns*rows long

  double at(std::int64_t x, std::int64_t y) const { return value[static_cast<std::size_t>(y * columns + x)]; }
  double lowest() const { return value.empty() ? 0 : *std::min_element(value.begin(), value.end()); }
  double highest() const { return value.empty() ? 0 : *std::max_element(value.begin(), value.end()); }
};

/// A field shown as colours from colour.low to colour.high.
struct field_chart {
  std::string title;
  chart_axis x, y, colour;
  small_field field;
  bool is_square = false;  // a unit of x is as long as one of y
};

void write_chart(const std::string& path, const line_chart& chart);
void write_chart(const std::string& path, const field_chart& chart);

struct chart_point {
  double x, y;
};
/// Drops points that do not change the picture: of each column of that width, the first, lowest, highest and
/// last point stay, and all that are not finite.
std::vector<chart_point> thin_out(std::span<const chart_point> points, double column);

}  // namespace nz::cli
