#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/plan.hpp>

#include "commands.hpp"
#include "device_option.hpp"
#include "failures.hpp"
#include "kernel_option.hpp"
#include "matrix_argument.hpp"
#include "number_option.hpp"
#include "output.hpp"
#include "terminal.hpp"

namespace nz::cli {
namespace {

using nlohmann::ordered_json;

struct command_options {
  matrix_argument matrix;
  plan_options plan;
  std::string device = "cpu";
  double budget_mib = 0;
  bool has_budget = false, no_reorder = false, json = false;
};

template <class T> ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

/// 0 stands for what was not measured.
ordered_json or_null(double value) { return value > 0 ? ordered_json(value) : ordered_json(nullptr); }

ordered_json as_json(const plan_candidate& c) {
  return {{"kernel", c.kernel},
          {"chosen", c.is_chosen},
          {"predicted_bytes", or_null(c.predicted_bytes)},
          {"predicted_seconds", or_null(c.predicted_seconds)},
          {"predicted_conversion_seconds", or_null(c.predicted_conversion)},
          {"seconds", or_null(c.seconds)},
          {"conversion_seconds", or_null(c.conversion)},
          {"verdict", c.verdict}};
}

ordered_json as_json(const plan_report& r, const matrix_argument& argument) {
  ordered_json out = {{"matrix", argument.name},
                      {"precision", argument.precision},
                      {"rows", r.rows},
                      {"cols", r.cols},
                      {"entries", r.entries},
                      {"kernel", r.kernel},
                      {"base_kernel", r.base_kernel},
                      {"encodings", r.encodings},
                      {"reordered", r.is_reordered},
                      {"remembered", r.is_remembered},
                      {"reason", r.reason},
                      {"expected_multiplies", r.expected_multiplies},
                      {"memory_budget", r.memory_budget},
                      {"bytes", r.bytes},
                      {"csr_bytes", r.csr_bytes},
                      {"compulsory_bytes", r.compulsory_bytes},
                      {"seconds", or_null(r.chosen_seconds)},
                      {"csr_seconds", or_null(r.csr_seconds)},
                      {"waiting_seconds", r.waiting_seconds},
                      {"reorder_seconds", or_null(r.reorder_seconds)},
                      {"planning_seconds", r.seconds},
                      {"pays_after", or_null(r.pays_after())},
                      {"mean_row", r.mean_row},
                      {"longest_row", or_null(static_cast<double>(r.longest_row))},
                      {"lines_per_entry", or_null(r.gathers.lines_per_entry)},
                      {"nearby_columns_per_entry", or_null(r.gathers.nearby_columns_per_entry)},
                      {"device", name_of(r.kind)},
                      {"machine", r.machine},
                      {"bytes_per_second", or_null(r.bytes_per_second)},
                      {"candidates", ordered_json::array()}};
  for (const plan_candidate& c : r.candidates) out["candidates"].push_back(as_json(c));
  return out;
}

template <class V> void run_in(const command_options& options) {
  const csr<V> a = load<V>(options.matrix.name).matrix;
  const plan<V> made = make_plan(csr_view<V>(a), options.plan);
  if (options.json) return print_json(as_json(made.report(), options.matrix));
  print(fmt::format("{}  {}\n{}", bold(options.matrix.name), options.matrix.precision, made.explain()));
}

void run(command_options& options) {
  constexpr double mebibyte = 1 << 20;
  if (options.has_budget) options.plan.memory_budget = options.budget_mib * mebibyte;
  options.plan.may_reorder = !options.no_reorder;
  options.plan.on = find_device(options.device);
  if (!options.plan.kernel.empty()) require_kernel(options.plan.kernel, options.plan.on->kind());
  with_precision(options.matrix.precision, [&](auto zero) { run_in<decltype(zero)>(options); });
}

}  // namespace

void add_plan(CLI::App& app) {
  CLI::App* command = app.add_subcommand("plan", "Which kernel suits a matrix, and why");
  auto options = std::make_shared<command_options>();
  options->matrix.add_to(*command);
  add_device_option(*command, options->device, "Where it is to be multiplied (cpu)");
  command
      ->add_option("--expected", options->plan.expected_multiplies,
                   "Multiplies to come: a conversion has to pay for itself within them")
      ->type_name("N")
      ->check(number_between(1, 1e15))
      ->capture_default_str();
  command
      ->add_option("--memory-budget", options->budget_mib,
                   "MiB that the matrix may take (1.15 times what CSR takes, 1.1 times on a GPU)")
      ->type_name("MIB")
      ->check(number_between(0, 1e12))
      ->each([options](const std::string&) { options->has_budget = true; });
  command->add_option("--kernel", options->plan.kernel, "This kernel and no other; nz list shows them")
      ->type_name("NAME");
  command->add_flag("--no-reorder", options->no_reorder, "On the CPU: keep the numbers of rows and columns");
  command
      ->add_option("--remember", options->plan.remembered,
                   "JSON file of choices: look there first, and add what is found")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      R"(On the CPU, the kernels marked as candidates (nz list --json) convert a sample of the rows; those that could
win convert the whole matrix and are timed in turns with csr_balanced, which needs no conversion. On a GPU a
few kernels look at the matrix, those for CSR are timed on it as it lies there, and of the others the one or
two that could win.

Examples:
  nz plan web.mtx                              for 200 multiplies
  nz plan web.mtx --expected 10000             for more, a slower conversion may pay
  nz plan poisson3d:200 --precision float
  nz plan web.mtx --device cuda
  nz plan web.mtx --memory-budget 100          at most 100 MiB
  nz plan web.mtx --remember choices.json      the second time, nothing is measured
  nz plan web.mtx --json | jq '.candidates[] | {kernel, seconds}')");
  command->callback([options] { run(*options); });
}

}  // namespace nz::cli
