#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/algorithms/cg.hpp>
#include <nonzero/core/threads.hpp>

#include "chart.hpp"
#include "matrices.hpp"
#include "output.hpp"

namespace nz::cli {
namespace {

constexpr std::size_t entries_shown = 6;
constexpr double double_tolerance = 1e-8, float_tolerance = 1e-5;

struct solve_command {
  matrix_argument matrix;
  cg_options solve;
  std::optional<double> tolerance;  // none: by the precision
  std::string b, out, plot;         // files; empty: none
  std::string preconditioner = "none", method = "cg";
  std::string device;  // empty: chosen
  bool as_json = false;
};

/// In the order of cg_end.
constexpr std::string_view names_of_ends[] = {"converged", "most_iterations", "stagnated",
                                              "not_positive_definite", "not_finite"};

template <class V> json json_of(const solve_command& options, const csr<V>& a, const cg_result<V>& found) {
  return {{"matrix", options.matrix.name},
          {"precision", options.matrix.precision},
          {"rows", a.rows},
          {"entries", a.nnz()},
          {"b", options.b.empty() ? "ones" : options.b},
          {"tolerance", options.solve.tolerance},
          {"preconditioner", options.preconditioner},
          {"method", options.method},
          {"device", name_of(found.plan.kind)},
          {"threads", thread_count()},
          {"kernel", found.plan.kernel},
          {"vectors", found.vectors},
          {"iterations", found.iterations},
          {"converged", found.is_converged()},
          {"end", names_of_ends[static_cast<std::size_t>(found.end)]},
          {"residual", found.residual},
          {"recursive_residual", found.recursive_residual},
          {"restarts", found.restarts},
          {"planning_seconds", found.plan.seconds},
          {"seconds_per_iteration", found.iteration_seconds}};
}

/// Whether dividing by the diagonal does more than scale the matrix.
template <class V> bool has_uneven_diagonal(const csr<V>& a) {
  std::optional<V> last;
  for (index i = 0; i < a.rows; ++i)
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
      if (a.col[k] == i && std::exchange(last, a.val[k]).value_or(a.val[k]) != a.val[k]) return true;
  return false;
}

/// The message where there is no solution, or none within the tolerance.
template <class V>
std::string failure_text(const solve_command& options, const csr<V>& a, const cg_result<V>& found) {
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
          "not converged: after {} the residual of the recurrence is {:.2e}, but |b - A x| / |b| is {:.2e} "
          "and no longer decreases, because of rounding; try {}",
          counted(found.iterations, "iteration"), found.recursive_residual, found.residual, more_digits);
    default: {
      const auto best = std::min_element(found.history.begin(), found.history.end());
      return fmt::format(
          "not converged: |b - A x| / |b| is {:.2e} after {}, the smallest was {:.2e} after {}; allow "
          "more with --max-iterations{}",
          found.residual, counted(found.iterations, "iteration"), *best, best - found.history.begin(),
          options.solve.by == preconditioner::none && has_uneven_diagonal(a)
              ? " or try --preconditioner jacobi"
              : "");
    }
  }
}

std::string_view jacobi_text(const solve_command& options) {
  return options.solve.by == preconditioner::jacobi ? " with Jacobi preconditioning" : "";
}

template <class V>
void print_summary(const solve_command& options, const csr<V>& a, const cg_result<V>& found) {
  print(fmt::format("{}; b {}; {}\n", title_text(options.matrix.name, a.rows, a.cols, a.nnz()),
                    options.b.empty() ? "all ones" : options.b, options.matrix.precision));
  print(fmt::format(
      "  {}{}{}, |b - A x| / |b| = {:.3g}\n", counted(found.iterations, "iteration"), jacobi_text(options),
      found.restarts > 0 ? fmt::format(" and {}", counted(found.restarts, "restart")) : "", found.residual));
  print(fmt::format("  {} on {}, {:.3g} ms per iteration\n",
                    found.plan.kernel.empty() ? "nothing" : found.plan.kernel, name_of(found.plan.kind),
                    1e3 * found.iteration_seconds));
  const auto first = std::span(found.x).first(std::min(found.x.size(), entries_shown));
  print(fmt::format("  x = {:.6g}{}\n", fmt::join(first, "  "), found.x.size() > entries_shown ? "  …" : ""));
}

/// Draws the residual over the iterations, the tolerance, and the final |b - A x| / |b| where it differs from
/// the residual of the loop.
template <class V> void write_residual_plot(const solve_command& options, const cg_result<V>& found) {
  const double tolerance = options.solve.tolerance, final = found.residual, last = found.history.back();
  std::vector<double> iteration(found.history.size());
  std::iota(iteration.begin(), iteration.end(), 0.0);
  line_chart chart{.title = fmt::format("{}, conjugate gradients{}",
                                        std::filesystem::path(options.matrix.name).filename().string(),
                                        jacobi_text(options)),
                   .x = {.label = "iteration", .high = std::max(1.0, iteration.back()), .is_whole = true},
                   .y = {.label = "|r| / |b|", .low = 0.5, .high = 2, .is_log = true},
                   .lines = {{.name = "residual", .x = iteration, .y = found.history}}};
  if (tolerance > 0)
    chart.lines.push_back({.name = "tolerance", .x = {0, chart.x.high}, .y = {tolerance, tolerance}});
  // Closer values would overlap in the picture.
  const bool is_another = found.restarts > 0 || std::abs(final - last) > 0.01 * std::max(final, last);
  if (is_another && final > 0 && std::isfinite(final))
    chart.lines.push_back(
        {.name = "|b - A x| / |b|", .x = {iteration.back()}, .y = {final}, .is_dots = true});
  std::vector<double> drawn = found.history;
  drawn.insert(drawn.end(), {tolerance, final});
  for (const double residual : drawn) {
    if (!(residual > 0) || !std::isfinite(residual)) continue;
    chart.y.low = std::min(chart.y.low, residual / 2);
    chart.y.high = std::max(chart.y.high, residual * 2);
  }
  write_chart(options.plot, chart);
}

/// Puts the name of the matrix before the message of an error.
template <class V>
cg_result<V> solve(const solve_command& options, const csr<V>& a, const std::vector<V>& b) try {
  return conjugate_gradients<V>(trusted(a), b, options.solve);
} catch (const unsupported& e) {
  throw unsupported(fmt::format("{}: {}", options.matrix.name, e.what()));
} catch (const shape_error& e) {
  throw shape_error(fmt::format("{}: {}", options.matrix.name, e.what()));
}

template <class V> void run_in(solve_command& options) {
  const csr<V> a = load_matrix<V>(options.matrix.name);
  const std::vector<V> b = read_vector_or<V>(options.b, "b", a.rows, 1);
  options.solve.tolerance =
      options.tolerance.value_or(sizeof(V) == sizeof(float) ? float_tolerance : double_tolerance);
  const std::int64_t limit = options.solve.max_iterations,
                     most = limit > 0 ? limit : std::int64_t{10} * a.rows;
  progress_bar bar("solving " + options.matrix.name);
  options.solve.progress = [&](std::int64_t iteration, double residual) {
    bar.show(iteration, most, 1, residual, options.solve.tolerance);
  };
  const cg_result<V> found = solve(options, a, b);
  erase_progress();
  const bool has_answer = found.end != cg_end::not_positive_definite && found.end != cg_end::not_finite;
  if (!options.plot.empty()) write_residual_plot(options, found);
  if (!options.out.empty() && has_answer) write_vector_file<V>(options.out, found.x);
  if (options.as_json)
    print_json(json_of(options, a, found));
  else if (options.out != "-" && has_answer)
    print_summary(options, a, found);
  if (!found.is_converged())
    throw failed_run(fmt::format("{}: {}", options.matrix.name, failure_text(options, a, found)));
}

void require_valid(const solve_command& options) {
  require_vector_output(options.out);
  require_one_output("solve", options.out, options.as_json);
  require_plot(options.plot);
  if (options.matrix.name == "-" && options.b == "-")
    throw usage_error("solve: only one of the matrix and b can come from standard input");
}

void run(solve_command& options) {
  require_valid(options);
  options.solve.by = options.preconditioner == "jacobi" ? preconditioner::jacobi : preconditioner::none;
  options.solve.method = options.method == "blas" ? cg_method::blas : cg_method::fused;
  options.solve.plan.on = choose_device(options.device, options.solve.plan.kernel);
  require_kernel(options.solve.plan.kernel, options.solve.plan.on->kind(),
                 options.method == "cg" || options.solve.plan.on->is_host());
  with_precision(options.matrix.precision, [&](auto zero) { run_in<decltype(zero)>(options); });
}

}  // namespace

void set_up_solve(command& c) {
  auto& options = c.runs(run);
  options.matrix.add_to(c);
  c.file("--b", options.b, fmt::format("Right-hand side, {} (all ones)", vector_files));
  c.number("--tolerance", options.tolerance, "T", {0, 1},
           "Stop when |b - A x| <= T |b| (1e-8; 1e-5 in float)");
  c.number("--max-iterations", options.solve.max_iterations, "N", {1, 1e15},
           "Stop after N iterations (ten times the number of rows, at least 100)");
  c.choice("--preconditioner", options.preconditioner, {"none", "jacobi"},
           "none, or jacobi: the diagonal of the matrix (none)");
  c.choice("--method", options.method, {"cg", "blas"},
           "cg: three passes per iteration; blas: one call per operation, for comparison (cg)");
  c.device(options.device);
  c.kernel(options.solve.plan.kernel);
  c.remember(options.solve.plan.remembered);
  c.file("-o,--out", options.out, "Write x to this .mtx, .npy, .npz or .txt file, - for standard output");
  c.file("--plot", options.plot, "Plot the residual over the iterations to this .png file");
  c.json(options.as_json);
  c.footer(
      R"(The residual that is reported is computed from x at the end. The exit status is 1 where it exceeds the tolerance,
and where the matrix is not symmetric (the message names a pair of entries) or not positive definite.

Examples:
  nz solve poisson2d:300                                     b is all ones
  nz solve bcsstk16.mtx --preconditioner jacobi
  nz solve a.mtx --b b.mtx -o x.mtx --tolerance 1e-10
  nz solve poisson3d:50 --plot residual.png
  nz solve poisson3d:256 --device cuda --json | jq .seconds_per_iteration)");
}

}  // namespace nz::cli
