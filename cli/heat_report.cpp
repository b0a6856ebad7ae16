#include "heat_report.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "chart.hpp"
#include "terminal.hpp"

namespace nz::cli {
namespace {

constexpr int picture_pixels = 800;

template <class V> double mean_of(const std::vector<V>& q) {
  double sum = 0;
  for (const V value : q) sum += static_cast<double>(value);
  return sum / static_cast<double>(q.size());
}

/// With as many digits as show on which side of epsilon it is.
std::string norm_text(double norm, double epsilon) {
  for (int digits = 3; digits < 17; ++digits) {
    std::string text = fmt::format("{:.{}g}", norm, digits);
    if (epsilon == 0 || (std::stod(text) < epsilon) == (norm < epsilon)) return text;
  }
  return fmt::format("{:.17g}", norm);
}

/// "0.12 µs".
std::string duration_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} µs", 1e6 * seconds);
  return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

/// Where no step was made there is no time to draw it over.
void write_profile(const heat_command& command, const cell_grid& grid, const small_field& row) {
  const double low = row.lowest(), high = row.highest(), rim = 0.05 * (high > low ? high - low : 1.0);
  std::vector<double> x(row.value.size());
  for (std::size_t c = 0; c < x.size(); ++c)
    x[c] = (static_cast<double>(c) + 0.5) / static_cast<double>(x.size());
  write_chart(command.plot, line_chart{.title = fmt::format("Heat on a line: {}, {}, t = 0",
                                                            counted(grid.side, "cell"), command.boundary),
                                       .x = {.label = "x"},
                                       .y = {.label = "temperature", .low = low - rim, .high = high + rim},
                                       .lines = {{.name = "", .x = std::move(x), .y = row.value}}});
}

}  // namespace

template <class V>
nlohmann::ordered_json as_json(const heat_command& command, const cell_grid& grid,
                               const heat_result<V>& found) {
  const auto [low, high] = std::minmax_element(found.q.begin(), found.q.end());
  return {{"dim", grid.dim},
          {"cells", grid.side},
          {"total_cells", grid.cells()},
          {"boundary", command.boundary},
          {"initial", command.initial},
          {"precision", command.precision},
          {"conductivity", command.solve.conductivity},
          {"spacing", found.spacing},
          {"time_step", found.time_step},
          {"epsilon", command.solve.epsilon},
          {"steps", found.steps},
          {"time", found.time_step * static_cast<double>(found.steps)},
          {"norm", found.norm},
          {"converged", found.is_converged},
          {"method", command.method},
          {"device", command.device},
          {"kernel", found.kernel},
          {"steps_per_pass", found.steps_per_pass},
          {"seconds_per_step", found.step_seconds},
          {"lowest", *low},
          {"highest", *high},
          {"mean", mean_of(found.q)}};
}

template <class V>
void print_summary(const heat_command& command, const cell_grid& grid, const heat_result<V>& found,
                   const heat_history& history) {
  const std::string side = grouped(grid.side);
  const char* const powers[] = {"", "²", "³"};
  print(fmt::format("{}  {}{} cells, {}, {}; {}\n", bold("heat"), side, powers[grid.dim - 1],
                    command.boundary, command.initial, command.precision));
  // Before the first step no norm was found.
  print(fmt::format("  {} of {:.4g} to t = {:.4g}{}\n", counted(found.steps, "step"), found.time_step,
                    found.time_step * static_cast<double>(found.steps),
                    found.steps == 0 ? "" : "; ||A q|| = " + norm_text(found.norm, command.solve.epsilon)));
  const auto [low, high] = std::minmax_element(found.q.begin(), found.q.end());
  print(fmt::format("  q from {:.4g} to {:.4g}, mean {:.4g}\n", *low, *high, mean_of(found.q)));
  print(fmt::format("  {} on {}, {} per pass, {} per step\n", found.kernel, command.device,
                    counted(found.steps_per_pass, "step"), duration_text(found.step_seconds)));
  const int columns = std::clamp(terminal_size(STDOUT_FILENO).columns - 2, 8, 64);
  const int lines = (grid.dim == 1 ? 12 : columns / 2) * (has_colour() ? 2 : 1);
  const bool has_history = grid.dim == 1 && history.last_step() > 0;
  print(draw_heat(has_history ? shrink(history.field(), columns, lines)
                              : shrink<V>(std::span<const V>(found.q), grid, columns, lines),
                  has_colour()));
  print(faint(has_history     ? "x to the right, time upwards from 0"
              : grid.dim == 3 ? "the middle slice at the end: x to the right, y upwards"
              : grid.dim == 2 ? "at the end: x to the right, y upwards"
                              : "at the end: x to the right") +
        "\n");
}

template <class V>
void write_plot(const heat_command& command, const cell_grid& grid, const heat_result<V>& found,
                const heat_history& history) {
  const bool is_line = grid.dim == 1;
  if (is_line && found.steps == 0) return write_profile(command, grid, history.field());
  const small_field field =
      is_line ? history.field()
              : shrink<V>(std::span<const V>(found.q), grid, picture_pixels, picture_pixels);
  const double end = found.time_step * static_cast<double>(found.steps);
  const std::string where =
      fmt::format("{}{}, {}", counted(grid.side, "cell"), is_line ? "" : " a side", command.boundary);
  const field_chart chart{
      .title = is_line ? fmt::format("Heat on a line: {}, {}", where, counted(found.steps, "step"))
                       : fmt::format("Heat {}: {}, t = {:.4g}",
                                     grid.dim == 2 ? "in a square" : "in the middle of a cube", where, end),
      .x = {.label = "x"},
      .y = {.label = is_line ? "t" : "y",
            .high = is_line ? found.time_step * static_cast<double>(history.last_step()) : 1},
      .colour = {.label = "temperature", .low = field.lowest(), .high = field.highest()},
      .columns = field.columns,
      .rows = field.rows,
      .value = field.value,
      .is_square = !is_line};
  write_chart(command.plot, chart);
}

template nlohmann::ordered_json as_json(const heat_command&, const cell_grid&, const heat_result<float>&);
template void print_summary(const heat_command&, const cell_grid&, const heat_result<float>&,
                            const heat_history&);
template void write_plot(const heat_command&, const cell_grid&, const heat_result<float>&,
                         const heat_history&);
template nlohmann::ordered_json as_json(const heat_command&, const cell_grid&, const heat_result<double>&);
template void print_summary(const heat_command&, const cell_grid&, const heat_result<double>&,
                            const heat_history&);
template void write_plot(const heat_command&, const cell_grid&, const heat_result<double>&,
                         const heat_history&);

}  // namespace nz::cli
