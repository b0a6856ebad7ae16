#include <algorithm>

#include <fmt/format.h>

#include "checking.hpp"
#include "matrices.hpp"

namespace nz::cli {
namespace {

struct check_options {
  std::vector<std::string> matrices = {"poisson2d:100", "rmat:12", "dense_rows:5000", "empty_rows:5000"};
  std::string precision = "double", values = "file";
  std::string device;  // empty: all
  std::string simd;    // empty: the best
  padding_budget budget;
  bool is_verbose = false, as_json = false;
};

struct checked_matrix {
  std::string name;
  const char* precision;
  index rows, cols;
  offset entries;
  std::vector<outcome> results = {};
  tally count = {};
  int refused = 0;
};

/// A row for each result, or for each wrong one only.
std::string rows_text(const checked_matrix& matrix, padding_budget budget, bool only_wrong) {
  table out({"kernel", "on", "format", ">bytes", ">per entry", ">padding", ">error/bound", ""});
  for (const outcome& r : matrix.results) {
    if (only_wrong && (r.is_right() || r.is_refused())) continue;
    out.add({std::string(r.kernel->name), std::string(name_of(r.kernel->runs_on)),
             std::string(r.kernel->format), r.has_size() ? format_bytes(r.size.bytes) : "–",
             r.has_size() ? per_entry_text(r.size, matrix.entries) : "–",
             r.has_size() ? padding_text(r.size) : "–",
             r.has_error() ? fmt::format("{:.3f}", static_cast<double>(r.error)) : "–",
             verdict_text(r, budget)});
  }
  return out.text();
}

json json_of(const checked_matrix& matrix, const std::string& values) {
  std::vector<json> results;
  for (const outcome& r : matrix.results) {
    json row = {{"kernel", r.kernel->name},   {"device", name_of(r.kernel->runs_on)},
                {"format", r.kernel->format}, {"verdict", r.verdict()},
                {"bytes", r.bytes_json()},    {"padding_bytes", r.padding_json()}};
    results.push_back(joined(std::move(row), r.error_json()));
  }
  return joined(matrix_json(matrix.name, matrix.precision, values, matrix.rows, matrix.cols, matrix.entries),
                {{"results", results}});
}

template <class V> checked_matrix check_matrix(const std::string& name, const check_options& options) {
  const csr<V> a = load_matrix<V>(name, options.values);
  checked_matrix out{name, precision_name<V>(), a.rows, a.cols, a.nnz()};
  const trials_of_matrix<V> against = make_trials(a, 3);
  progress_bar bar("checking " + name);
  const auto wanted = options.device.empty() ? devices() : std::vector{find_device(options.device)};
  for (const kernel_row& kernel : kernels()) {
    bar.show(static_cast<double>(&kernel - kernels().data()) / static_cast<double>(kernels().size()));
    for (const auto& on : wanted) {
      if (on->kind() != kernel.runs_on) continue;
      const prepare_options how{.budget = options.budget, .on = on, .simd = options.simd};
      const outcome& found = out.results.emplace_back(try_kernel<V>(
          kernel, a, against, options.budget, [&] { return make_ready(kernel, a, against.x, how); }));
      out.count.add(found);
      out.refused += found.is_refused();
    }
  }
  return out;
}

/// Prints the results as they come: a line per matrix, or a table with --verbose.
class check_report {
 public:
  explicit check_report(const check_options& options) : options_(options) {
    for (const std::string& name : options.matrices) width_ = std::max(width_, display_width(name));
    if (!options.as_json && !options.is_verbose)
      print_line("matrix", "type", "kernels", "refused", "error/bound", "");
  }

  void add(const checked_matrix& matrix) {
    count_.add(matrix.count);
    refused_ += matrix.refused;
    if (options_.as_json)
      json_.push_back(json_of(matrix, options_.values));
    else if (options_.is_verbose)
      print(fmt::format("{}, {}\n{}\n", title_text(matrix.name, matrix.rows, matrix.cols, matrix.entries),
                        matrix.precision, rows_text(matrix, options_.budget, false)));
    else
      add_line(matrix);
    finish_output();
  }

  /// Throws `failed_run` if a result was wrong, or if there was none.
  void finish() const {
    if (options_.as_json)
      print_json(json_);
    else if (count_.is_good() && count_.results > 0)
      print(fmt::format("{}, {}within the error bound of the exact product{}\n",
                        counted(count_.results, "result"), count_.results == 1 ? "" : "all ",
                        refused_ > 0 ? fmt::format("; {} refused", refused_) : ""));
    if (!count_.is_good()) throw failed_run("check: " + count_.text());
    if (count_.results == 0) throw failed_run("check: every kernel refused, so nothing was checked");
  }

 private:
  void print_line(const std::string& name, const std::string& type, const std::string& kernels,
                  const std::string& refused, const std::string& error, const std::string& verdict) const {
    const std::string fill(static_cast<std::size_t>(width_ - std::min(width_, display_width(name))), ' ');
    std::string line = fmt::format("  {}{}  {:<6}  {:>7}  {:>7}  {:>11}  {}", name, fill, type, kernels,
                                   refused, error, verdict);
    line.erase(line.find_last_not_of(' ') + 1);
    print((verdict.empty() ? faint(line) : line) + "\n");
  }

  void add_line(const checked_matrix& matrix) const {
    long double worst = 0;
    for (const outcome& r : matrix.results)
      if (r.has_error() && !(r.error <= worst)) worst = r.error;  // keeps a NaN
    const auto& [results, wrong, failed, failure] = matrix.count;
    print_line(matrix.name, matrix.precision, std::to_string(results), std::to_string(matrix.refused),
               results > failed ? fmt::format("{:.3f}", static_cast<double>(worst)) : "–",
               wrong > 0      ? red(fmt::format("{} WRONG", wrong))
               : failed > 0   ? red(fmt::format("{} FAILED", failed))
               : results == 0 ? yellow("all refused")
                              : green("ok"));
    if (!matrix.count.is_good()) print(rows_text(matrix, options_.budget, true));
  }

  const check_options& options_;
  int width_ = 6;
  tally count_;
  int refused_ = 0;
  std::vector<json> json_;
};

void run(const check_options& options) {
  require_stdin_once("check", options.matrices, options.precision);
  for (const std::string& name : options.matrices) require_known(name);
  check_report report(options);
  for (const std::string& name : options.matrices)
    with_precision(options.precision,
                   [&](auto zero) { report.add(check_matrix<decltype(zero)>(name, options)); });
  report.finish();
}

}  // namespace

void set_up_check(command& c) {
  auto& options = c.runs(run);
  c.arguments("MATRIX", options.matrices, 0, "Files or generators (four generated matrices)");
  c.precision(options.precision, true);
  c.threads();
  c.values(options.values);
  c.device(options.device, "Check only the kernels of this device (all devices)");
  c.simd(options.simd);
  c.budget(options.budget);
  c.flag("-v,--verbose", options.is_verbose, "Print a row for each kernel, not a line for each matrix");
  c.json(options.as_json);
  c.footer(
      R"(Each kernel computes alpha A x + beta y for random x and y and three pairs of factors, one of them with
beta = 0 and NaN in y. The error is relative to the bound that rounding allows for a row,
(n + 4) eps (|alpha| sum |a||x| + |beta||y|): up to 1 is right. Rows whose terms may overflow are not compared. A line
for each matrix gives the number of kernels checked and refused, and the largest error. Each kernel with wrong results,
or without any, is shown; the exit status is then 1.

Examples:
  nz check
  nz check web.mtx poisson2d:300 --precision both
  nz check web.mtx --verbose
  nz check rmat:14 --device emulator
  nz check rmat:14 --device cpu --simd NEON
  nz check rmat:14 --json | jq '.[].results[] | select(.verdict != "ok")')");
}

}  // namespace nz::cli
