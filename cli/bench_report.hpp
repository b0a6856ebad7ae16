#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/measure.hpp>

#include "checking.hpp"

namespace nz::cli {

/// What `nz bench` found of one kernel, or another library's multiply, on one matrix.
struct bench_result : outcome {
  std::string name, format;
  bool is_peer = false;
  std::string version = {};  // of a peer that is a program of its own
  timing time = {};          // only of what is right

  bool is_timed() const { return is_right(); }
};

/// The result that a plan for the matrix gives, where it takes part.
inline constexpr std::string_view plan_name = "plan";

/// What was measured on, and what to compare with.
struct bench_setting {
  std::shared_ptr<device> on;
  double copy_ceiling = 0;             // bytes per second, read and written
  std::optional<double> read_ceiling;  // bytes per second
  std::vector<std::string_view>
      baselines;  // what a conversion has to pay for itself against: the first that runs
  padding_budget budget;
  double seconds = 0;        // for each kernel
  bool in_turns = false;     // all prepared at once and sampled in turns
  bool is_replayed = false;  // calls are replayed from a CUDA graph
  /// What plans have to pay against on a GPU, where they start from a CSR that lies there; empty: the
  /// baselines.
  std::string_view plan_baseline = {};

  bool has_peers() const { return in_turns || on->kind() == device_kind::cuda; }
  /// What percentages are of. A multiply mostly reads.
  double ceiling() const { return read_ceiling.value_or(copy_ceiling); }
};

struct bench_matrix {
  std::string name;
  const char* precision = "";
  index rows = 0, cols = 0;
  offset entries = 0;
  std::uint64_t compulsory_bytes = 0;
  std::vector<bench_result> results = {};  // peers last
  std::string note = {};                   // a line to go with them; may be empty
  std::uint64_t csr_bytes = 0;

  double gigaflops(const bench_result& r) const;
  double bytes_per_second(const bench_result& r) const;
  /// After how many multiplies the kernel's conversion has paid for itself: 0 where it takes no longer than
  /// the baseline's, or is the same. None where it never does, for the baseline itself, and where there is
  /// none.
  std::optional<double> pays_after(const bench_result& r, const bench_setting& setting) const;
  /// Null where none of the setting's was timed.
  const bench_result* find_baseline(const bench_setting& setting) const;
  const bench_result* find_timed(std::string_view wanted) const;
  /// The fastest of the peers or of ours; null where there is none.
  const bench_result* fastest(bool is_peer) const;
};

/// The line above all tables.
std::string setting_text(const bench_setting& setting);
/// Title and table of one matrix; with fewer columns where the terminal is narrow.
std::string matrix_text(const bench_matrix& matrix, const bench_setting& setting);

nlohmann::ordered_json as_json(const bench_setting& setting);
nlohmann::ordered_json as_json(const bench_matrix& matrix, const bench_setting& setting);

}  // namespace nz::cli
