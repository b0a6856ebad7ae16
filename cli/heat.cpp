#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <nonzero/algorithms/heat.hpp>
#include <nonzero/core/errors.hpp>
#include <nonzero/formats/footprint.hpp>
#include <nonzero/plan/kernels.hpp>

#include "commands.hpp"
#include "device_option.hpp"
#include "failures.hpp"
#include "heat_report.hpp"
#include "kernel_option.hpp"
#include "matrix_argument.hpp"
#include "number_option.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "vector_file.hpp"

namespace nz::cli {
namespace {

constexpr std::int64_t most_cells_watched = 20'000;  // of a line, where no plot is asked for

std::optional<heat_start> start_named(const std::string& name) {
  if (name == "hot-centre") return heat_start::hot_centre;
  if (name == "step") return heat_start::step;
  if (name == "sine") return heat_start::sine;
  return std::nullopt;
}

cell_grid grid_of(const heat_command& options, index side) {
  return {options.dim, side, options.boundary == "fixed" ? grid_edge::zero : grid_edge::mirror};
}

/// The grid that a file's numbers fill.
cell_grid grid_for_file(const heat_command& options, std::size_t numbers) {
  const auto side = options.cells.value_or(
      static_cast<index>(std::llround(std::pow(static_cast<double>(numbers), 1.0 / options.dim))));
  const cell_grid grid = grid_of(options, side);
  require_grid(grid);
  if (grid.cells() != static_cast<std::int64_t>(numbers))
    throw shape_error(
        fmt::format("{}: {} temperatures do not fill a grid of {} cells a side in {} dimension{}",
                    options.initial, numbers, side, options.dim, options.dim == 1 ? "" : "s"));
  return grid;
}

template <class V> struct problem {
  cell_grid grid;
  std::vector<V> initial;
};

/// Said in time: an allocation may succeed all the same, and the system end the program when it is used.
template <class V> void require_memory(const heat_command& options, const cell_grid& grid) {
  constexpr std::uint64_t host_vectors = 2, state_vectors = 2;  // at the least, where one step is made
  const std::uint64_t vectors = host_vectors + (options.solve.on->is_host() ? state_vectors : 0);
  const std::uint64_t needed = vectors * sizeof(V) * static_cast<std::uint64_t>(grid.cells());
  const std::uint64_t there = cpu_device()->memory_bytes();
  if (needed > there)
    throw error(fmt::format("heat: out of memory: {} cells take {}, and this machine has {}",
                            grouped(grid.cells()), format_bytes(needed), format_bytes(there)));
}

template <class V> problem<V> load_problem(const heat_command& options) {
  constexpr index default_side[] = {200, 100, 40};
  if (const auto start = start_named(options.initial)) {
    const cell_grid grid = grid_of(options, options.cells.value_or(default_side[options.dim - 1]));
    require_grid(grid);
    require_memory<V>(options, grid);
    return {grid, heat_initial<V>(grid, *start)};
  }
  if (std::error_code ignored; options.initial != "-" && !std::filesystem::exists(options.initial, ignored))
    throw error(
        fmt::format("{}: there is no such file; give one, or hot-centre, step, sine", options.initial));
  std::vector<V> initial = read_vector_file<V>(options.initial);
  const auto bad = std::find_if(initial.begin(), initial.end(), [](V v) { return !std::isfinite(v); });
  if (bad != initial.end())
    throw parse_error(
        fmt::format("{}: temperature {} is not finite", options.initial, bad - initial.begin() + 1));
  return {grid_for_file(options, initial.size()), std::move(initial)};
}

/// What of the way is gone to the last step, or to epsilon.
double part_done(const heat_options& options, std::int64_t steps, double norm, double first_norm) {
  const double by_steps = static_cast<double>(steps) / static_cast<double>(options.max_steps);
  if (options.epsilon == 0 || !(first_norm > options.epsilon)) return by_steps;
  return std::max(by_steps, std::log(first_norm / norm) / std::log(first_norm / options.epsilon));
}

template <class V>
heat_result<V> solve(heat_command& options, const problem<V>& given, heat_history& history) {
  progress_bar bar("heat");
  double first_norm = 0;
  options.solve.progress = [&](std::int64_t steps, double norm) {
    if (first_norm == 0) first_norm = norm;
    bar.show(part_done(options.solve, steps, norm, first_norm));
  };
  const bool is_watched =
      given.grid.dim == 1 && (!options.plot.empty() ||
                              (!options.json && options.out != "-" && given.grid.side <= most_cells_watched));
  const heat_look<V> look = [&](std::int64_t steps, std::span<const V> q) {
    return history.add(steps, q, given.grid);
  };
  return solve_heat<V>(given.grid, given.initial, options.solve, is_watched ? look : nullptr);
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
  if (options.json)
    print_json(as_json(options, given.grid, found));
  else if (options.out != "-")
    print_summary(options, given.grid, found, history);
  if (found.is_stuck)
    throw failed_run(
        fmt::format("heat: ||A q|| stays at {:.3g} after {} steps: rounding in {} leaves no less; try a "
                    "larger --epsilon{}",
                    found.norm, found.steps, options.precision,
                    sizeof(V) == sizeof(float) ? " or --precision double" : ""));
}

void require_sense(const heat_command& options) {
  if (!options.out.empty()) require_vector_name(options.out);
  if (options.out == "-" && options.json)
    throw usage_error("heat: -o - and --json both write to standard output");
  if (!options.plot.empty() && std::filesystem::path(options.plot).extension() != ".png")
    throw usage_error(fmt::format("{}: a plot is written as .png; name it so", options.plot));
  if (!options.plot.empty()) require_writable(options.plot);
  if (options.every > 0 && options.dim != 1)
    throw usage_error("heat: --every is for --dim 1, whose picture has time in it");
  if (options.time_step == 0) throw usage_error("heat: the time step must be positive, not 0");
  if (options.method == "cusparse" && !options.device.starts_with("cuda"))
    throw usage_error("heat: --method cusparse runs on a card: give --device cuda");
}

void run(heat_command& options) {
  require_sense(options);
  options.solve.method = options.method == "fused"      ? heat_method::fused
                         : options.method == "ell+blas" ? heat_method::ell_blas
                                                        : heat_method::cusparse;
  // Steps alone mean that many.
  options.solve.epsilon = options.epsilon.value_or(options.steps ? 0 : options.solve.epsilon);
  if (options.steps) options.solve.max_steps = *options.steps;
  options.solve.time_step = options.time_step.value_or(0);  // to the library 0 is the largest
  options.solve.on = find_device(options.device);
  if (!options.solve.kernel.empty())
    require_kernel(options.solve.kernel, options.solve.on->kind(), options.method == "fused");
  with_precision(options.precision, [&](auto zero) { run_in<decltype(zero)>(options); });
}

void add_problem_options(CLI::App& command, heat_command& options) {
  command.add_option("--dim", options.dim, "Dimensions")->check(CLI::Range(1, 3))->capture_default_str();
  command
      .add_option("--cells", options.cells, "Cells a side (200, 100 or 40 by dimension; or as the file has)")
      ->type_name("N")
      ->check(number_between(1, std::numeric_limits<index>::max()));
  command.add_option("--conductivity", options.solve.conductivity, "c")
      ->type_name("C")
      ->capture_default_str();
  command.add_option("--boundary", options.boundary, "What is outside: 0, or no way out (fixed)")
      ->check(CLI::IsMember({"fixed", "insulated"}))
      ->option_text("fixed|insulated");
  command
      .add_option("--initial", options.initial,
                  "How it starts, or a vector of temperatures, .mtx or .npz (hot-centre)")
      ->option_text("hot-centre|step|sine|FILE");
  command.add_option("--dt", options.time_step, "Time step (the largest that is stable)")->type_name("T");
  command
      .add_option("--epsilon", options.epsilon,
                  "Stop when ||A q|| is below (1e-4; with --steps alone, never)")
      ->type_name("E")
      ->check(number_between(0, std::numeric_limits<double>::infinity()));
  command.add_option("--steps", options.steps, "Stop after so many")
      ->type_name("N")
      ->check(number_between(0, 1e15));
}

void add_running_options(CLI::App& command, heat_command& options) {
  command
      .add_option("--method", options.method,
                  "fused: several steps in a pass, no matrix stored; ell+blas: the lecture's; cusparse: on a "
                  "card, to compare with (fused)")
      ->check(CLI::IsMember({"fused", "ell+blas", "cusparse"}))
      ->option_text("fused|ell+blas|cusparse");
  command
      .add_option("--steps-per-pass", options.solve.steps_per_pass,
                  "The most steps in a pass over memory (as many as suit); changes no bit of the result")
      ->type_name("K")
      ->check(number_between(1, 1e9));
  add_device_option(command, options.device, "Where it runs (cpu)");
  command
      .add_option("--kernel", options.solve.kernel,
                  "A stored matrix and this kernel, a step per pass; nz list shows them")
      ->type_name("NAME");
  add_precision_option(command, options.precision);
}

}  // namespace

void add_heat(CLI::App& app) {
  CLI::App* command = app.add_subcommand("heat", "The heat equation on a line, in a square or in a cube");
  auto options = std::make_shared<heat_command>();
  add_problem_options(*command, *options);
  add_running_options(*command, *options);
  command
      ->add_option("--plot", options->plot,
                   "Draw it there (.png): a line over time, a square, a cube's middle")
      ->type_name("FILE");
  command->add_option("--every", options->every, "On a line: steps between two rows of the picture")
      ->type_name("K")
      ->check(number_between(1, 1e15));
  command
      ->add_option("-o,--out", options->out,
                   "Write the temperatures there: .mtx or .npz, - for standard output")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      R"(q_t = c (q_xx + q_yy + q_zz) on (0, 1)^d by explicit Euler steps: y = A q, q += c dt / dx^2 y, until ||y|| is
below epsilon. Outside, q is 0 (fixed), or what it is at the edge (insulated). The exit status is 1 where
rounding keeps ||y|| from getting so small.

Examples:
  nz heat                                                    a line, hot in the middle
  nz heat --cells 400 --plot heat.png                        the same over time, as a picture
  nz heat --dim 2 --cells 256 --steps 2000 --plot square.png
  nz heat --boundary insulated --initial step --epsilon 1e-6
  nz heat --initial q.mtx --steps 100 -o later.mtx
  nz heat --method ell+blas --device emulator --cells 50 --steps 10
  nz heat --cells 100000000 --steps 1000 --device cuda --json | jq .seconds_per_step)");
  command->callback([options] { run(*options); });
}

}  // namespace nz::cli
