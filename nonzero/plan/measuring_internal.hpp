#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <nonzero/core/errors.hpp>
#include <nonzero/kernel/kernel_row.hpp>
#include <nonzero/plan/plan.hpp>

namespace nz {

/// Predictions may be wrong: a conversion is tried where it seems to pay within this fraction of the
/// multiplies to come.
constexpr double paying_fraction = 0.5;

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Ones, written by copies that double: nothing long comes from the host.
template <class T> vector<T> ones(const std::shared_ptr<device>& on, std::size_t size) {
  constexpr std::size_t first = 4096;
  vector<T> out(on, size);
  if (size == 0) return out;
  const std::vector<T> host(std::min(first, size), T{1});
  on->copy(out.data(), host.data(), host.size() * sizeof(T), {});
  for (std::size_t written = host.size(); written < size; written *= 2)
    on->copy(out.data() + written, out.data(), std::min(written, size - written) * sizeof(T), {});
  on->synchronize({});
  return out;
}

/// Runs what prepares one candidate of several, and returns why it could not; empty where it did.
template <class Prepare> std::string why_not_prepared(Prepare prepare) {
  try {
    prepare();
  } catch (const unsupported& e) {
    return e.what();
  } catch (const device_error& e) {
    return e.what();
  } catch (const std::bad_alloc&) {
    return "there is too little memory for it";
  }
  return {};
}

/// What the planner needs of one matrix on one kind of device. The planner (planner.cpp) holds the rules, the
/// same everywhere; cpu_measuring.cpp and device_measuring.cpp predict, convert and time.
template <class V> class measuring {
 public:
  virtual ~measuring() = default;
  measuring(const measuring&) = delete;
  measuring& operator=(const measuring&) = delete;

  /// The report before anything is measured: the matrix, the machine, the memory budget.
  const plan_report& start() const { return start_; }
  double memory_budget() const { return start_.memory_budget; }
  bool does_csr_fit() const { return static_cast<double>(start_.csr_bytes) <= memory_budget(); }
  /// As a multiple of CSR's bytes, for conversions that pad.
  padding_budget padding() const { return {memory_budget() / static_cast<double>(start_.csr_bytes)}; }

  /// Why nothing is measured for a matrix of this size; empty where measuring may pay.
  virtual std::string why_not_measured() const = 0;
  /// The kernels to use without measuring, best first.
  virtual std::vector<const kernel_row*> unmeasured_kernels(plan_report& report) = 0;
  /// The key of the choice for this matrix, machine and options in the file of choices.
  virtual std::string find_choice_key() const = 0;
  /// Whether the kernel exists for these types of values and sums.
  virtual bool has(const kernel_row& kernel) const = 0;
  /// Converts the matrix. Throws `unsupported`, `device_error` or std::bad_alloc.
  virtual std::unique_ptr<prepared_matrix<V>> prepare(const kernel_row& kernel,
                                                      padding_budget budget = {}) = 0;

  /// Features of the matrix that the report shows.
  virtual void survey(plan_report& report) = 0;
  /// Measures the baseline: the kernel to compare with, which needs no conversion. It is the first candidate;
  /// other kernels of CSR that were measured with it follow.
  virtual std::vector<plan_candidate> measure_base() = 0;
  /// The baseline, prepared for the plan.
  virtual std::unique_ptr<prepared_matrix<V>> take_baseline() = 0;
  /// Adds bytes, seconds and conversion to a candidate, or a verdict against it.
  virtual void predict(const kernel_row& kernel, plan_candidate& out) = 0;
  /// The seconds of a multiply.
  virtual double time(const prepared_matrix<V>& ready) = 0;
  virtual double time_baseline() = 0;

  /// The same matrix with rows and columns in another order; null where it has none. What it prepares
  /// and times is P A P^T; in_old_order makes A of it.
  virtual std::unique_ptr<measuring<V>> reorder() { return nullptr; }
  /// Whether that could pay, by what is measured so far.
  virtual bool could_reorder(const plan_report&) const { return false; }
  virtual std::unique_ptr<prepared_matrix<V>> in_old_order(std::unique_ptr<prepared_matrix<V>> ready) {
    return ready;
  }

  int most_conversions = 3;
  /// A candidate may be faster than predicted by this fraction.
  double prediction_error = 0;
  int most_rounds = 3;  // in which two kernels of about the same speed are timed in turns
  // Known once the baseline is measured:
  double bytes_per_second = 0;
  double waiting_seconds = 0;  // of the baseline's time, what neither its bytes nor its instructions explain

 protected:
  explicit measuring(plan_report start) : start_(std::move(start)) {}
  plan_report start_;
};

/// The report as it begins, for values in A.
template <class A, class V>
plan_report begin_report(index rows, index cols, offset nnz, std::uint64_t csr_bytes,
                         const plan_options& options) {
  plan_report out;
  out.rows = rows;
  out.cols = cols;
  out.entries = nnz;
  out.mean_row = rows == 0 ? 0 : static_cast<double>(nnz) / rows;
  out.value_bytes = sizeof(A);
  out.vector_bytes = sizeof(V);
  out.is_rounded = sizeof(A) < sizeof(V) && options.values == stored_values::single;
  out.csr_bytes = csr_bytes;
  out.compulsory_bytes =
      csr_bytes + (static_cast<std::uint64_t>(rows) + static_cast<std::uint64_t>(cols)) * sizeof(V);
  out.expected_multiplies = options.expected_multiplies;
  return out;
}

/// The first candidate.
inline plan_candidate baseline_candidate(std::string_view kernel, double seconds, double bytes) {
  return {.kernel = std::string(kernel),
          .predicted_bytes = static_cast<std::uint64_t>(bytes),
          .predicted_seconds = seconds,
          .predicted_conversion = 0,
          .seconds = seconds,
          .conversion = 0,
          .verdict = {}};
}

/// Makes the plan: forces, keeps, recalls or tunes.
template <class V> plan<V> make_plan_by(measuring<V>& m, const plan_options& options);

/// The plan of a matrix in the host's memory, for the CPU. `kept` owns arrays of `a`, if it is not null.
/// Where `may_borrow` is false, a plan that stays with CSR copies them.
template <class V, class A>
plan<V> plan_on_cpu(csr_view<A> a, std::shared_ptr<const void> kept, bool may_borrow,
                    const plan_options& options);

/// The same in the memory of a GPU, or of the emulator.
template <class V, class A>
plan<V> plan_on_device(std::shared_ptr<const device_csr<A>> a, const plan_options& options);

}  // namespace nz
