#include <fmt/format.h>

#include <nonzero/plan/back_ends.hpp>
#include <nonzero/plan/device_tuner_internal.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/measure.hpp>
#include <nonzero/plan/planner_internal.hpp>

namespace nz {
namespace {

/// Times CSR's bytes, and for what a kernel keeps beside a small matrix.
constexpr double default_budget = 1.1, default_bytes = 64 << 10;
constexpr int most_conversions = 2;

template <class V> class device_planner final : public planner<V> {
 public:
  device_planner(const std::shared_ptr<const device_csr<V>>& a, const plan_options& options)
      : planner<V>({a->rows, a->cols, a->nnz, a->storage().bytes,
                    default_budget * static_cast<double>(a->storage().bytes) + default_bytes,
                    a->where()->description(), a->where()->kind()},
                   options),
        a_(a),
        surveys_(back_end_for(a->where()->kind()).template functions_for<V>().surveys) {}

 private:
  using planner<V>::options_;
  using planner<V>::report_;

  plan<V> keep_csr(std::string reason) override;
  std::string find_too_small() const override;
  std::unique_ptr<prepared_matrix<V>> prepare(std::string_view kernel) override {
    return find_kernel(kernel, report_.kind).prepare(a_);
  }
  plan<V> make_measured() override;
  std::string find_choice_key() const override {
    return choice_key(surveys_.fingerprint(*a_), sizeof(V), machine_hash(*a_->where()), options_, report_);
  }
  std::optional<plan<V>> make_remembered(const remembered_choice& choice, const std::string& reason) override;
  device_features find_row_facts();

  std::shared_ptr<const device_csr<V>> a_;
  device_surveys<V> surveys_;
};

template <class V> device_features device_planner<V>::find_row_facts() {
  device_features out{.rows = a_->rows,
                      .cols = a_->cols,
                      .nnz = a_->nnz,
                      .value_bytes = sizeof(V),
                      .csr_bytes = static_cast<double>(report_.csr_bytes),
                      .cache_bytes = static_cast<double>(a_->where()->cache_bytes()),
                      .row = surveys_.rows(*a_),
                      .slice = {}};
  report_.longest_row = out.row.longest;
  return out;
}

/// A conversion saves no more than reading all of CSR takes.
template <class V> std::string device_planner<V>::find_too_small() const {
  if (static_cast<double>(report_.csr_bytes) < device_features::small_bytes)
    return "less than 1 MiB: no conversion could pay";
  const double reading = static_cast<double>(report_.csr_bytes) / copy_speed(a_->where());
  if (reading * static_cast<double>(options_.expected_multiplies) > conversion_seconds / paying_share)
    return {};
  return fmt::format("too small for a conversion to pay within {} multiplies", options_.expected_multiplies);
}

template <class V> plan<V> device_planner<V>::keep_csr(std::string reason) {
  const kernel_row& preferred = preferred_csr_kernel(report_.kind, find_row_facts());
  auto ready = prepare(preferred.name);
  if (this->accept(preferred.name, *ready, reason)) return this->finish(nullptr, std::move(ready));
  const kernel_row& smallest = smallest_csr_kernel(report_.kind);
  ready = prepare(smallest.name);
  if (this->accept(smallest.name, *ready, reason)) return this->finish(nullptr, std::move(ready));
  throw unsupported(fmt::format("{} takes {}: more than the memory budget", smallest.name,
                                format_bytes(ready->storage().bytes)));
}

template <class V>
std::optional<plan<V>> device_planner<V>::make_remembered(const remembered_choice& choice,
                                                          const std::string& reason) {
  if (choice.is_reordered) return std::nullopt;
  auto ready = prepare(choice.kernel);
  if (!this->accept(choice.kernel, *ready, reason)) return std::nullopt;
  return this->finish(nullptr, std::move(ready));
}

template <class V> plan<V> device_planner<V>::make_measured() {
  device_features facts = find_row_facts();
  facts.slice = surveys_.slices(*a_);
  tuner_options terms = this->terms();
  terms.most_conversions = most_conversions;
  device_tuner<V> held(a_, facts, surveys_, terms);
  report_.bytes_per_second = held.bytes_per_second();
  report_.waiting_seconds = held.waiting_seconds();
  auto outcome = held.run();
  this->report_on(held);
  report_.are_steps = options_.are_steps;
  report_.csr_seconds = held.base_seconds();
  report_.chosen_seconds = outcome.ready ? outcome.seconds : held.base_seconds();
  report_.reason =
      outcome.ready ? fmt::format("{:.2f} times as fast as {}, which needs no conversion",
                                  report_.csr_seconds / report_.chosen_seconds, report_.base_kernel)
                    : fmt::format("the fastest without a conversion, and none would pay within {} multiplies",
                                  options_.expected_multiplies);
  return this->finish(nullptr, outcome.ready ? std::move(outcome.ready) : held.take_base());
}

}  // namespace

template <class V>
plan<V> make_device_plan(const std::shared_ptr<const device_csr<V>>& a, const plan_options& options) {
  return device_planner<V>(a, options).make();
}

template plan<float> make_device_plan(const std::shared_ptr<const device_csr<float>>&, const plan_options&);
template plan<double> make_device_plan(const std::shared_ptr<const device_csr<double>>&, const plan_options&);

}  // namespace nz
