#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/algorithms/cg.hpp>
#include <nonzero/plan/kernels.hpp>

#include "commands.hpp"
#include "device_option.hpp"
#include "failures.hpp"
#include "kernel_option.hpp"
#include "matrix_argument.hpp"
#include "number_option.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "residual_plot.hpp"
#include "terminal.hpp"
#include "vector_file.hpp"

namespace nz::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t entries_shown = 6;
constexpr double double_tolerance = 1e-8, float_tolerance = 1e-5;
constexpr double iterations_per_row = 10;  // where no number is asked for

struct command_options {
  matrix_argument matrix;
  cg_options solve;
  std::optional<double> tolerance;  // none: by the precision
  std::string b, out, plot;         // files; empty: none
  std::string preconditioner = "none", method = "cg", device = "cpu";
  bool json = false;
};

std::string_view name_of_end(cg_end end) {
  switch (end) {
    case cg_end::converged:
      return "converged";
    case cg_end::most_iterations:
      return "most_iterations";
    case cg_end::stagnated:
      return "stagnated";
    case cg_end::not_positive_definite:
      return "not_positive_definite";
    case cg_end::not_finite:
      return "not_finite";
  }
  return "?";
}

template <class V>
ordered_json as_json(const command_options& options, const csr<V>& a, const cg_result<V>& found) {
  return {{"matrix", options.matrix.name},
          {"precision", options.matrix.precision},
          {"rows", a.rows},
          {"entries", a.nnz()},
          {"b", options.b.empty() ? "ones" : options.b},
          {"tolerance", options.solve.tolerance},
          {"preconditioner", options.preconditioner},
          {"method", options.method},
          {"device", name_of(found.plan.kind)},
          {"kernel", found.plan.kernel},
          {"vectors", found.vectors},
          {"iterations", found.iterations},
          {"converged", found.is_converged()},
          {"end", name_of_end(found.end)},
          {"residual", found.residual},
          {"recursive_residual", found.recursive_residual},
          {"restarts", found.restarts},
          {"planning_seconds", found.plan.seconds},
          {"seconds_per_iteration", found.iteration_seconds}};
}

/// Whether dividing by the diagonal would do more than scale the matrix.
template <class V> bool has_uneven_diagonal(const csr<V>& a) {
  std::optional<V> first;
  for (index i = 0; i < a.rows; ++i)
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
      if (a.col[k] == i && a.val[k] != first.value_or(a.val[k]))
        return true;
      else if (a.col[k] == i)
        first = a.val[k];
  return false;
}

/// What to say where there is no answer, or not as good a one as was asked for.
template <class V>
std::string failure_text(const command_options& options, const csr<V>& a, const cg_result<V>& found) {
  const std::string_view more_digits =
      sizeof(V) == sizeof(float) ? "--precision double" : "a larger --tolerance";
  switch (found.end) {
    case cg_end::not_positive_definite:
      return fmt::format("not positive definite: p'Ap is {:.3g} |b|^2 in iteration {}", found.curvature,
                         found.iterations + 1);
    case cg_end::not_finite:
      return fmt::format("numbers too large or too small for {} in iteration {}", options.matrix.precision,
                         found.iterations + 1);
    case cg_end::stagnated:
      return fmt::format(
          "not converged: after {} the loop believes in a residual of {:.2e}, but |b - A x| / |b| "
          "is {:.2e} and falls no more; rounding leaves no better, try {}",
          counted(found.iterations, "iteration"), found.recursive_residual, found.residual, more_digits);
    default: {
      const auto best = std::min_element(found.history.begin(), found.history.end());
      return fmt::format(
          "not converged: |b - A x| / |b| is {:.2e} after {}, the least was {:.2e} after {}; allow "
          "more with --max-iterations{}",
          found.residual, counted(found.iterations, "iteration"), *best, best - found.history.begin(),
          options.solve.by == preconditioner::none && has_uneven_diagonal(a)
              ? " or try --preconditioner jacobi"
              : "");
    }
  }
}

template <class V>
void print_summary(const command_options& options, const csr<V>& a, const cg_result<V>& found) {
  print(fmt::format("{}  {}, {}; b {}; {}\n", bold(options.matrix.name), shape_text(a.rows, a.cols),
                    a.nnz() == 1 ? "1 entry" : fmt::format("{} entries", grouped(a.nnz())),
                    options.b.empty() ? "all ones" : options.b, options.matrix.precision));
  print(fmt::format("  {}{}{}, |b - A x| / |b| = {:.3g}\n", counted(found.iterations, "iteration"),
                    options.solve.by == preconditioner::jacobi ? " with the diagonal" : "",
                    found.restarts > 0 ? fmt::format(" and {}", counted(found.restarts, "restart")) : "",
                    found.residual));
  print(fmt::format("  {} on {}, {:.3g} ms per iteration\n",
                    found.plan.kernel.empty() ? "nothing" : found.plan.kernel, name_of(found.plan.kind),
                    1e3 * found.iteration_seconds));
  const auto first = std::span(found.x).first(std::min(found.x.size(), entries_shown));
  print(fmt::format("  x = {:.6g}{}\n", fmt::join(first, "  "), found.x.size() > entries_shown ? "  …" : ""));
}

std::string plot_title(const command_options& options) {
  return fmt::format("{}, conjugate gradients{}",
                     std::filesystem::path(options.matrix.name).filename().string(),
                     options.solve.by == preconditioner::jacobi ? " with the diagonal" : "");
}

/// What of the way is gone from 1 to the tolerance, or to the last iteration: the residual may grow at first.
double part_done(const cg_options& options, index rows, std::int64_t iteration, double residual) {
  const double most = options.max_iterations > 0
                          ? static_cast<double>(options.max_iterations)
                          : iterations_per_row * std::max(1.0, static_cast<double>(rows));
  const double way = std::log(std::max(options.tolerance, std::numeric_limits<double>::min()));
  return std::max(static_cast<double>(iteration) / most, std::log(residual) / way);
}

template <class V> std::vector<V> load_b(const command_options& options, index rows) {
  if (options.b.empty()) return std::vector<V>(static_cast<std::size_t>(rows), V{1});
  std::vector<V> b = read_vector_file<V>(options.b);
  if (b.size() != static_cast<std::size_t>(rows))
    throw shape_error(
        fmt::format("{}: b must have {} entries to fit the matrix, this has {}", options.b, rows, b.size()));
  return b;
}

/// The message with the matrix's name before it.
template <class Body> auto naming(const std::string& matrix, const Body& body) {
  try {
    return body();
  } catch (const unsupported& e) {
    throw unsupported(fmt::format("{}: {}", matrix, e.what()));
  } catch (const shape_error& e) {
    throw shape_error(fmt::format("{}: {}", matrix, e.what()));
  }
}

template <class V> void run_in(command_options& options) {
  const csr<V> a = load<V>(options.matrix.name).matrix;
  const std::vector<V> b = load_b<V>(options, a.rows);
  options.solve.tolerance =
      options.tolerance.value_or(sizeof(V) == sizeof(float) ? float_tolerance : double_tolerance);
  const cg_result<V> found = naming(options.matrix.name, [&] {
    progress_bar bar(fmt::format("solving {}", options.matrix.name));
    options.solve.progress = [&](std::int64_t iteration, double residual) {
      bar.show(part_done(options.solve, a.rows, iteration, residual));
    };
    return conjugate_gradients<V>(a, b, options.solve);
  });
  const bool has_answer = found.end != cg_end::not_positive_definite && found.end != cg_end::not_finite;
  if (!options.plot.empty())
    write_residual_plot(options.plot, plot_title(options), options.solve.tolerance, found);
  if (!options.out.empty() && has_answer) write_vector_file<V>(options.out, found.x);
  if (options.json)
    print_json(as_json(options, a, found));
  else if (options.out != "-" && has_answer)
    print_summary(options, a, found);
  if (!found.is_converged())
    throw failed_run(fmt::format("{}: {}", options.matrix.name, failure_text(options, a, found)));
}

void require_sense(const command_options& options) {
  if (!options.out.empty()) require_vector_name(options.out);
  if (options.out == "-" && options.json)
    throw usage_error("solve: -o - and --json both write to standard output");
  if (!options.plot.empty() && std::filesystem::path(options.plot).extension() != ".png")
    throw usage_error(fmt::format("{}: a plot is written as .png; name it so", options.plot));
  if (!options.plot.empty()) require_writable(options.plot);
  if (options.matrix.name == "-" && options.b == "-")
    throw usage_error("solve: only one of the matrix and b can come from standard input");
}

void run(command_options& options) {
  require_sense(options);
  options.solve.by = options.preconditioner == "jacobi" ? preconditioner::jacobi : preconditioner::none;
  options.solve.method = options.method == "blas" ? cg_method::blas : cg_method::fused;
  options.solve.plan.on = find_device(options.device);
  if (!options.solve.plan.kernel.empty())
    require_kernel(options.solve.plan.kernel, options.solve.plan.on->kind(),
                   options.method == "cg" || options.solve.plan.on->is_host());
  with_precision(options.matrix.precision, [&](auto zero) { run_in<decltype(zero)>(options); });
}

void add_iteration_options(CLI::App& command, command_options& options) {
  command.add_option("--b", options.b, "The right-hand side, .mtx or .npz; all ones if not given")
      ->type_name("FILE");
  command
      .add_option("--tolerance", options.tolerance,
                  "Stop when |b - A x| is at most so much of |b| (1e-8, in float 1e-5)")
      ->type_name("T")
      ->check(number_between(0, 1));
  command
      .add_option("--max-iterations", options.solve.max_iterations,
                  "Stop there in any case (ten times the rows)")
      ->type_name("N")
      ->check(number_between(1, 1e15));
  command
      .add_option("--preconditioner", options.preconditioner, "None, or jacobi: the matrix's diagonal (none)")
      ->check(CLI::IsMember({"none", "jacobi"}))
      ->option_text("none|jacobi");
}

void add_running_options(CLI::App& command, command_options& options) {
  command
      .add_option("--method", options.method,
                  "cg: conjugate gradients in three passes per iteration; blas: the same, to compare with, "
                  "call by call, on a GPU by cuSPARSE and cuBLAS (cg)")
      ->check(CLI::IsMember({"cg", "blas"}))
      ->option_text("cg|blas");
  add_device_option(command, options.device, "Where it runs (cpu)");
  command.add_option("--kernel", options.solve.plan.kernel, "This kernel and no other; nz list shows them")
      ->type_name("NAME");
  command
      .add_option("--remember", options.solve.plan.remembered,
                  "JSON file of choices of kernels: look there first, and add what is found")
      ->type_name("FILE");
}

}  // namespace

void add_solve(CLI::App& app) {
  CLI::App* command = app.add_subcommand("solve", "x with A x = b, for a symmetric positive definite matrix");
  auto options = std::make_shared<command_options>();
  options->matrix.add_to(*command);
  add_iteration_options(*command, *options);
  add_running_options(*command, *options);
  command->add_option("-o,--out", options->out, "Write x there: .mtx or .npz, - for standard output")
      ->type_name("FILE");
  command->add_option("--plot", options->plot, "Draw the residual over the iterations there (.png)")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      R"(The residual that is reported is found anew from x at the end. The exit status is 1 where it is above the
tolerance, where the matrix is not symmetric (a pair of entries is named) or not positive definite.

Examples:
  nz solve poisson2d:300                                     b is all ones
  nz solve bcsstk16.mtx --preconditioner jacobi
  nz solve a.mtx --b b.mtx -o x.mtx --tolerance 1e-10
  nz solve poisson3d:50 --plot residual.png
  nz solve poisson3d:256 --device cuda --json | jq .seconds_per_iteration)");
  command->callback([options] { run(*options); });
}

}  // namespace nz::cli
