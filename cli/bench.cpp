#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <nonzero/io/output_file.hpp>

#include "bench_peers.hpp"
#include "bench_report.hpp"
#include "bench_run.hpp"
#include "bench_suite.hpp"
#include "bench_summary.hpp"
#include "checking.hpp"
#include "commands.hpp"
#include "device_option.hpp"
#include "failures.hpp"
#include "format_cost.hpp"
#include "matrix_argument.hpp"
#include "number_option.hpp"
#include "output.hpp"
#include "pinning.hpp"
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
  bool is_replayed = false;
  bool is_suite_wanted = false;
  bool with_peers = false;
  double peer_seconds = 120;
};

/// What takes part.
struct entrants {
  std::vector<const kernel_row*> kernels;
  bool with_plan = false;
  std::optional<peer_options> peers;  // none: they were not asked for
};

std::shared_ptr<device> chosen_device(const std::string& name, bool with_peers) {
  if (with_peers && !name.empty() && name != "cpu")
    throw usage_error("bench: --peers are programs for the CPU: leave --device out, or give cpu");
  if (with_peers) return cpu_device();
  if (!name.empty()) return find_device(name);
  const auto all = devices();  // the cards come after the CPU
  return all[1]->kind() == device_kind::cuda ? all[1] : all[0];
}

const peer_row* find_peer(std::string_view name) {
  for (const peer_row& peer : known_peers())
    if (peer.name == name) return &peer;
  return nullptr;
}

/// All of `known` in their order, or those of them that are wanted where any is.
template <class Row>
std::vector<const Row*> chosen_of(std::span<const Row> known, const std::vector<const Row*>& wanted) {
  std::vector<const Row*> out;
  for (const Row& row : known)
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), &row) != wanted.end()) out.push_back(&row);
  return out;
}

/// In the tables' order, with the peers behind ours. Peers that are programs can be named too, where they
/// take part; where none is named, all do.
entrants chosen_entrants(const bench_options& options, device_kind kind) {
  std::vector<const kernel_row*> wanted;
  std::vector<const peer_row*> wanted_peers;
  bool is_plan_wanted = options.kernels.empty();
  try {
    for (const std::string& name : options.kernels) {
      const peer_row* const peer = options.with_peers ? find_peer(name) : nullptr;
      if (name == plan_name)
        is_plan_wanted = true;
      else if (peer != nullptr)
        wanted_peers.push_back(peer);
      else
        wanted.push_back(&find_kernel(name, kind));
    }
  } catch (const unsupported& e) {
    throw usage_error(fmt::format("bench: {}", e.what()));
  }
  const bool is_plan_alone = wanted.empty() && !options.kernels.empty() && is_plan_wanted;
  entrants out{
      is_plan_alone ? std::vector<const kernel_row*>{} : chosen_of(kernels(), wanted), is_plan_wanted, {}};
  std::erase_if(out.kernels, [&](const kernel_row* kernel) { return kernel->runs_on != kind; });
  std::stable_partition(out.kernels.begin(), out.kernels.end(),
                        [](const kernel_row* kernel) { return !kernel->is_peer; });
  if (options.with_peers)
    out.peers =
        peer_options{find_peers_folder(), chosen_of(known_peers(), wanted_peers), options.peer_seconds};
  return out;
}

/// A line where all that is prepared at once takes much of the memory. Throws `failed_run` where it takes
/// all.
template <class V>
std::string memory_note(const std::string& name, const csr<V>& a, const entrants& who,
                        const bench_setting& setting) {
  // Roughly: a library holds the arrays that it was given and its own form of them; the exact product is two
  // long doubles a row.
  const std::size_t copies = who.kernels.size() + 2 * who.peers->chosen.size() + 2;
  const std::uint64_t takes = copies * compulsory_bytes(a), memory = setting.on->memory_bytes();
  if (takes > memory)
    throw failed_run(
        fmt::format("bench: {}: all kernels and peers at once would take about {} of {}: name fewer of them "
                    "by --kernels",
                    name, format_bytes(takes), format_bytes(memory)));
  return takes <= memory / 3 ? ""
                             : fmt::format("all at once take about {} of {} of memory", format_bytes(takes),
                                           format_bytes(memory));
}

template <class V>
bench_matrix bench_one(const std::string& name, const entrants& who, const bench_setting& setting) {
  const csr<V> a = load<V>(name).matrix;
  bench_matrix out{name, precision_name<V>(), a.rows, a.cols, a.nnz(), compulsory_bytes(a)};
  out.csr_bytes = out.compulsory_bytes - (static_cast<std::uint64_t>(a.rows) + a.cols) * sizeof(V);
  progress_bar bar("timing " + name);
  const trials_of_matrix<V> against = make_trials(a, 2);
  entries<V> all;
  if (who.with_plan) all.push_back(std::make_unique<kernel_entry<V>>(nullptr, a, against, setting));
  for (const kernel_row* kernel : who.kernels)
    all.push_back(std::make_unique<kernel_entry<V>>(kernel, a, against, setting));
  std::optional<peer_matrix<V>> given;
  if (who.peers) {
    out.note = memory_note(name, a, who, setting);
    given.emplace(a, against.x);
    for (const peer_row* peer : who.peers->chosen)  // the first trial's product is A x
      all.push_back(std::make_unique<peer_entry<V>>(*peer, *who.peers, *given, against.trials[0].exact));
  }
  out.results = run_bench<V>(all, setting, [&](double part) { bar.show(part); });
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

/// What is compared with: a loop that anyone would write, where it takes part.
std::vector<std::string_view> baselines_on(device_kind kind) {
  if (kind == device_kind::cpu) return {"openmp_csr", "csr_serial"};
  return {"csr_vector"};
}

/// Shows what was found, matrix by matrix, and gathers it.
class bench_record {
 public:
  bench_record(const bench_setting& setting, json_sink& sink)
      : setting_(setting), sink_(sink), json_(as_json(setting)) {
    show(setting_text(setting));
  }

  void add(const bench_matrix& matrix) {
    show("\n" + matrix_text(matrix, setting_) + duel_text(matrix));
    json_["matrices"].push_back(as_json(matrix, setting_));
    if (setting_.has_peers()) json_["matrices"].back()["against_peers"] = duel_json(matrix);
    summary_.add(matrix, setting_);
    for (const bench_result& r : matrix.results) {
      results_ += !r.is_refused();
      wrong_ += r.is_wrong();
    }
  }

  /// Throws `failed_run` if any result was wrong.
  void finish() {
    const std::string text = summary_.text();
    if (!text.empty()) show("\n" + text);
    if (setting_.has_peers()) json_["against_peers"] = summary_.as_json();
    sink_.write(json_);
    if (wrong_ > 0) throw failed_run(fmt::format("bench: {} of {} results are wrong", wrong_, results_));
  }

 private:
  void show(const std::string& text) {
    if (!sink_.is_stdout()) print(text);
    finish_output();
  }

  const bench_setting& setting_;
  json_sink& sink_;
  ordered_json json_;
  bench_summary summary_;
  std::int64_t results_ = 0, wrong_ = 0;
};

std::optional<double> pinned_read_ceiling(const std::shared_ptr<device>& on, const measure_options& options) {
  const pinned_threads pinned;
  return read_ceiling(on, options);
}

void run(const bench_options& options) {
  require_sense(options);
  const std::shared_ptr<device> on = chosen_device(options.device, options.with_peers);
  const entrants who = chosen_entrants(options, on->kind());
  json_sink sink(options.json);
  const measure_options ceiling{.budget_seconds = std::min(options.seconds, full_ceiling.budget_seconds)};
  const bench_setting setting{on,
                              copy_ceiling(on, ceiling),
                              pinned_read_ceiling(on, ceiling),
                              baselines_on(on->kind()),
                              options.budget,
                              options.seconds,
                              options.with_peers,
                              options.is_replayed,
                              on->kind() == device_kind::cuda ? "cusparse_csr_alg1" : ""};
  prepare_once<float>(who.kernels, setting);
  prepare_once<double>(who.kernels, setting);
  bench_record record(setting, sink);
  std::vector<std::string> matrices = options.matrices;
  if (matrices.empty() || options.is_suite_wanted) {
    const std::vector<std::string> suite = suite_for(*on);
    matrices.insert(matrices.begin(), suite.begin(), suite.end());
  }
  for (const std::string& name : matrices) {
    if (options.precision != "double") record.add(bench_one<float>(name, who, setting));
    if (options.precision != "float") record.add(bench_one<double>(name, who, setting));
  }
  record.finish();
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "How fast every kernel is, beside how fast memory is");
  auto options = std::make_shared<bench_options>();
  command->add_option("MATRIX", options->matrices, "Files or generators; a suite for the device if not given")
      ->option_text(" ");
  command->add_flag("--suite", options->is_suite_wanted,
                    "The suite for the device, as where no MATRIX is given; then those that are");
  add_device_option(*command, options->device, "Where to run (a card if there is one, else the CPU)");
  command
      ->add_option("--kernels", options->kernels,
                   "Only these; nz list shows them (all of the device, and plan)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("NAME,NAME");
  command->add_option("--precision", options->precision, "What the values are held in (double)")
      ->check(CLI::IsMember({"float", "double", "both"}))
      ->option_text("float|double|both");
  add_budget_option(*command, options->budget);
  command
      ->add_option("--seconds", options->seconds,
                   "How long to time each kernel (0.5); below 0.01 the ceiling is rough")
      ->check(number_between(1e-6, 3600))
      ->option_text("S");
  command->add_flag("--replay", options->is_replayed,
                    "On a GPU: short calls from a CUDA graph, without what the host takes to launch them");
  command->add_flag("--peers", options->with_peers,
                    "On the CPU: other libraries' multiplies in the same run");
  command
      ->add_option("--peer-seconds", options->peer_seconds, "How long a peer may take for one answer (120)")
      ->check(number_between(1e-3, 1e6))
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
  ceiling     those in percent of what reading memory reaches on the CPU, of what copying it reaches
              elsewhere; past 100 % where the cache helps, or where less than those bytes is moved
  convert     converting the matrix from CSR and placing it on the device; for plan (what make_plan
              chooses, named beside it), all of the planning, on a GPU from a CSR that lies there
  pays after  so many multiplies win back the conversion, compared with csr_vector (on the CPU with
              openmp_csr where it runs, else csr_serial): – never, at once where it takes no longer;
              on a GPU for plan, compared with cusparse_csr_alg1 and nothing taken off for what that
              prepares

Where others' kernels take part, cuSPARSE's on a GPU, the last lines sum up ours against the fastest of them
over all matrices, and of the plans: percent of the ceiling, memory against CSR's, when they are paid back.

With --peers, on the CPU, other libraries multiply too: openmp_csr (the plain loop), eigen, graphblas,
petsc_aij and petsc_sell (an MPI rank for each thread), librsb (tuned), scipy (one thread). Each is a
program of its own that 'make peers' builds where its library is, found in the folder peers beside nz
or in $NONZERO_PEERS; --kernels can name them too. All are ready at once and sampled in turns, with
OMP_NUM_THREADS threads each, bound to processors unless OMP_PROC_BIND says otherwise.

Examples:
  nz bench
  nz bench web.mtx poisson2d:1000 --precision both
  nz bench rmat:16 --kernels csr_serial,jds_serial --device cpu
  nz bench rmat:8 --device emulator --seconds 0.1
  nz bench --device cuda --suite --precision both
  nz bench web.mtx --peers --precision both
  nz bench web.mtx --json - | jq '.matrices[].results[] | {kernel, gflops}')");
  command->callback([options] { run(*options); });
}

}  // namespace nz::cli
