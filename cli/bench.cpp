#include "bench.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include <nonzero/io/output_file.hpp>

#include "matrices.hpp"

namespace nz::cli {
namespace {

struct bench_options {
  bench_setting setting;              // run() adds what depends on the device
  std::vector<std::string> matrices;  // empty: the suite for the device
  std::string device;                 // empty: a GPU if there is one, else the CPU
  std::vector<std::string> kernels;   // empty: all of the device
  std::string precision = "double";
  std::string json_file;  // "-" for standard output; empty: none
  bool is_suite_wanted = false;
  double peer_seconds = 120;
};

std::shared_ptr<device> chosen_device(const std::string& name, bool with_peers) {
  if (with_peers && !name.empty() && name != "cpu")
    throw usage_error("bench: --peers are programs for the CPU: leave out --device, or give cpu");
  return with_peers ? cpu_device() : choose_device(name);
}

bool is_named_in(std::span<const peer_row> rows, const std::string& name) {
  return std::any_of(rows.begin(), rows.end(), [&](const peer_row& row) { return row.name == name; });
}

/// In the order of the tables, peers last. With --peers, --kernels may name peers too. Where it names no
/// peer, all peers run; where it names only peers, all kernels run.
chosen_rows choose_rows(const bench_options& options, device_kind kind) {
  const std::vector<std::string>& named = options.kernels;
  const auto is_named = [&](const auto& row) { return std::count(named.begin(), named.end(), row.name) > 0; };
  const std::span<const peer_row> known =
      options.setting.with_peers ? known_peers() : std::span<const peer_row>();
  chosen_rows out{.with_plan = named.empty(), .peer_seconds = options.peer_seconds};
  bool names_kernel = false;
  for (const std::string& name : named) {
    const bool is_plan = name == plan_name;
    const bool is_peer = is_named_in(known, name);
    if (!is_peer && is_named_in(known_peers(), name))
      throw usage_error(fmt::format("bench: '{}' is another library: give --peers too", name));
    if (!is_plan && !is_peer) find_named_kernel(name, kind);  // throws where there is none
    out.with_plan |= is_plan;
    names_kernel |= !is_plan && !is_peer;
  }
  const bool names_peer = std::any_of(known.begin(), known.end(), is_named);
  for (const peer_row& row : known)
    if (!names_peer || is_named(row)) out.peers.push_back(&row);
  const bool with_all = named.empty() || (!names_kernel && !out.with_plan);
  for (const bool is_peer : {false, true})
    for (const kernel_row& row : kernels())
      if (row.runs_on == kind && row.is_peer == is_peer && (with_all || is_named(row)))
        out.kernels.push_back(&row);
  return out;
}

/// In the user's folder of caches; empty where the user has none.
std::filesystem::path read_curves_file() {
  const auto folder_of = [](const char* variable) {
    const char* const found = std::getenv(variable);
    return std::filesystem::path(found == nullptr ? "" : found);
  };
  std::filesystem::path folder = folder_of("XDG_CACHE_HOME");
  if (!folder.is_absolute() && folder_of("HOME").is_absolute()) folder = folder_of("HOME") / ".cache";
  return folder.is_absolute() ? folder / "nonzero" / "read_curves.json" : std::filesystem::path();
}

/// A note where all prepared matrices take much of the memory. Throws `failed_run` where they do not fit.
template <class V>
std::string memory_note(const std::string& name, const csr<V>& a, const chosen_rows& rows,
                        const bench_setting& setting) {
  // Roughly: a peer stores the arrays and its own format; the exact product is two long doubles per row.
  const std::size_t copies = rows.kernels.size() + 2 * rows.peers.size() + 2;
  const std::uint64_t takes = copies * compulsory_bytes(a), memory = setting.on->memory_bytes();
  if (takes > memory)
    throw failed_run(
        fmt::format("bench: {}: all kernels and peers together would take about {} of {}: name fewer of them "
                    "with --kernels",
                    name, format_bytes(takes), format_bytes(memory)));
  if (takes <= memory / 3) return "";
  return fmt::format("together they take about {} of {} of memory", format_bytes(takes),
                     format_bytes(memory));
}

template <class V>
bench_matrix bench_one(const std::string& name, const csr<V>& a, const chosen_rows& rows,
                       const bench_setting& setting) {
  bench_matrix out{name, precision_name<V>(), a.rows, a.cols, a.nnz(), compulsory_bytes(a)};
  if (setting.reads) out.limit_seconds = setting.reads->seconds_for(out.compulsory_bytes);
  out.csr_bytes = out.compulsory_bytes - (static_cast<std::uint64_t>(a.rows) + a.cols) * sizeof(V);
  progress_bar bar("timing " + name);
  if (!rows.peers.empty()) out.note = memory_note(name, a, rows, setting);
  out.results = run_bench(a, rows, setting, [&](double fraction) { bar.show(fraction); });
  return out;
}

/// Prints the results, matrix by matrix, and writes the JSON.
struct bench_record {
  const bench_setting& setting;
  std::optional<output_file>& file;
  bool prints_json;
  std::vector<json> matrices = {};
  bench_summary summary = {};
  tally count = {};

  void show(const std::string& text) {
    if (!prints_json) print(text);
    finish_output();
  }

  void add(const bench_matrix& matrix) {
    show("\n" + matrix_text(matrix, setting) + comparison_text(matrix));
    matrices.push_back(json_of(matrix, setting));
    if (setting.has_peers()) matrices.back()["against_peers"] = comparison_json(matrix);
    summary.add(matrix, setting);
    for (const bench_result& r : matrix.results) count.add(r);
  }

  void leave_out(const std::string& matrix, const std::string& why) {
    std::fputs(fmt::format("nz: {}: left out\n", printable(why)).c_str(), stderr);
    summary.add_unread(matrix, why);
  }

  /// Throws `failed_run` if any result was wrong, a kernel failed, or nothing could be read.
  void finish() {
    if (const std::string text = summary.text(); !text.empty()) show("\n" + text);
    json all = json_of(setting, matrices);
    all["summary"] = summary.json_value();
    const std::string text = text_of(all);
    if (prints_json) print(text);
    if (file) {
      file->write(text.data(), text.size());
      file->commit();
    }
    if (!count.is_good()) throw failed_run("bench: " + count.text());
    if (matrices.empty()) throw failed_run("bench: no matrix could be read");
  }
};

/// A matrix to measure. One that a folder holds may turn out not to be readable.
struct named_matrix {
  std::string name;
  bool is_from_folder = false;
};

/// With the matrices of a folder in its place.
std::vector<named_matrix> find_matrices(const std::vector<std::string>& given) {
  std::vector<named_matrix> out;
  for (const std::string& name : given) {
    require_known(name);
    std::error_code ignored;
    if (!std::filesystem::is_directory(name, ignored)) {
      out.push_back({name});
      continue;
    }
    for (const std::string& file : matrices_in(name)) out.push_back({file, true});
  }
  return out;
}

/// In each precision. Throws where it cannot be read, unless it is from a folder: then it is left out.
void measure_matrix(const named_matrix& matrix, const std::string& precision, const chosen_rows& rows,
                    bench_record& record) {
  bool is_readable = true;
  with_precision(precision, [&]<class V>(V) {
    if (!is_readable) return;
    csr<V> a;
    try {
      a = load_matrix<V>(matrix.name, record.setting.values);
    } catch (const error& e) {
      if (!matrix.is_from_folder) throw;
      is_readable = false;
      record.leave_out(matrix.name, e.what());
      return;
    }
    record.add(bench_one(matrix.name, a, rows, record.setting));
  });
}

void run(bench_options& options) {
  require_stdin_once("bench", options.matrices, options.precision);
  std::vector<named_matrix> matrices = find_matrices(options.matrices);
  for (const named_matrix& matrix : matrices) {
    std::error_code ignored;
    if (std::filesystem::equivalent(matrix.name, options.json_file, ignored))
      throw usage_error("bench: --json would overwrite the matrix " + matrix.name);
  }
  bench_setting& setting = options.setting;
  setting.on = chosen_device(options.device, setting.with_peers);
  const device_kind kind = setting.on->kind();
  const chosen_rows rows = choose_rows(options, kind);
  const bool prints_json = options.json_file == "-";
  std::optional<output_file> file;  // opened now: the work would be lost if it could not be written
  if (!options.json_file.empty() && !prints_json) file.emplace(options.json_file);
  const measure_options ceiling{.budget_seconds = std::min(setting.seconds, full_ceiling.budget_seconds)};
  setting.copy_ceiling = copy_ceiling(setting.on, ceiling);
  {
    const pinned_threads pinned;
    setting.read_ceiling = read_ceiling(setting.on, ceiling);
    if (kind != device_kind::emulator)
      setting.reads = recall_read_curve(setting.on, setting.is_replayed, read_curves_file());
  }
  setting.baselines = {"openmp_csr", "csr_serial"};  // the plain loop, where it runs
  if (kind != device_kind::cpu) setting.baselines = {"csr_vector"};
  if (kind == device_kind::cuda) setting.plan_baseline = "cusparse_csr_alg1";
  load_kernels(rows.kernels, setting);
  bench_record record{setting, file, prints_json};
  record.show(setting_text(setting));
  if (matrices.empty() || options.is_suite_wanted) {
    const std::vector<named_matrix> suite = find_matrices(suite_for(*setting.on));
    matrices.insert(matrices.begin(), suite.begin(), suite.end());
  }
  for (const named_matrix& matrix : matrices) measure_matrix(matrix, options.precision, rows, record);
  record.finish();
}

}  // namespace

void set_up_bench(command& c) {
  auto& options = c.runs(run);
  c.arguments("MATRIX", options.matrices, 0,
              "Files, folders of files, or generators (a suite for the device)");
  c.flag("--suite", options.is_suite_wanted, "Measure the suite for the device, then the given matrices");
  c.device(options.device);
  std::vector<std::string> names = kernel_names();
  names.emplace_back(plan_name);
  c.list("--kernels", options.kernels, names,
         "Only these, or plan; nz list shows them (all kernels of the device, and plan)");
  c.precision(options.precision, true);
  c.threads();
  c.values(options.setting.values);
  c.budget(options.setting.budget);
  c.number("--seconds", options.setting.seconds, "S", {1e-6, 3600},
           "Time for each kernel (0.5); below 0.01 the ceiling is inaccurate");
  c.flag("--replay", options.setting.is_replayed,
         "On a GPU: replay short calls from a CUDA graph, which leaves out launch times of the host");
  c.flag("--peers", options.setting.with_peers, "On the CPU: measure other libraries in the same run");
  c.number("--peer-seconds", options.peer_seconds, "S", {1e-3, 1e6},
           "Time limit for an answer of a peer (120)");
  c.file("--json", options.json_file, "Write all figures to this JSON file; - prints them instead of tables");
  c.footer(
      R"(The products of each kernel are checked first, as nz check does. A wrong kernel is not timed, and the exit status
is then 1. The columns, with x and y on the device:
  time        the median of y = A x, and ± half its interquartile range; with more than ± 25 % a row is not called
              fastest; of calls that follow each other, as in a solver, so that launches on a GPU overlap if they can
  GFLOP/s     two operations per entry
  GB/s        over the compulsory bytes: a value and a 4-byte column per entry, the row offsets, x and y once
  ceiling     GB/s in percent of the bandwidth of reading memory (CPU) or of copying it (other devices); more than
              100 % where the cache helps, or where a kernel moves fewer bytes
  convert     time to convert the matrix from CSR and copy it to the device; for plan: of the planning, on a GPU
              from CSR in its memory
  pays after  multiplies after which the conversion has paid for itself (–: never), compared with csr_vector; on the
              CPU with openmp_csr where it runs, else csr_serial; for plan on a GPU with cusparse_csr_alg1

The limit of a matrix is the time of reading its compulsory bytes, from an array of that size which is read again and
again, so that it lies in the cache that can hold it; on a GPU with the launch. The line below a table says how much of
it the plan reaches, or our fastest kernel without one. More than 100 % where a kernel moves fewer bytes, or on a GPU
where launches overlap; less where x is gathered from far away, which the limit does not count. How fast the device reads
is measured once, and kept in ~/.cache/nonzero/read_curves.json (or below $XDG_CACHE_HOME); delete the file to measure it
again.

Of a folder, all files that end in .mtx, .mtx.gz, .tar.gz or .npz are measured, in alphabetical order. One that
cannot be read, or holds complex values, is named on standard error and left out.

The summary is of two matrices or more, and apart from it of those of more than 10,000 entries. Where peers run (on a
GPU those of cuSPARSE), it says how many times as fast as the fastest peer our fastest kernel and the plan are: the
geometric mean, and the worst. It counts the matrices on which the plan is within 5 % of our fastest kernel. It gives
percent of the limit and of the ceiling, memory relative to CSR, and when plans pay.

With --values random, each matrix gets random values that do not repeat, so that formats that store repeated or short
values gain nothing. Files without values (patterns) and files of small integers make such formats look better than they
are for other values.

With --peers, these libraries run on the CPU: openmp_csr (the plain loop), eigen, graphblas, petsc_aij and petsc_sell
(an MPI rank for each thread), librsb (tuned), onemkl (its inspector-executor; x86-64 only), scipy (one thread). Each
is a separate program that 'make peers' builds where its library is installed, in the folder peers beside nz or in
$NONZERO_PEERS; --kernels can name them too. All are prepared at once and sampled in turns, each with as many threads
as nz uses (--threads), bound to processors unless OMP_PROC_BIND is set.

Examples:
  nz bench
  nz bench web.mtx poisson2d:1000 --precision both
  nz bench matrices/ --values random
  nz bench rmat:16 --kernels csr_serial,jds_serial --device cpu
  nz bench rmat:8 --device emulator --seconds 0.1
  nz bench --device cuda --suite --precision both
  nz bench web.mtx --peers --precision both
  nz bench web.mtx --json - | jq '.matrices[].results[] | {kernel, gflops}')");
}

}  // namespace nz::cli
