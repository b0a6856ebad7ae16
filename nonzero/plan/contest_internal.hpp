#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include <nonzero/formats/kernel_row.hpp>
#include <nonzero/plan/plan.hpp>

namespace nz {

/// The kernel that everything is compared with, and that a plan falls back on: it needs no conversion.
constexpr std::string_view fallback_kernel = "csr_balanced";

/// What a contest is about.
struct contest_terms {
  double memory_budget = std::numeric_limits<double>::infinity();  // bytes
  std::int64_t multiplies = 200;                                   // to come
  bool deterministic = true;
  std::string_view simd = {};
};

/// Finds the kernel that multiplies this matrix in the least time, conversion counted. Every kernel of the
/// CPU's table converts a sample of the rows, which says what it would take for the whole; those that could
/// win convert all of it and are timed in turns with csr_balanced.
template <class V> class contest {
 public:
  /// Times csr_balanced, which borrows `a`.
  contest(const csr<V>& a, const contest_terms& terms);

  double bytes_per_second() const { return bytes_per_second_; }
  double csr_seconds() const { return csr_seconds_; }
  double waiting_seconds() const { return waiting_seconds_; }
  /// What reading all that a multiply by csr_balanced needs would take, were it in order.
  double reading_seconds() const;
  double time(const prepared_matrix<V>& ready) const { return time_multiply(ready, y_.size()); }

  struct outcome {
    std::unique_ptr<prepared_matrix<V>> ready;  // none: csr_balanced
    double seconds = 0;                         // of a multiply
  };
  /// Throws `unsupported` where nothing fits the memory budget.
  outcome run();
  /// csr_balanced first, then in the order of the table.
  const std::vector<plan_candidate>& candidates() const { return candidates_; }

 private:
  struct forecast {
    double bytes = 0, seconds = 0, conversion = 0;  // of the whole matrix
  };
  forecast foresee(const kernel_row& kernel) const;
  double time_multiply(const prepared_matrix<V>& ready, std::size_t rows) const;
  double time_sample(const kernel_row& kernel, const prepared_matrix<V>& ready) const;
  void predict(const kernel_row& kernel);
  forecast foresee_triangle(const kernel_row& kernel) const;
  void predict_all();
  bool could_win(plan_candidate& candidate) const;
  void convert(plan_candidate& candidate);
  std::unique_ptr<prepared_matrix<V>> prepare(plan_candidate& candidate) const;
  double time_against_csr(const prepared_matrix<V>& ready);
  void settle();
  double total(const plan_candidate& c) const;

  const csr<V>& a_;
  contest_terms terms_;
  double csr_bytes_;
  array<V> x_;
  mutable array<V> y_;
  std::unique_ptr<prepared_matrix<V>> csr_;
  csr<V> sample_;
  double scale_ = 1;  // the matrix against the sample
  double bytes_per_second_ = 0, csr_seconds_ = 0, waiting_seconds_ = 0;
  std::vector<plan_candidate> candidates_;
  outcome best_;
  plan_candidate* best_candidate_ = nullptr;
};

}  // namespace nz
