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

/// The precision in which a plan holds the values of its matrix.
enum class stored_values : std::uint8_t {
  same,  // as given
  /// Single precision. For a plan in double they are rounded to float, which halves their bytes; x, y and the
  /// sums stay in double. A value too large for float throws `unsupported`. A plan in float ignores it.
  single,
};

struct plan_options {
  std::shared_ptr<device> on = nullptr;  // none: the CPU, or where the matrix is
  /// How many multiplies are to come: a conversion that does not pay for itself within them is not made.
  std::int64_t expected_multiplies = 200;
  /// The multiplies are fused steps with a sum over the rows (prepared_matrix::apply), which take some
  /// kernels much longer than a plain multiply. On a GPU the planner then times steps.
  bool are_steps = false;
  /// Bytes that the prepared matrix may take; none: 1.15 times what CSR takes, or 1.1 times plus 1 MiB on a
  /// GPU.
  std::optional<double> memory_budget = std::nullopt;
  /// Only repeatable kernels: products have the same bits every time, for any number of threads.
  bool deterministic = true;
  /// Use this kernel; empty: the plan chooses.
  std::string kernel = {};
  /// On the CPU, rows and columns may be reordered inside the plan, where that improves the locality of x.
  bool may_reorder = true;
  /// A JSON file of choices made before, read and added to; empty: none. Several threads and processes may
  /// use it at the same time. A wrong choice in it costs time, never a wrong product.
  std::string remembered = {};
  /// On the CPU: the instruction set, one of simd_targets(); empty: the best one.
  std::string_view simd = {};
  /// In which precision the plan holds the matrix's values.
  stored_values values = stored_values::same;
  /// The caller vouches for the matrix: it is not validated.
  bool is_trusted = false;
};

/// A kernel that the planner considered.
struct plan_candidate {
  std::string kernel;
  /// Predictions, on the CPU from a sample of the rows. Missing where there are none.
  std::optional<std::uint64_t> predicted_bytes;
  std::optional<double> predicted_seconds, predicted_conversion;
  /// Measured, where the matrix was converted.
  std::optional<double> seconds, conversion;
  bool is_chosen = false;
  std::string verdict;  // why it was chosen or dropped
};

/// What a plan has chosen, and why.
struct plan_report {
  std::string kernel, reason;
  std::string base_kernel;  // the kernel it was compared with, which needs no conversion; empty: none
  std::string encodings;    // how the kernel holds the matrix, where it can say
  bool is_reordered = false;
  bool is_remembered = false;  // read from the file of choices; nothing was measured
  bool are_steps = false;      // a multiply, below, is a fused step

  index rows = 0, cols = 0;
  offset entries = 0, longest_row = 0;
  double mean_row = 0;
  locality gathers;                               // how scattered the reads of x are; all 0: not measured
  std::size_t value_bytes = 0, vector_bytes = 0;  // of a stored value; of a number in x and y
  bool is_rounded = false;                        // the values were rounded (stored_values::single)

  device_kind kind = device_kind::cpu;  // where it runs
  std::string machine;                  // "CPU, 2 threads, NEON"
  double bytes_per_second = 0;    // at which all threads read the matrix, or a GPU copies; 0: not measured
  double csr_seconds = 0;         // a multiply by the baseline; 0: not measured
  double waiting_seconds = 0;     // of those, what neither its bytes nor its instructions explain
  double reorder_seconds = 0;     // finding an order and writing the matrix in it; 0: not tried
  double chosen_seconds = 0;      // a multiply by this plan; 0: not measured
  double validation_seconds = 0;  // looking whether the matrix is valid; 0: the caller vouches for it
  double seconds = 0;  // all of the planning, with validation, conversions and the rounding of values
  std::uint64_t csr_bytes = 0, bytes = 0;  // what CSR would take; what the plan takes
  std::uint64_t compulsory_bytes = 0;      // what a multiply in CSR moves at least: it, x and y once
  double memory_budget = 0;
  std::int64_t expected_multiplies = 0;
  std::vector<plan_candidate> candidates;

  /// After how many multiplies all of the planning has paid for itself, compared with the baseline; none:
  /// never, or not known.
  std::optional<double> pays_after() const;
};

/// The report as text: the choice and its reason, the matrix, the machine, and a line for each candidate.
std::string explain(const plan_report& report);

/// Throws `unsupported`: what a plan does that was moved from.
[[noreturn]] void refuse_empty_plan();

/// A matrix prepared for the kernel that suits it. Thread safety: as a prepared_matrix, whatever is const may
/// be called from any number of threads at once. The products of one plan have the same bits for any number
/// of threads. Another plan for the same matrix may choose another kernel, which rounds differently. For the
/// same bits, force the kernel or use `remembered`. A plan that was moved from throws `unsupported`, whatever
/// is asked of it.
template <class V> class plan {
 public:
  /// y = A x, and y = alpha * A x + beta * y. Throw `shape_error` if x or y does not fit, or if they overlap.
  void multiply(std::span<const V> x, std::span<V> y) const { prepared().multiply(V{1}, x, V{0}, y); }
  void multiply(V alpha, std::span<const V> x, V beta, std::span<V> y) const {
    prepared().multiply(alpha, x, beta, y);
  }
  /// The same with vectors on where(), in a stream: prepared_matrix::multiply.
  void multiply(vector_view<const V> x, vector_view<V> y, stream in = {}) const {
    prepared().multiply(V{1}, x, V{0}, y, in);
  }
  void multiply(V alpha, vector_view<const V> x, V beta, vector_view<V> y, stream in = {}) const {
    prepared().multiply(alpha, x, beta, y, in);
  }
  /// Fused steps: prepared_matrix::apply.
  void apply(vector_view<const V> x, const fused_step<V>& step, vector_view<V> y, vector_view<double> sums,
             stream in = {}, std::size_t at = 0) const {
    prepared().apply(x, step, y, sums, in, at);
  }
  void apply(std::span<const V> x, const fused_step<V>& step, std::span<V> y, std::span<double> sums) const {
    prepared().apply(x, step, y, sums);
  }
  double apply(std::span<const V> x, const rows_epilogue<V>& epilogue) const {
    return prepared().apply(x, epilogue);
  }

  /// The prepared matrix; lives as long as the plan.
  const prepared_matrix<V>& prepared() const {
    if (ready_ == nullptr) [[unlikely]]
      refuse_empty_plan();
    return *ready_;
  }
  const std::string& kernel() const { return report().kernel; }
  footprint storage() const { return prepared().storage(); }
  const std::shared_ptr<device>& where() const { return prepared().where(); }
  index rows() const { return prepared().rows(); }
  index cols() const { return prepared().cols(); }
  const plan_report& report() const {
    prepared();
    return report_;
  }
  std::string explain() const { return nz::explain(report()); }
  /// Keeps what the plan borrows alive as long as it.
  void keep(std::shared_ptr<const void> borrowed) {
    prepared();
    ready_->keep(std::move(borrowed));
  }

  /// For make_plan.
  plan(std::unique_ptr<prepared_matrix<V>> ready, plan_report report)
      : ready_(std::move(ready)), report_(std::move(report)) {}
  void add_planning(double seconds) { report_.seconds += seconds; }
  void add_validation(double seconds) {
    report_.validation_seconds += seconds;
    report_.seconds += seconds;
  }

 private:
  std::unique_ptr<prepared_matrix<V>> ready_;
  plan_report report_;
};

/// Surveys the matrix, predicts bytes and time of each candidate of the table, converts for the few that
/// should pay, times them, and keeps the fastest. Does not end with a kernel that was slower than the
/// baseline (csr_balanced, or the GPU's fastest kernel for CSR), unless the baseline does not fit the memory
/// budget, or the kernel is forced or remembered. For a GPU the matrix is copied there first. Throws
/// `shape_error` where the matrix is not valid, unless the caller vouches for it, `unsupported` where there
/// is no kernel of the given name or where nothing fits the budget, `parse_error` where the file of choices
/// is malformed.
///
/// An owner is copied where the plan stays with CSR; a view is borrowed (its arrays must outlive the plan);
/// an owner that is moved from is kept. Values that are rounded (stored_values::single) are the plan's own.
template <class V> plan<V> make_plan(const csr<V>& a, const plan_options& options = {});
template <class V> plan<V> make_plan(csr<V>&& a, const plan_options& options = {});
template <class V> plan<V> make_plan(csr_view<V> a, const plan_options& options = {});
template <class V> plan<V> make_plan(csr_view<V, std::int32_t> a, const plan_options& options = {});

/// The same for a matrix in a device's memory, and for that device. A plan that stays
/// with CSR shares it, uncopied. To round its values, it is copied to the host and back.
template <class V>
plan<V> make_plan(const std::shared_ptr<const device_csr<V>>& a, const plan_options& options = {});

/// A plan in V for values that are already held in another type: make_plan<double>(view of floats).
template <class V, class A>
requires(!std::is_same_v<A, V>) plan<V> make_plan(csr_view<A> a, const plan_options& options = {});
template <class V, class A>
requires(!std::is_same_v<A, V>) plan<V> make_plan(csr_view<A, std::int32_t> a,
                                                  const plan_options& options = {});
template <class V, class A>
requires(!std::is_same_v<A, V>) plan<V> make_plan(const std::shared_ptr<const device_csr<A>>& a,
                                                  const plan_options& options = {});

}  // namespace nz
