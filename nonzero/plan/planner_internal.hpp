#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <nonzero/plan/choices_internal.hpp>
#include <nonzero/plan/plan.hpp>
#include <nonzero/plan/tuner_internal.hpp>

namespace nz {

/// One plan in the making: what is the same wherever it runs.
template <class V> class planner {
 public:
  virtual ~planner() = default;
  planner(const planner&) = delete;
  planner& operator=(const planner&) = delete;
  plan<V> make();

 protected:
  struct matrix_facts {
    index rows, cols;
    offset nnz;
    std::uint64_t csr_bytes;
    double default_budget;  // bytes
    std::string machine;
    device_kind kind = device_kind::cpu;
  };
  planner(const matrix_facts& a, const plan_options& options);

  plan<V> finish(std::unique_ptr<const csr<V>> kept, std::unique_ptr<prepared_matrix<V>> ready);
  tuner_options terms() const;
  void report_on(const tuner<V>& held);
  double seconds_so_far() const;
  /// Whether the budget allows it; where it does, the report has its name and reason.
  bool accept(std::string_view kernel, const prepared_matrix<V>& ready, std::string reason);

  const plan_options& options_;
  plan_report report_;

 private:
  /// CSR as it is, where nothing needs to be measured to know that no conversion pays.
  virtual plan<V> keep_csr(std::string reason) = 0;
  /// Why a matrix of this size is kept as it is; empty where it is worth measuring.
  virtual std::string find_too_small() const = 0;
  virtual std::unique_ptr<prepared_matrix<V>> prepare(std::string_view kernel) = 0;
  virtual plan<V> make_measured() = 0;
  virtual std::string find_choice_key() const = 0;
  /// Throws `unsupported` where there is no such kernel, or none for this matrix; none where the budget does
  /// not allow it.
  virtual std::optional<plan<V>> make_remembered(const remembered_choice& choice,
                                                 const std::string& reason) = 0;

  plan<V> make_forced();
  std::optional<plan<V>> recall(const std::string& key);

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// For a matrix in the host's memory and the CPU. `owned`: where it is given, what `a` refers to.
template <class V>
plan<V> make_cpu_plan(csr_view<V> a, std::unique_ptr<const csr<V>> owned, bool may_borrow,
                      const plan_options& options);

/// For a matrix in the memory of a GPU, or of the emulator.
template <class V>
plan<V> make_device_plan(const std::shared_ptr<const device_csr<V>>& a, const plan_options& options);

}  // namespace nz
