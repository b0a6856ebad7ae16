#include "residual_plot.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "chart.hpp"

namespace nz::cli {
namespace {

bool can_be_drawn(double residual) { return residual > 0 && std::isfinite(residual); }

/// Closer ones would lie on each other.
bool differ(double a, double b) { return std::abs(a - b) > 0.01 * std::max(a, b); }

/// So that everything is inside.
chart_axis residual_axis(const line_chart& chart) {
  double low = 1, high = 1;
  const auto include = [&](double residual) {
    if (!can_be_drawn(residual)) return;
    low = std::min(low, residual);
    high = std::max(high, residual);
  };
  for (const chart_line& line : chart.lines) std::for_each(line.y.begin(), line.y.end(), include);
  for (const chart_dot& dot : chart.dots) include(dot.y);
  return {.label = "|r| / |b|", .low = low / 2, .high = high * 2, .is_log = true};
}

}  // namespace

template <class V>
void write_residual_plot(const std::string& path, const std::string& title, double tolerance,
                         const cg_result<V>& found) {
  std::vector<double> iteration(found.history.size());
  std::iota(iteration.begin(), iteration.end(), 0.0);
  const double last = std::max(1.0, iteration.back());
  line_chart chart{.title = title,
                   .x = {.label = "iteration", .low = 0, .high = last, .is_whole = true},
                   .y = {},
                   .lines = {{.name = "residual", .x = iteration, .y = found.history}},
                   .dots = {}};
  if (tolerance > 0)
    chart.lines.push_back({.name = "tolerance", .x = {0, last}, .y = {tolerance, tolerance}});
  const bool is_another = found.restarts > 0 || differ(found.residual, found.history.back());
  if (is_another && can_be_drawn(found.residual))
    chart.dots.push_back({.name = "|b - A x| / |b|", .x = iteration.back(), .y = found.residual});
  chart.y = residual_axis(chart);
  write_chart(path, chart);
}

template void write_residual_plot(const std::string&, const std::string&, double, const cg_result<float>&);
template void write_residual_plot(const std::string&, const std::string&, double, const cg_result<double>&);

}  // namespace nz::cli
