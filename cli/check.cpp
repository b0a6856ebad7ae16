#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <nonzero/plan/kernels.hpp>

#include "checking.hpp"
#include "commands.hpp"
#include "device_option.hpp"
#include "failures.hpp"
#include "format_cost.hpp"
#include "matrix_argument.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "simd_option.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace nz::cli {
namespace {

using nlohmann::ordered_json;

struct check_options {
  std::vector<std::string> matrices = {"poisson2d:100", "rmat:12", "dense_rows:5000", "empty_rows:5000"};
  std::string precision = "double";
  std::string device;  // empty: all there are
  std::string simd;    // empty: the best
  padding_budget budget;
  bool json = false;
};

struct tally {
  int results = 0, wrong = 0, refused = 0;
};

std::string result_text(const std::vector<outcome>& results, offset entries, padding_budget budget) {
  table out({{"kernel"},
             {"on"},
             {"format"},
             {"bytes", table::side::right},
             {"per entry", table::side::right},
             {"padding", table::side::right},
             {"error/bound", table::side::right},
             {""}});
  for (const outcome& r : results) {
    out.add({std::string(r.kernel->name), std::string(name_of(r.kernel->runs_on)),
             std::string(r.kernel->format), format_bytes(r.size.bytes), per_entry_text(r.size, entries),
             padding_text(r.size),
             r.is_refused() || !r.failure.empty() ? "–" : fmt::format("{:.3f}", static_cast<double>(r.error)),
             verdict_text(r, budget)});
  }
  return out.text();
}

ordered_json as_json(const std::vector<outcome>& results) {
  ordered_json out = ordered_json::array();
  for (const outcome& r : results) {
    ordered_json row = {{"kernel", r.kernel->name},
                        {"device", name_of(r.kernel->runs_on)},
                        {"format", r.kernel->format},
                        {"verdict", r.verdict()}};
    row["bytes"] = r.size.bytes;
    row["padding_bytes"] = r.size.padding_bytes;
    if (r.is_refused() || !r.failure.empty())
      row["why"] = r.is_refused() ? r.refusal : r.failure;
    else
      row["error_in_bounds"] = static_cast<double>(r.error);
    out.push_back(std::move(row));
  }
  return out;
}

struct placed_kernel {
  const kernel_row& kernel;
  std::shared_ptr<device> on;
};

/// The kernels of the table that can run here, with the device each is to run on.
std::vector<placed_kernel> kernels_on(const std::string& device_name) {
  const auto wanted = device_name.empty() ? devices() : std::vector{find_device(device_name)};
  std::vector<placed_kernel> out;
  for (const kernel_row& kernel : kernels())
    for (const auto& on : wanted)
      if (on->kind() == kernel.runs_on) out.push_back({kernel, on});
  return out;
}

/// Checks one matrix in one precision; prints its table, or adds it to `json`.
template <class V>
void check_matrix(const std::string& name, const check_options& options, ordered_json& json, tally& total) {
  const csr<V> a = load<V>(name).matrix;
  const trials_of_matrix<V> against = make_trials(a, 3);
  std::vector<outcome> results;
  progress_bar bar("checking " + name);
  for (const auto& [kernel, on] : kernels_on(options.device)) {
    bar.show(static_cast<double>(&kernel - kernels().data()) / static_cast<double>(kernels().size()));
    const prepare_options how{.budget = options.budget, .on = on, .simd = options.simd};
    results.push_back(try_kernel<V>(
        kernel, a, against, options.budget, [&, &row = kernel] { return make_ready(row, a, against.x, how); },
        [](ready_matrix<V>&) {}));
    ++total.results;
    total.wrong += results.back().is_wrong();
    total.refused += results.back().is_refused();
  }
  if (options.json) {
    json.push_back({{"matrix", name},
                    {"precision", precision_name<V>()},
                    {"rows", a.rows},
                    {"cols", a.cols},
                    {"entries", a.nnz()},
                    {"results", as_json(results)}});
    return;
  }
  print(fmt::format("{}  {}, {} entries, {}\n", bold(name), shape_text(a.rows, a.cols), grouped(a.nnz()),
                    precision_name<V>()));
  print(result_text(results, a.nnz(), options.budget) + "\n");
  finish_output();
}

void run(const check_options& options) {
  require_stdin_once("check", options.matrices, options.precision);
  ordered_json json = ordered_json::array();
  tally total;
  for (const std::string& name : options.matrices) {
    if (options.precision != "double") check_matrix<float>(name, options, json, total);
    if (options.precision != "float") check_matrix<double>(name, options, json, total);
  }
  if (options.json)
    print_json(json);
  else if (total.wrong == 0 && total.results > total.refused)
    print(fmt::format("{} results, all within the error bound of the exact product{}\n",
                      total.results - total.refused,
                      total.refused > 0 ? fmt::format("; {} refused", total.refused) : ""));
  if (total.wrong > 0)
    throw failed_run(
        fmt::format("check: {} of {} results are wrong", total.wrong, total.results - total.refused));
  if (total.results == total.refused) throw failed_run("check: every kernel refused, so nothing was checked");
}

}  // namespace

void add_check(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("check", "Multiply with every kernel, and compare with the exact product");
  auto options = std::make_shared<check_options>();
  command->add_option("MATRIX", options->matrices, "Files or generators; a few generated ones if not given")
      ->option_text(" ");
  command->add_option("--precision", options->precision, "What the values are held in (double)")
      ->check(CLI::IsMember({"float", "double", "both"}))
      ->option_text("float|double|both");
  add_device_option(*command, options->device, "Only the kernels of that device (all there are)");
  add_simd_option(*command, options->simd);
  add_budget_option(*command, options->budget);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      R"(Each kernel computes alpha A x + beta y for random x and y and three pairs of factors, one with
beta = 0 and NaN in y. The error is given in units of what rounding may honestly cause in a row,
(n + 4) eps (|alpha| sum |a||x| + |beta||y|): up to 1 is right. Exit status 1 if any is wrong.

Examples:
  nz check
  nz check web.mtx poisson2d:300 --precision both
  nz check rmat:14 --device emulator
  nz check rmat:14 --device cpu --simd NEON
  nz check rmat:14 --json | jq '.[].results[] | select(.verdict != "ok")')");
  command->callback([options] { run(*options); });
}

}  // namespace nz::cli
