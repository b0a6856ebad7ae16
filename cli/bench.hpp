#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sched.h>

#include <nonzero/plan/limit.hpp>
#include <nonzero/plan/measure.hpp>
#include <nonzero/plan/plan.hpp>

#include "checking.hpp"
#include "output.hpp"

// What `nz bench` measures, and how it reports it.
namespace nz::cli {

/// The result of one kernel, of the plan, or of a peer on one matrix: a row of the table. It is timed where
/// its products are right.
struct bench_result : outcome {
  std::string name, format;
  bool is_peer = false;
  std::string version = {};  // of a peer that is a separate program
  timing time = {};
  std::string chosen = {};  // the kernel that a plan chose
  bool is_reordered = false;
};

/// Whether its times differ little enough to be compared with others: half their interquartile range is at
/// most this fraction of the median.
inline constexpr double most_spread = 0.25;
inline bool is_steady(const timing& time) { return time.high - time.low <= 2 * most_spread * time.seconds; }

/// The name of the row for the matrix's plan.
inline constexpr std::string_view plan_name = "plan";

/// The device, how it is measured, and what to compare with.
struct bench_setting {
  std::shared_ptr<device> on = nullptr;
  double copy_ceiling = 0;                       // bytes per second, read and written
  std::optional<double> read_ceiling = {};       // bytes per second
  std::vector<std::string_view> baselines = {};  // "pays after" compares with the first of these that runs
  padding_budget budget = {};
  double seconds = 0.5;      // for each kernel
  bool with_peers = false;   // other libraries run too: all are prepared at once and sampled in turns
  bool is_replayed = false;  // calls are replayed from a CUDA graph
  std::string_view plan_baseline = {};   // for plans, which on a GPU start from CSR in its memory; or empty
  std::string values = "file";           // or "random"
  std::optional<read_curve> reads = {};  // none in the emulator

  bool has_peers() const { return with_peers || on->kind() == device_kind::cuda; }
  /// 100 %. A multiply mostly reads.
  double ceiling() const { return read_ceiling.value_or(copy_ceiling); }
};

struct bench_matrix {
  std::string name;
  const char* precision = "";
  index rows = 0, cols = 0;
  offset entries = 0;
  std::uint64_t compulsory_bytes = 0;
  std::vector<bench_result> results = {};  // peers last
  std::string note = {};                   // a line below the table; may be empty
  std::uint64_t csr_bytes = 0;
  std::optional<double> limit_seconds = {};  // reading the compulsory bytes takes that long at least

  double gigaflops(const bench_result& r) const {
    return 2e-9 * static_cast<double>(entries) / r.time.seconds;
  }
  double bytes_per_second(const bench_result& r) const {
    return static_cast<double>(compulsory_bytes) / r.time.seconds;
  }
  /// The plan, or without one our fastest kernel: what the limit is compared with. Null where neither ran.
  const bench_result* plan_or_fastest() const {
    const bench_result* const made = find_timed(plan_name);
    return made != nullptr ? made : fastest(false, false);
  }
  /// After how many multiplies the conversion has paid for itself: 0 where it takes no longer than that of
  /// the baseline, or has the same format. None where it never pays, for the baseline, and without one.
  std::optional<double> pays_after(const bench_result& r, const bench_setting& setting) const;
  // Null where there is none that was timed.
  const bench_result* find_baseline(const bench_setting& setting) const;
  const bench_result* find_timed(std::string_view wanted) const;
  /// Of those that are steady, or of all; of one format, or of all.
  const bench_result* fastest(std::optional<bool> is_peer = {}, bool steady_only = true,
                              std::string_view format = {}) const;
};

/// The lines above all tables.
std::string setting_text(const bench_setting& setting);
/// Title and table of one matrix; with fewer columns where the terminal is narrow.
std::string matrix_text(const bench_matrix& matrix, const bench_setting& setting);
json json_of(const bench_setting& setting, const std::vector<json>& matrices);
json json_of(const bench_matrix& matrix, const bench_setting& setting);

/// How many times as fast as the fastest peer one of our rows is on one matrix.
struct comparison {
  std::string matrix, ours, peer;
  double ratio = 0;
};

/// A line: "csr_serial is 1.23 × as fast as eigen; plan is …". Empty without peers.
std::string comparison_text(const bench_matrix& matrix);
json comparison_json(const bench_matrix& matrix);

/// The figures of all matrices of a run, and those of the larger ones.
class bench_summary {
 public:
  void add(const bench_matrix& matrix, const bench_setting& setting);
  void add_unread(const std::string& matrix, const std::string& why);
  /// A table for each precision with at least two matrices. Empty where there is nothing to say.
  std::string text() const;
  json json_value() const;

 private:
  static constexpr offset large = 10000;  // entries; a matrix of more is large

  struct figures {
    std::int64_t matrices = 0;
    std::vector<comparison> best, plan, plan_in_csr;
    // The limit relative to the time of the plan, or without one of our fastest kernel.
    std::vector<double> limit;
    // Of the plans: their time relative to that of our fastest kernel, GB/s relative to the ceiling, bytes
    // relative to CSR, multiplies after which they pay.
    std::vector<double> times_fastest, ceiling, memory, paid;

    std::int64_t count_close() const;
    json json_value() const;
  };
  struct of_precision {
    figures all, large;
  };
  static std::string text_of(const char* precision, const of_precision& found);

  of_precision float_, double_;
  std::vector<json> unread_;
};

/// What is prepared, checked and timed on one matrix: a kernel, a plan, or a peer.
class entry {
 public:
  explicit entry(bench_result row) : result(std::move(row)) {}
  virtual ~entry() = default;
  entry(const entry&) = delete;
  entry& operator=(const entry&) = delete;

  /// Prepares the matrix and checks its products. `result` records failures; nothing is thrown.
  virtual void prepare() = 0;
  /// The seconds of all calls together, after one call to warm up where other entries ran in between. Throws
  /// `nz::error` or std::bad_alloc where it fails.
  virtual double run(int calls, bool warm_up) = 0;
  /// Frees what prepare() allocated.
  virtual void release() = 0;

  bench_result result;
};

using entries = std::vector<std::unique_ptr<entry>>;

/// A multiply of another library on the CPU: a separate program (bench/peers/), built where its library is
/// installed.
struct peer_row {
  std::string_view name, format;
  std::string_view program, argument;  // the argument may be empty
};

/// All known peers, whether they are built or not.
std::span<const peer_row> known_peers();

/// The rows of the tables.
struct chosen_rows {
  std::vector<const kernel_row*> kernels = {};
  bool with_plan = false;
  std::vector<const peer_row*> peers = {};
  double peer_seconds = 0;  // to wait for an answer of a peer
};

/// Adds the peers. They use one copy of the matrix; `rows` and `against` must outlive them.
template <class V>
void add_peers(entries& to, const csr<V>& a, const trials_of_matrix<V>& against, const chosen_rows& rows);

/// All processors of this process.
cpu_set_t own_processors();

/// Binds each of the library's threads to its own processor while it lives: threads that slept while another
/// entry was measured may wake up on the same processor, and the system separates them only after the sample.
/// Does nothing where there are more threads than processors.
class pinned_threads {
 public:
  pinned_threads();
  ~pinned_threads();
  pinned_threads(const pinned_threads&) = delete;
  pinned_threads& operator=(const pinned_threads&) = delete;

 private:
  std::vector<cpu_set_t> before_;  // of each thread; empty: nothing was bound
};

/// Prepares a tiny matrix by each kernel: the first preparation loads code, which is not to be measured.
void load_kernels(const std::vector<const kernel_row*>& kernels, const bench_setting& setting);

/// Prepares and times all rows: one after the other, or all prepared at once and sampled in turns. `report`
/// gets the fraction that is done.
template <class V>
std::vector<bench_result> run_bench(const csr<V>& a, const chosen_rows& rows, const bench_setting& setting,
                                    const std::function<void(double)>& report);

/// The matrices of `nz bench` without arguments: large ones, which do not fit in the cache of the device, and
/// two small ones. Tiny ones for the emulator.
std::vector<std::string> suite_for(const device& on);

}  // namespace nz::cli
