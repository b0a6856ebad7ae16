#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include <nonzero/kernel/kernel_row.hpp>
#include <nonzero/plan/plan.hpp>

namespace nz {

/// What is predicted may be off: a conversion is tried where it seems to pay within this share of the
/// multiplies to come.
constexpr double paying_share = 0.5;

/// What a tuner is about.
struct tuner_options {
  double memory_budget = std::numeric_limits<double>::infinity();  // bytes
  std::int64_t multiplies = 200;                                   // to come
  bool are_steps = false;
  bool deterministic = true;
  int most_conversions = 3;
};

/// Finds the kernel that multiplies a matrix in the least time, conversion counted: the rules, which are the
/// same wherever it runs. The base needs no conversion. Others are predicted; those that could win convert
/// the matrix and are timed against the base. How is for the CPU's and the GPU's tuner to say.
template <class V> class tuner {
 public:
  virtual ~tuner() = default;
  tuner(const tuner&) = delete;
  tuner& operator=(const tuner&) = delete;

  struct outcome {
    std::unique_ptr<prepared_matrix<V>> ready;  // none: the base
    double seconds = 0;                         // of a multiply
  };
  /// Throws `unsupported` where nothing fits the memory budget.
  outcome run();
  /// The base first.
  const std::vector<plan_candidate>& candidates() const { return candidates_; }
  const std::string& base_kernel() const { return base_kernel_; }
  /// A multiply by the base.
  double base_seconds() const { return base_seconds_; }

 protected:
  /// `csr_bytes` is what CSR takes.
  tuner(const tuner_options& terms, double csr_bytes) : terms_(terms), csr_bytes_(csr_bytes) {}
  /// The first candidate. Others are not added before.
  void set_base(std::string_view kernel, double seconds, double bytes);
  bool does_base_fit() const { return base_bytes_ <= terms_.memory_budget; }
  padding_budget budget() const { return {terms_.memory_budget / csr_bytes_}; }
  /// A candidate that is ruled out where the terms do not allow it.
  plan_candidate& add_candidate(const kernel_row& kernel);

  tuner_options terms_;
  double csr_bytes_;
  std::vector<plan_candidate> candidates_;

 private:
  /// Adds the other candidates: each has all that is predicted, or a verdict.
  virtual void predict_all() = 0;
  /// Throws `unsupported`, or what says that there is no memory.
  virtual std::unique_ptr<prepared_matrix<V>> convert_for(std::string_view kernel) = 0;
  virtual double time(const prepared_matrix<V>& ready) = 0;
  virtual double time_base() = 0;

  bool could_win(plan_candidate& candidate) const;
  void convert(plan_candidate& candidate);
  void convert_best();
  std::unique_ptr<prepared_matrix<V>> prepare(plan_candidate& candidate);
  double time_against_base(const prepared_matrix<V>& ready);
  void settle();
  double total(const plan_candidate& c) const;

  std::string base_kernel_;
  double base_seconds_ = 0, base_bytes_ = 0;
  outcome best_;
  plan_candidate* best_candidate_ = nullptr;
};

}  // namespace nz
