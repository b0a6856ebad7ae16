#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <unistd.h>

#include <nonzero/algorithms/heat.hpp>
#include <nonzero/core/memory.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/io/read.hpp>

#include "chart.hpp"
#include "heat_report.hpp"
#include "matrices.hpp"
#include "output.hpp"

namespace nz::cli {
namespace {

struct heat_command {
  int dim = 1;
  std::optional<index> cells;  // a side; none: depends on the dimension, or on the file
  std::string boundary = "fixed", initial = "hot-centre", method = "fused";
  std::string device;                           // empty: chosen
  std::string precision = "double", plot, out;  // files; empty: none
  std::optional<double> epsilon, time_step;     // none: the default
  std::optional<std::int64_t> steps;
  std::int64_t every = 0;  // 0: chosen for the picture
  heat_options solve;
  bool as_json = false;
};

constexpr int plot_pixels = 800;
constexpr std::int64_t most_cells_watched = 20'000;  // of a line, without --plot

std::optional<heat_start> start_named(const std::string& name) {
  if (name == "hot-centre") return heat_start::hot_centre;
  if (name == "step") return heat_start::step;
  if (name == "sine") return heat_start::sine;
  return std::nullopt;
}

template <class V> struct problem {
  cell_grid grid;
  std::vector<V> initial;
};

/// Checked before anything is allocated.
template <class V> void require_room(const heat_command& options, const cell_grid& grid) {
  constexpr std::uint64_t host_vectors = 2, state_vectors = 3;  // at least
  const std::uint64_t vectors = host_vectors + (options.solve.on->is_host() ? state_vectors : 0);
  const std::uint64_t needed = vectors * sizeof(V) * static_cast<std::uint64_t>(grid.cells());
  require_memory(fmt::format("heat: out of memory: {} {}", counted(grid.cells(), "cell"),
                             grid.cells() == 1 ? "takes" : "take"),
                 needed);
}

template <class V> std::vector<V> read_temperatures(const std::string& file) {
  if (std::error_code ignored; file != "-" && !std::filesystem::exists(file, ignored))
    throw error(fmt::format("{}: there is no such file; give one, or hot-centre, step, sine", file));
  std::vector<V> out = read_vector<V>(input_path(file));
  const auto bad = std::find_if(out.begin(), out.end(), [](V v) { return !std::isfinite(v); });
  if (bad != out.end())
    throw parse_error(
        fmt::format("{}: temperature {}, counted from 1, is not finite", file, bad - out.begin() + 1));
  return out;
}

template <class V> problem<V> load_problem(const heat_command& options) {
  constexpr index default_side[] = {200, 100, 40};
  const auto start = start_named(options.initial);
  std::vector<V> initial;
  if (!start) initial = read_temperatures<V>(options.initial);
  const double side_in_file = std::pow(static_cast<double>(initial.size()), 1.0 / options.dim);
  const index side = options.cells.value_or(start ? default_side[options.dim - 1]
                                                  : static_cast<index>(std::llround(side_in_file)));
  const cell_grid grid{options.dim, side, options.boundary == "fixed" ? grid_edge::zero : grid_edge::mirror};
  require_grid(grid);
  if (start) {
    require_room<V>(options, grid);
    initial = heat_initial<V>(grid, *start);
  } else if (grid.cells() != std::ssize(initial)) {
    throw shape_error(fmt::format("{}: the file has {}, but a grid of {} a side in {} has {}",
                                  options.initial, counted(std::ssize(initial), "temperature"),
                                  counted(side, "cell"), counted(options.dim, "dimension"),
                                  grouped(grid.cells())));
  }
  return {grid, std::move(initial)};
}

template <class V>
heat_result<V> solve(heat_command& options, const problem<V>& given, heat_history& history) {
  progress_bar bar("heat");
  double first_norm = 0;
  options.solve.progress = [&](std::int64_t steps, double norm) {
    if (first_norm == 0) first_norm = norm;
    bar.show(steps, options.solve.max_steps, first_norm, norm, options.solve.epsilon);
  };
  const bool is_watched = given.grid.dim == 1 &&
                          (!options.plot.empty() ||
                           (!options.as_json && options.out != "-" && given.grid.side <= most_cells_watched));
  const heat_look<V> look = [&](std::int64_t steps, std::span<const V> q) {
    return history.add(steps, q, given.grid);
  };
  return solve_heat<V>(given.grid, given.initial, options.solve, is_watched ? look : nullptr);
}

template <class V> double mean_of(const std::vector<V>& q) {
  return std::accumulate(q.begin(), q.end(), 0.0) / static_cast<double>(q.size());
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

/// The picture where there was no step: a curve, not a field over time.
void write_profile(const heat_command& command, const cell_grid& grid, const small_field& row) {
  const double low = row.lowest(), high = row.highest(), margin = 0.05 * (high > low ? high - low : 1.0);
  std::vector<double> x(row.value.size());
  for (std::size_t c = 0; c < x.size(); ++c)
    x[c] = (static_cast<double>(c) + 0.5) / static_cast<double>(x.size());
  write_chart(command.plot,
              line_chart{.title = fmt::format("Heat on a line: {}, {}, t = 0", counted(grid.side, "cell"),
                                              command.boundary),
                         .x = {.label = "x"},
                         .y = {.label = "temperature", .low = low - margin, .high = high + margin},
                         .lines = {{.name = "", .x = std::move(x), .y = row.value}}});
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
          {"device", name_of(command.solve.on->kind())},
          {"threads", thread_count()},
          {"kernel", found.kernel},
          {"steps_per_pass", found.steps_per_pass},
          {"seconds_per_step", found.step_seconds},
          {"lowest", *low},
          {"highest", *high},
          {"mean", mean_of(found.q)}};
}

/// Prints the figures and a small picture: a line over time where there is a history, else the last state.
template <class V>
void print_summary(const heat_command& command, const cell_grid& grid, const heat_result<V>& found,
                   const heat_history& history) {
  const char* const powers[] = {"", "²", "³"};
  const std::string cells = grid.dim == 1
                                ? counted(grid.side, "cell")
                                : fmt::format("{}{} cells", grouped(grid.side), powers[grid.dim - 1]);
  print(fmt::format("{}  {}, {}, {}; {}\n", bold("heat"), cells, command.boundary, command.initial,
                    command.precision));
  // Before the first step there is no norm.
  print(fmt::format("  {} of {:.4g} to t = {:.4g}{}\n", counted(found.steps, "step"), found.time_step,
                    found.time_step * static_cast<double>(found.steps),
                    found.steps == 0 ? "" : "; ||A q|| = " + norm_text(found.norm, command.solve.epsilon)));
  const auto [low, high] = std::minmax_element(found.q.begin(), found.q.end());
  print(fmt::format("  q from {:.4g} to {:.4g}, mean {:.4g}\n", *low, *high, mean_of(found.q)));
  print(fmt::format("  {} on {}, {} per pass, {} per step\n", found.kernel, name_of(command.solve.on->kind()),
                    counted(found.steps_per_pass, "step"), duration_text(found.step_seconds)));
  const int columns = std::clamp(terminal_size(STDOUT_FILENO).columns - 2, 8, 64);
  const int lines = (grid.dim == 1 ? 12 : columns / 2) * (has_colour() ? 2 : 1);
  const bool has_history = grid.dim == 1 && history.last_step() > 0;
  print(draw_heat(
      has_history ? shrink(history.field(), columns, lines) : shrink<V>(found.q, grid, columns, lines),
      has_colour()));
  print(faint(has_history     ? "x to the right, time upwards from 0"
              : grid.dim == 3 ? "the middle slice at the end: x to the right, y upwards"
              : grid.dim == 2 ? "at the end: x to the right, y upwards"
                              : "at the end: x to the right") +
        "\n");
}

/// Writes the picture of --plot: a line over time, a square, or the middle of a cube.
template <class V>
void write_plot(const heat_command& command, const cell_grid& grid, const heat_result<V>& found,
                const heat_history& history) {
  const bool is_line = grid.dim == 1;
  if (is_line && found.steps == 0) return write_profile(command, grid, history.field());
  const small_field field = is_line ? history.field() : shrink<V>(found.q, grid, plot_pixels, plot_pixels);
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
      .field = field,
      .is_square = !is_line};
  write_chart(command.plot, chart);
}

template <class V> void run_in(heat_command& options) {
  const problem<V> given = load_problem<V>(options);
  try {
    require_heat_options(given.grid, options.solve);
  } catch (const unsupported& e) {
    throw usage_error(fmt::format("heat: {}", e.what()));
  }
  heat_history history(options.every);
  const heat_result<V> found = solve(options, given, history);
  if (!options.plot.empty()) write_plot(options, given.grid, found, history);
  if (!options.out.empty()) write_vector_file<V>(options.out, found.q);
  if (options.as_json)
    print_json(json_of(options, given.grid, found));
  else if (options.out != "-")
    print_summary(options, given.grid, found, history);
  if (found.is_stuck)
    throw failed_run(fmt::format(
        "heat: ||A q|| stays at {:.3g} after {} because of rounding in {}; try a larger --epsilon{}",
        found.norm, counted(found.steps, "step"), options.precision,
        sizeof(V) == sizeof(float) ? " or --precision double" : ""));
}

void require_valid(const heat_command& options) {
  require_vector_output(options.out);
  require_one_output("heat", options.out, options.as_json);
  require_plot(options.plot);
  if (options.every > 0 && options.dim != 1)
    throw usage_error("heat: --every is for --dim 1, whose picture shows time");
  if (options.time_step == 0) throw usage_error("heat: the time step must be positive, not 0");
}

void run(heat_command& options) {
  require_valid(options);
  options.solve.method = options.method == "fused"      ? heat_method::fused
                         : options.method == "ell+blas" ? heat_method::ell_blas
                                                        : heat_method::cusparse;
  // With --steps and no --epsilon, exactly that many steps.
  options.solve.epsilon = options.epsilon.value_or(options.steps ? 0 : options.solve.epsilon);
  if (options.steps) options.solve.max_steps = *options.steps;
  options.solve.time_step = options.time_step.value_or(0);  // 0: the largest stable one
  options.solve.on = choose_device(options.device, options.solve.kernel);
  if (options.method == "cusparse" && options.solve.on->kind() != device_kind::cuda)
    throw usage_error("heat: --method cusparse runs on a GPU: give --device cuda");
  require_kernel(options.solve.kernel, options.solve.on->kind(), options.method == "fused");
  with_precision(options.precision, [&](auto zero) { run_in<decltype(zero)>(options); });
}

}  // namespace

void set_up_heat(command& c) {
  auto& options = c.runs(run);
  c.number("--dim", options.dim, "N", {1, 3}, "Dimensions (1)");
  c.number("--cells", options.cells, "N", {1, std::numeric_limits<index>::max()},
           "Cells a side (200, 100 or 40 for dimension 1, 2 or 3; or what the file holds)");
  c.number("--conductivity", options.solve.conductivity, "C", {-largest_number, largest_number}, "c (1)");
  c.choice("--boundary", options.boundary, {"fixed", "insulated"}, "q = 0 outside, or no heat flow (fixed)");
  c.text("--initial", options.initial, "hot-centre|step|sine|FILE",
         fmt::format("Initial state, or a vector of temperatures, {} (hot-centre)", vector_files));
  c.number("--dt", options.time_step, "T", {-largest_number, largest_number},
           "Time step (the largest stable one)");
  c.number("--epsilon", options.epsilon, "E", {0, no_limit},
           "Stop when ||A q|| < E (1e-4; with --steps alone, 0)");
  c.number("--steps", options.steps, "N", {0, 1e15}, "Stop after N steps");
  c.choice("--method", options.method, {"fused", "ell+blas", "cusparse"},
           "fused: several steps per pass; ell+blas: the lecture's method; cusparse: GPU only (fused)");
  c.number("--steps-per-pass", options.solve.steps_per_pass, "K", {1, 1e9},
           "Most steps in one pass over memory (chosen for the device); does not change the result");
  c.device(options.device);
  c.threads();
  c.kernel(options.solve.kernel,
           "Store the matrix and use this kernel, one step per pass; nz list shows them");
  c.precision(options.precision);
  c.file("--plot", options.plot,
         "Plot to this .png file: a line over time, a square, or the middle of a cube");
  c.number("--every", options.every, "K", {1, 1e15}, "On a line: steps between two rows of the picture");
  c.file("-o,--out", options.out,
         "Write the temperatures to this .mtx, .npy, .npz or .txt file, - for standard output");
  c.json(options.as_json);
  c.footer(
      R"(q_t = c (q_xx + q_yy + q_zz) on (0, 1)^d by explicit Euler steps: y = A q, q += c dt / dx^2 y, until ||y|| is
below epsilon. Outside, q is 0 (fixed) or equal to its value at the edge (insulated). The exit status is 1 where
rounding keeps ||y|| above epsilon.

Examples:
  nz heat                                                    a line, hot in the middle
  nz heat --cells 400 --plot heat.png                        the same over time, as a picture
  nz heat --dim 2 --cells 256 --steps 2000 --plot square.png
  nz heat --boundary insulated --initial step --epsilon 1e-6
  nz heat --initial q.mtx --steps 100 -o later.mtx
  nz heat --method ell+blas --device emulator --cells 50 --steps 10
  nz heat --cells 100000000 --steps 1000 --device cuda --json | jq .seconds_per_step)");
}

}  // namespace nz::cli
