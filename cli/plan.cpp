#include <fmt/format.h>

#include <nonzero/plan/plan.hpp>

#include "matrices.hpp"
#include "output.hpp"

namespace nz::cli {
namespace {

struct plan_command {
  matrix_argument matrix;
  plan_options plan;
  std::string device;  // empty: chosen
  std::optional<double> budget_mib;
  bool no_reorder = false, as_json = false;
};

/// 0 stands for a figure that was not measured.
json or_null(double value) { return value > 0 ? json(value) : json(); }

json json_of(const plan_report& r, const matrix_argument& argument) {
  std::vector<json> candidates;
  for (const plan_candidate& c : r.candidates)
    candidates.push_back({{"kernel", c.kernel},
                          {"chosen", c.is_chosen},
                          {"predicted_bytes", c.predicted_bytes},
                          {"predicted_seconds", c.predicted_seconds},
                          {"predicted_conversion_seconds", c.predicted_conversion},
                          {"seconds", c.seconds},
                          {"conversion_seconds", c.conversion},
                          {"verdict", c.verdict}});
  return joined(matrix_json(argument.name, argument.precision, argument.values, r.rows, r.cols, r.entries),
                {{"kernel", r.kernel},
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
                 {"validation_seconds", r.validation_seconds},
                 {"reorder_seconds", or_null(r.reorder_seconds)},
                 {"planning_seconds", r.seconds},
                 {"pays_after", r.pays_after()},
                 {"mean_row", r.mean_row},
                 {"longest_row", or_null(static_cast<double>(r.longest_row))},
                 {"lines_per_entry", or_null(r.gathers.lines_per_entry)},
                 {"nearby_columns_per_entry", or_null(r.gathers.nearby_columns_per_entry)},
                 {"device", name_of(r.kind)},
                 {"machine", r.machine},
                 {"bytes_per_second", or_null(r.bytes_per_second)},
                 {"candidates", candidates}});
}

template <class V> void run_in(const plan_command& options) {
  const csr<V> a = load_matrix<V>(options.matrix.name, options.matrix.values);
  const plan<V> made = make_plan(trusted(a), options.plan);
  if (options.as_json) return print_json(json_of(made.report(), options.matrix));
  print(fmt::format("{}  {}{}\n{}", bold(options.matrix.name), options.matrix.precision,
                    options.matrix.values == "random" ? ", random values" : "", made.explain()));
}

void run(plan_command& options) {
  constexpr double mebibyte = 1 << 20;
  if (options.budget_mib) options.plan.memory_budget = *options.budget_mib * mebibyte;
  options.plan.may_reorder = !options.no_reorder;
  options.plan.on = choose_device(options.device, options.plan.kernel);
  require_kernel(options.plan.kernel, options.plan.on->kind());
  with_precision(options.matrix.precision, [&](auto zero) { run_in<decltype(zero)>(options); });
}

}  // namespace

void set_up_plan(command& c) {
  auto& options = c.runs(run);
  options.matrix.add_to(c);
  c.values(options.matrix.values);
  c.device(options.device);
  c.number("--expected", options.plan.expected_multiplies, "N", {1, 1e15},
           "Expected multiplies: a conversion must pay for itself within them (200)");
  c.number("--memory-budget", options.budget_mib, "MIB", {0, 1e12},
           "MiB that the matrix may take (1.15 times the size of CSR, on a GPU 1.1 times, plus 1 MiB)");
  c.kernel(options.plan.kernel);
  c.flag("--no-reorder", options.no_reorder, "On the CPU: do not reorder rows and columns");
  c.remember(options.plan.remembered);
  c.json(options.as_json);
  c.footer(
      R"(On the CPU, the candidate kernels (nz list --json shows them) convert a sample of the rows. Those that could win
convert the whole matrix, and are timed in turns with csr_balanced, which needs no conversion. On a GPU, a few
launches survey the matrix. Then the CSR kernels are timed, and one or two kernels of other formats that could win.

Examples:
  nz plan web.mtx                              for 200 multiplies
  nz plan web.mtx --expected 10000             with more multiplies, a slower conversion may pay
  nz plan poisson3d:200 --precision float
  nz plan web.mtx --device cuda
  nz plan web.mtx --values random              the choice for values that do not repeat
  nz plan web.mtx --memory-budget 100          at most 100 MiB
  nz plan web.mtx --remember choices.json      the second time, nothing is measured
  nz plan web.mtx --json | jq '.candidates[] | {kernel, seconds}')");
}

}  // namespace nz::cli
