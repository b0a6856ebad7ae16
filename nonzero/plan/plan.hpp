#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nonzero/core/device.hpp>
#include <nonzero/formats/csr.hpp>
#include <nonzero/kernel/device_csr.hpp>
#include <nonzero/kernel/prepared_matrix.hpp>
#include <nonzero/plan/locality.hpp>

namespace nz {

struct plan_options {
  std::shared_ptr<device> on = nullptr;  // none: the CPU, or where the matrix is
  /// How many multiplies are to come: a conversion that does not pay for itself within them is not made.
  std::int64_t expected_multiplies = 200;
  /// They are fused steps with a sum over the rows (prepared_matrix::apply), which some kernels take much
  /// longer for than for a plain multiply: on a GPU, those are what is timed.
  bool are_steps = false;
  /// Bytes that the prepared matrix may take; none: 1.15 times what CSR takes,
  /// 1.1 times and 64 KiB on a GPU.
  std::optional<double> memory_budget = std::nullopt;
  /// Only kernels whose products have the same bits every time, for any number of threads.
  bool deterministic = true;
  /// This one and no other; empty: the plan chooses.
  std::string kernel = {};
  /// On the CPU, rows and columns may get new numbers inside the plan where that brings what they gather
  /// together.
  bool may_reorder = true;
  /// A JSON file of choices made before, read and added to; empty: none. It is no secret and needs no trust:
  /// a wrong choice in it costs time, never a wrong product.
  std::string remembered = {};
  /// On the CPU: the instruction set, one of simd_targets(); empty: the best there is.
  std::string_view simd = {};
};

/// One way to multiply that was thought of.
struct plan_candidate {
  std::string kernel;
  /// What it would take, judged by a sample of the rows. Missing where it was not looked at, or refused.
  std::optional<std::uint64_t> predicted_bytes;
  std::optional<double> predicted_seconds, predicted_conversion;
  /// What it took, where it was converted.
  std::optional<double> seconds, conversion;
  bool is_chosen = false;
  std::string verdict;  // why it was chosen or dropped
};

/// How a plan came about.
struct plan_report {
  std::string kernel, reason;
  std::string base_kernel;  // what it was compared with, which needs no conversion; empty: nothing
  std::string encodings;    // how the kernel holds the matrix, where it can say
  bool is_reordered = false;
  bool is_remembered = false;  // found in the file of choices; nothing was measured
  bool are_steps = false;      // "a multiply" below is a fused step

  index rows = 0, cols = 0;
  offset entries = 0, longest_row = 0;
  double mean_row = 0;
  locality gathers;  // how scattered what they read of x is; all 0: not looked at

  device_kind kind = device_kind::cpu;  // where it runs
  std::string machine;                  // "CPU, 2 threads, NEON"
  double bytes_per_second = 0;  // at which all threads read the matrix, or a GPU copies; 0: not measured
  double csr_seconds = 0;       // a multiply by the base; 0: not measured
  double waiting_seconds = 0;   // of those, what neither its bytes nor its instructions explain
  double reorder_seconds = 0;   // new numbers and the matrix written anew; 0: not tried
  double chosen_seconds = 0;    // a multiply by this plan; 0: not measured
  double seconds = 0;           // all of the planning, conversions and all
  std::uint64_t csr_bytes = 0, bytes = 0;  // what CSR would take; what the plan takes
  std::uint64_t compulsory_bytes = 0;      // what a multiply in CSR moves at the least: it, x and y once
  double memory_budget = 0;
  std::int64_t expected_multiplies = 0;
  std::vector<plan_candidate> candidates;

  /// After how many multiplies the planning has paid for itself against the base; none: never, or not
  /// known.
  std::optional<double> pays_after() const;
};

/// The report for people: the choice and its reason, the matrix, the machine, and a line for each candidate.
std::string explain(const plan_report& report);

/// A matrix made ready for the kernel that suits it. One multiply at a time, as with a prepared_matrix. The
/// products of one plan have the same bits for any number of threads; another plan for the same matrix may
/// have found another kernel the fastest, whose sums are rounded otherwise: force the kernel, or remember it.
template <class V> class plan {
 public:
  /// y = A x, and y = alpha * A x + beta * y. Throw `shape_error` if x or y does not fit, or if they overlap.
  void multiply(std::span<const V> x, std::span<V> y) const { ready_->multiply(V{1}, x, V{0}, y); }
  void multiply(V alpha, std::span<const V> x, V beta, std::span<V> y) const {
    ready_->multiply(alpha, x, beta, y);
  }
  /// The same with vectors on where(), in a stream: prepared_matrix::multiply.
  void multiply(vector_view<const V> x, vector_view<V> y, stream in = {}) const {
    ready_->multiply(V{1}, x, V{0}, y, in);
  }
  void multiply(V alpha, vector_view<const V> x, V beta, vector_view<V> y, stream in = {}) const {
    ready_->multiply(alpha, x, beta, y, in);
  }
  /// Fused steps: prepared_matrix::apply.
  void apply(vector_view<const V> x, const fused_step<V>& step, vector_view<V> y, vector_view<double> sums,
             stream in = {}, std::size_t at = 0) const {
    ready_->apply(x, step, y, sums, in, at);
  }
  void apply(std::span<const V> x, const fused_step<V>& step, std::span<V> y, std::span<double> sums) const {
    ready_->apply(x, step, y, sums);
  }
  double apply(std::span<const V> x, const rows_epilogue<V>& epilogue) const {
    return ready_->apply(x, epilogue);
  }

  /// The matrix as the plan has made it ready; lives as long as the plan.
  const prepared_matrix<V>& prepared() const { return *ready_; }
  const std::string& kernel() const { return report_.kernel; }
  footprint storage() const { return ready_->storage(); }
  const std::shared_ptr<device>& where() const { return ready_->where(); }
  index rows() const { return ready_->rows(); }
  index cols() const { return ready_->cols(); }
  const plan_report& report() const { return report_; }
  std::string explain() const { return nz::explain(report_); }
  /// Keeps what the plan borrows alive as long as it.
  void keep(std::shared_ptr<const void> borrowed) { ready_->keep(std::move(borrowed)); }

  /// For make_plan. `kept` is what `ready` borrows, if anything.
  plan(std::unique_ptr<const csr<V>> kept, std::unique_ptr<prepared_matrix<V>> ready, plan_report report)
      : kept_(std::move(kept)), ready_(std::move(ready)), report_(std::move(report)) {}

 private:
  std::unique_ptr<const csr<V>> kept_;  // outlives what borrows it
  std::unique_ptr<prepared_matrix<V>> ready_;
  plan_report report_;
};

/// Looks at the matrix, predicts what each candidate of the table would take, measures the few that could
/// win, and converts for the best of them, if that pays. Never ends with one that was slower than the base:
/// csr_balanced, or the GPU's fastest kernel for CSR. For a GPU the matrix is copied there first. Throws
/// `unsupported` where there is no kernel of the name asked for or where nothing fits the budget,
/// `parse_error` where the file of choices holds something else.
///
/// An owner is copied where the plan stays with CSR; a view is borrowed (its arrays must outlive the plan);
/// an owner that is moved from is kept.
template <class V> plan<V> make_plan(const csr<V>& a, const plan_options& options = {});
template <class V> plan<V> make_plan(csr<V>&& a, const plan_options& options = {});
template <class V> plan<V> make_plan(csr_view<V> a, const plan_options& options = {});
template <class V> plan<V> make_plan(csr_view<V, std::int32_t> a, const plan_options& options = {});

/// The same for a matrix in the memory of a GPU or of the emulator, and for that device. A plan that stays
/// with CSR shares it, uncopied.
template <class V>
plan<V> make_plan(const std::shared_ptr<const device_csr<V>>& a, const plan_options& options = {});

}  // namespace nz
