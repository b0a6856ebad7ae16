#include "heat_report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include <nonzero/core/values.hpp>

#include "chart.hpp"
#include "terminal.hpp"

namespace nz::cli {
namespace {

constexpr int picture_pixels = 800, history_columns = 480;
constexpr std::size_t most_rows = 800;  // of a picture

/// Where section `i` of `sections` begins.
std::int64_t section_begin(std::int64_t count, int sections, int i) { return count * i / sections; }

/// The averages of at(x, y) over sections of a plane.
template <class At>
small_field average(std::int64_t width, std::int64_t height, int columns, int rows, const At& at) {
  small_field out;
  out.columns = static_cast<int>(std::min<std::int64_t>(columns, width));
  out.rows = static_cast<int>(std::min<std::int64_t>(rows, height));
  for (int r = 0; r < out.rows; ++r)
    for (int c = 0; c < out.columns; ++c) {
      double sum = 0;
      std::int64_t count = 0;
      for (std::int64_t y = section_begin(height, out.rows, r); y < section_begin(height, out.rows, r + 1);
           ++y)
        for (std::int64_t x = section_begin(width, out.columns, c);
             x < section_begin(width, out.columns, c + 1); ++x, ++count)
          sum += at(x, y);
      out.value.push_back(sum / static_cast<double>(count));
    }
  return out;
}

/// A colour of the terminal's 6 × 6 × 6 colour cube.
int cube_colour(double part) {
  const rgb c = heat_colour(part);
  const auto level = [](int value) { return (value * 5 + 127) / 255; };
  return 16 + 36 * level(c[0]) + 6 * level(c[1]) + level(c[2]);
}

template <class V> double mean_of(const std::vector<V>& q) {
  double sum = 0;
  for (const V value : q) sum += static_cast<double>(value);
  return sum / static_cast<double>(q.size());
}

/// With enough digits to show whether it is below epsilon.
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

/// The picture where there was no step: a line, not a field over time.
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

double small_field::lowest() const {
  return value.empty() ? 0 : *std::min_element(value.begin(), value.end());
}
double small_field::highest() const {
  return value.empty() ? 0 : *std::max_element(value.begin(), value.end());
}

small_field shrink(const small_field& field, int columns, int rows) {
  return average(field.columns, field.rows, columns, rows, [&](std::int64_t x, std::int64_t y) {
    return field.value[static_cast<std::size_t>(y * field.columns + x)];
  });
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
  const auto part = [&](int x, int y) {
    return (field.value[static_cast<std::size_t>(y) * static_cast<std::size_t>(field.columns) +
                        static_cast<std::size_t>(x)] -
            low) /
           extent;
  };
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

template <class V>
json json_of(const heat_command& command, const cell_grid& grid, const heat_result<V>& found) {
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
  // Before the first step there is no norm.
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

#define NZ_INSTANTIATE(V)                                                                      \
  template small_field shrink(std::span<const V>, const cell_grid&, int, int);                 \
  template std::int64_t heat_history::add(std::int64_t, std::span<const V>, const cell_grid&); \
  template json json_of(const heat_command&, const cell_grid&, const heat_result<V>&);         \
  template void print_summary(const heat_command&, const cell_grid&, const heat_result<V>&,    \
                              const heat_history&);                                            \
  template void write_plot(const heat_command&, const cell_grid&, const heat_result<V>&, const heat_history&);
NONZERO_FOR_EACH_VALUE(NZ_INSTANTIATE)

}  // namespace nz::cli
