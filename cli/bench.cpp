#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <nonzero/io/output_file.hpp>

#include "bench_report.hpp"
#include "bench_suite.hpp"
#include "checking.hpp"
#include "commands.hpp"
#include "device_option.hpp"
#include "failures.hpp"
#include "format_cost.hpp"
#include "matrix_argument.hpp"
#include "number_option.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace nz::cli {
namespace {

using nlohmann::ordered_json;

struct bench_options {
  std::vector<std::string> matrices;  // empty: the suite for the device
  std::string device;                 // empty: a card if there is one, else the CPU
  std::vector<std::string> kernels;   // empty: all of the device
  std::string precision = "double";
  std::string json;  // a file, "-" for standard output; empty: not wanted
  padding_budget budget;
  double seconds = 0.5;
};

std::shared_ptr<device> chosen_device(const std::string& name) {
  if (!name.empty()) return find_device(name);
  const auto all = devices();  // the cards come after the CPU
  return all[1]->kind() == device_kind::cuda ? all[1] : all[0];
}

/// In the table's order, with the peers behind ours.
std::vector<const kernel_row*> chosen_kernels(const bench_options& options, device_kind kind) {
  std::vector<const kernel_row*> wanted, out;
  try {
    for (const std::string& name : options.kernels) wanted.push_back(&find_kernel(name, kind));
  } catch (const unsupported& e) {
    throw usage_error(fmt::format("bench: {}", e.what()));
  }
  for (const kernel_row& kernel : kernels()) {
    const bool is_wanted = wanted.empty() || std::find(wanted.begin(), wanted.end(), &kernel) != wanted.end();
    if (kernel.runs_on == kind && is_wanted) out.push_back(&kernel);
  }
  std::stable_partition(out.begin(), out.end(), [](const kernel_row* kernel) { return !kernel->is_peer; });
  return out;
}

/// Prepares a few times, and takes the shortest: what else the machine does only ever adds. There is never
/// more than one prepared matrix.
template <class V>
ready_matrix<V> make_ready_repeatedly(const kernel_row& kernel, const csr<V>& a, const std::vector<V>& x,
                                      const prepare_options& options) {
  constexpr double patience = 0.5;  // seconds, for all of them
  ready_matrix<V> ready = make_ready(kernel, a, x, options);
  double shortest = ready.prepare_seconds, all = shortest;
  for (int times = 1; times < 5 && all < patience; ++times) {
    ready = {};
    ready = make_ready(kernel, a, x, options);
    shortest = std::min(shortest, ready.prepare_seconds);
    all += ready.prepare_seconds;
  }
  ready.prepare_seconds = shortest;
  return ready;
}

/// A kernel's first preparation also loads what is loaded once: its code, another library. Not to be counted.
template <class V>
void prepare_once(const std::vector<const kernel_row*>& kernels, const bench_setting& setting) {
  const csr<V> small{1, 1, {0, 1}, {0}, {1}};
  for (const kernel_row* kernel : kernels) {
    try {
      make_ready(*kernel, small, std::vector<V>(1, 1), {.on = setting.on});
    } catch (const error&) {  // it will say so again where it matters
    }
  }
}

template <class V>
bench_result bench_kernel(const kernel_row& kernel, const csr<V>& a, const trials_of_matrix<V>& against,
                          const bench_setting& setting) {
  bench_result out;
  const prepare_options how{.budget = setting.budget, .on = setting.on};
  static_cast<outcome&>(out) = try_kernel<V>(
      kernel, a, against, setting.budget, [&] { return make_ready_repeatedly(kernel, a, against.x, how); },
      [&](ready_matrix<V>& ready) {
        out.time = measure(*setting.on,
                           [&](stream in) { ready.prepared->multiply(V{1}, ready.x, V{0}, ready.y, in); },
                           {.budget_seconds = setting.seconds});
      });
  return out;
}

template <class V>
bench_matrix bench_one(const std::string& name, const std::vector<const kernel_row*>& kernels,
                       const bench_setting& setting) {
  const csr<V> a = load<V>(name).matrix;
  bench_matrix out{name, precision_name<V>(), a.rows, a.cols, a.nnz(), compulsory_bytes(a), {}};
  progress_bar bar("timing " + name);
  const trials_of_matrix<V> against = make_trials(a, 2);
  for (const kernel_row* kernel : kernels) {
    bar.show(static_cast<double>(out.results.size()) / static_cast<double>(kernels.size()));
    out.results.push_back(bench_kernel(*kernel, a, against, setting));
  }
  return out;
}

void require_sense(const bench_options& options) {
  require_stdin_once("bench", options.matrices, options.precision);
  for (const std::string& name : options.matrices) require_known(name);
}

/// Where the JSON goes; opened before the work, which would be lost if it could not be written.
class json_sink {
 public:
  explicit json_sink(const std::string& name) : is_stdout_(name == "-") {
    if (!name.empty() && !is_stdout_) file_.emplace(name);
  }
  bool is_stdout() const { return is_stdout_; }
  void write(const ordered_json& json) {
    if (is_stdout_) print_json(json);
    if (!file_) return;
    const std::string text = json_text(json);
    file_->write(text.data(), text.size());
    file_->commit();
  }

 private:
  bool is_stdout_;
  std::optional<output_file> file_;
};

void run(const bench_options& options) {
  require_sense(options);
  const std::shared_ptr<device> on = chosen_device(options.device);
  const auto chosen = chosen_kernels(options, on->kind());
  json_sink sink(options.json);
  const bench_setting setting{on, copy_ceiling(on),
                              on->kind() == device_kind::cpu ? "csr_serial" : "csr_vector", options.budget,
                              options.seconds};
  prepare_once<float>(chosen, setting);
  prepare_once<double>(chosen, setting);
  ordered_json json = as_json(setting);
  if (!sink.is_stdout()) print(setting_text(setting));
  finish_output();

  std::int64_t results = 0, wrong = 0;
  const auto add = [&](const bench_matrix& matrix) {
    if (!sink.is_stdout()) print("\n" + matrix_text(matrix, setting));
    finish_output();
    json["matrices"].push_back(as_json(matrix, setting));
    for (const bench_result& r : matrix.results) {
      results += !r.is_refused();
      wrong += r.is_wrong();
    }
  };
  for (const std::string& name : options.matrices.empty() ? suite_for(*on) : options.matrices) {
    if (options.precision != "double") add(bench_one<float>(name, chosen, setting));
    if (options.precision != "float") add(bench_one<double>(name, chosen, setting));
  }
  sink.write(json);
  if (wrong > 0) throw failed_run(fmt::format("bench: {} of {} results are wrong", wrong, results));
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "How fast every kernel is, beside how fast memory is");
  auto options = std::make_shared<bench_options>();
  command->add_option("MATRIX", options->matrices, "Files or generators; a suite for the device if not given")
      ->option_text(" ");
  add_device_option(*command, options->device, "Where to run (a card if there is one, else the CPU)");
  command->add_option("--kernels", options->kernels, "Only these; nz list shows them (all of the device)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("NAME,NAME");
  command->add_option("--precision", options->precision, "What the values are held in (double)")
      ->check(CLI::IsMember({"float", "double", "both"}))
      ->option_text("float|double|both");
  add_budget_option(*command, options->budget);
  command->add_option("--seconds", options->seconds, "How long to time each kernel (0.5)")
      ->check(number_between(1e-6, 3600))
      ->option_text("S");
  command
      ->add_option("--json", options->json, "Write all figures there as JSON; - prints them, and no tables")
      ->option_text("FILE");
  command->footer(
      R"(Each kernel's products are checked first, as nz check does; what is wrong is not timed, and makes the
exit status 1. Then, with x and y on the device:
  time        the median of one y = A x, and ± half the range of the middle half of the samples
  GFLOP/s     two operations per entry
  GB/s        over the bytes that any kernel must move: a value and a 4-byte column per entry, the row
              offsets, x and y once
  ceiling     those in percent of what copying memory reaches; past 100 % where the cache helps, or as
              reading is faster than writing
  convert     converting the matrix from CSR and placing it on the device
  pays after  so many multiplies win back the conversion, compared with csr_vector (csr_serial on the
              CPU): – never, at once where it takes no longer

Examples:
  nz bench
  nz bench web.mtx poisson2d:1000 --precision both
  nz bench rmat:16 --kernels csr_serial,jds_serial --device cpu
  nz bench rmat:8 --device emulator --seconds 0.1
  nz bench web.mtx --json - | jq '.matrices[].results[] | {kernel, gflops}')");
  command->callback([options] { run(*options); });
}

}  // namespace nz::cli
