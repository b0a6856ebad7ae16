#include "chart.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace nz::cli {
namespace {

constexpr double width = 960, height = 600, dot_radius = 4.5;
constexpr rgb paper = {255, 255, 255}, ink = {40, 44, 52}, grid_grey = {226, 229, 235},
              frame_grey = {150, 156, 166};
constexpr rgb heat_ramp[] = {{10, 8, 30},    {62, 18, 100},  {142, 32, 104}, {208, 60, 72},
                             {243, 118, 40}, {252, 190, 70}, {255, 248, 205}};
constexpr rgb line_colours[] = {{38, 98, 186}, {214, 88, 30}, {32, 140, 96}, {150, 70, 170}};

/// The position of a value on the axis: 0 at low, 1 at high.
double place_of(const chart_axis& axis, double value) {
  if (axis.is_log) return std::log(value / axis.low) / std::log(axis.high / axis.low);
  return (value - axis.low) / (axis.high - axis.low);
}

/// Widens an axis whose ends are equal, which would cause a division by 0.
chart_axis with_extent(chart_axis axis) {
  constexpr double least = 1e-12;  // relative; a smaller extent is rounding
  if (!std::isfinite(axis.low) || !std::isfinite(axis.high - axis.low)) axis.low = 0, axis.high = 1;
  const double size = std::max(std::abs(axis.low), std::abs(axis.high));
  if (axis.high - axis.low > least * size) return axis;
  axis.high = axis.is_log ? 10 * axis.low : axis.low + std::max(1.0, size);
  return axis;
}

void draw_ticks_below(canvas& on, const box& inside, const chart_axis& axis, bool with_grid) {
  for (const double tick : ticks_of(axis, 8)) {
    const double x = inside.left + place_of(axis, tick) * inside.width;
    if (with_grid) on.line(x, inside.top, x, inside.top + inside.height, grid_grey);
    on.line(x, inside.top + inside.height, x, inside.top + inside.height + 5, frame_grey);
    on.text(tick_label(tick), x, inside.top + inside.height + 20, 13, ink, canvas::align::centre);
  }
  on.text(axis.label, inside.left + inside.width / 2, inside.top + inside.height + 44, 15, ink,
          canvas::align::centre);
}

/// To the left of the box, or to its right.
void draw_ticks_beside(canvas& on, const box& inside, const chart_axis& axis, bool with_grid, bool on_right) {
  const double edge = on_right ? inside.left + inside.width : inside.left;
  const double outwards = on_right ? 1 : -1;
  double widest = 0;
  for (const double tick : ticks_of(axis, 7)) {
    const double y = inside.top + (1 - place_of(axis, tick)) * inside.height;
    if (with_grid) on.line(inside.left, y, inside.left + inside.width, y, grid_grey);
    on.line(edge, y, edge + 5 * outwards, y, frame_grey);
    const auto align = on_right ? canvas::align::left : canvas::align::right;
    widest = std::max(widest, on.text(tick_label(tick), edge + 9 * outwards, y + 4.5, 13, ink, align));
  }
  on.upward_text(axis.label, edge + (widest + (on_right ? 30 : 20)) * outwards,
                 inside.top + inside.height / 2, 15, ink);
}

rgb colour_of(std::size_t number) { return line_colours[number % std::size(line_colours)]; }

canvas::point place_of(const line_chart& chart, const box& inside, double x, double y) {
  return {inside.left + place_of(chart.x, x) * inside.width,
          inside.top + (1 - place_of(chart.y, y)) * inside.height};
}

void draw_lines(canvas& on, const box& inside, const line_chart& chart) {
  constexpr double pixel = 0.5;
  for (std::size_t l = 0; l < chart.lines.size(); ++l) {
    const chart_line& line = chart.lines[l];
    std::vector<canvas::point> points;
    for (std::size_t i = 0; i < std::min(line.x.size(), line.y.size()); ++i)
      points.push_back(place_of(chart, inside, line.x[i], line.y[i]));
    on.path(thin_out(points, pixel), inside, colour_of(l));
  }
  for (std::size_t d = 0; d < chart.dots.size(); ++d)
    on.dot(place_of(chart, inside, chart.dots[d].x, chart.dots[d].y), dot_radius,
           colour_of(chart.lines.size() + d));
}

void draw_legend(canvas& on, const box& inside, const line_chart& chart) {
  constexpr double size = 13, line_height = 20, sample = 26, gap = 8;
  std::vector<std::string> names;  // of the lines, then of the dots
  for (const chart_line& line : chart.lines) names.push_back(line.name);
  for (const chart_dot& dot : chart.dots) names.push_back(dot.name);
  double widest = 0, lines = 0;
  for (const std::string& name : names)
    if (!name.empty()) widest = std::max(widest, on.text_width(name, size)), ++lines;
  if (lines == 0) return;
  const double right = inside.left + inside.width - 14, wide = widest + gap + sample;
  const box around{right - wide - gap, inside.top + 8, wide + 2 * gap, line_height * lines + 8};
  on.fill(around, paper);
  on.outline(around, grid_grey);
  double y = inside.top + 22;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    const double end = right - on.text(names[i], right, y + 4.5, size, ink, canvas::align::right) - gap;
    if (i < chart.lines.size())
      on.line(end - sample, y, end, y, colour_of(i), 2.2);
    else
      on.dot({end - sample / 2, y}, dot_radius, colour_of(i));
    y += line_height;
  }
}

/// The values as pixels, the top row first.
image coloured(const field_chart& chart, const chart_axis& colour) {
  image out(std::max(chart.columns, 1), std::max(chart.rows, 1), heat_ramp[0]);
  for (int r = 0; r < chart.rows; ++r)
    for (int c = 0; c < chart.columns; ++c) {
      const auto from =
          static_cast<std::size_t>(r) * static_cast<std::size_t>(chart.columns) + static_cast<std::size_t>(c);
      out.fill(c, chart.rows - 1 - r, 1, 1, heat_colour(place_of(colour, chart.value[from])));
    }
  return out;
}

void draw_colour_bar(canvas& on, const box& bar, const chart_axis& colour) {
  constexpr int shades = 256;
  image column(1, shades, heat_ramp[0]);
  for (int i = 0; i < shades; ++i) column.fill(0, i, 1, 1, heat_colour(1 - (i + 0.5) / shades));
  on.picture(column, bar);
  on.outline(bar, frame_grey);
  draw_ticks_beside(on, bar, colour, false, true);
}

}  // namespace

std::vector<double> ticks_of(const chart_axis& axis, int most) {
  std::vector<double> out;
  if (axis.is_log) {
    const double from = std::ceil(std::log10(axis.low) - 1e-9), to = std::floor(std::log10(axis.high) + 1e-9);
    const double step = std::max(1.0, std::ceil((to - from + 1) / most));
    for (double power = from; power <= to; power += step) out.push_back(std::pow(10.0, power));
    return out;
  }
  const double raw = (axis.high - axis.low) / most;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  if (axis.is_whole) step = std::max(step, 1.0);
  // Multiples of the step: sums of it would accumulate rounding errors.
  const double first = std::ceil(axis.low / step - 1e-9), last = std::floor(axis.high / step + 1e-9);
  for (int i = 0; i <= 2 * most && first + i <= last; ++i) out.push_back((first + i) * step + 0.0);
  return out;
}

std::string tick_label(double tick) { return fmt::format("{:.6g}", tick == 0 ? 0.0 : tick); }

rgb heat_colour(double part) { return colour_on(heat_ramp, part); }

void write_chart(const std::string& path, const line_chart& given) {
  line_chart chart = given;
  chart.x = with_extent(chart.x);
  chart.y = with_extent(chart.y);
  canvas on(width, height);
  const box inside{104, 56, width - 104 - 40, height - 56 - 72};
  on.text(chart.title, inside.left, 34, 17, ink, canvas::align::left);
  draw_ticks_below(on, inside, chart.x, true);
  draw_ticks_beside(on, inside, chart.y, true, false);
  draw_lines(on, inside, chart);
  on.outline(inside, frame_grey);
  draw_legend(on, inside, chart);
  on.write(path);
}

void write_chart(const std::string& path, const field_chart& chart) {
  const chart_axis x = with_extent(chart.x), y = with_extent(chart.y), colour = with_extent(chart.colour);
  constexpr double left = 104, right = 150, top = 56, below = 72;
  const double tall = height - top - below;
  const double wide = chart.is_square ? tall * (x.high - x.low) / (y.high - y.low) : width - left - right;
  canvas on(left + wide + right, height);
  const box inside{left, top, wide, tall};
  on.text(chart.title, inside.left, 34, 17, ink, canvas::align::left);
  on.picture(coloured(chart, colour), inside);
  on.outline(inside, frame_grey);
  draw_ticks_below(on, inside, x, false);
  draw_ticks_beside(on, inside, y, false, false);
  draw_colour_bar(on, {left + wide + 30, top, 18, tall}, colour);
  on.write(path);
}

}  // namespace nz::cli
