#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <nonzero/core/counted.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/plan/back_ends.hpp>
#include <nonzero/plan/choices_internal.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/measure.hpp>
#include <nonzero/plan/measuring_internal.hpp>

// On a GPU, or in the emulator, the kernels of CSR share the matrix that is there, so those that may suit are
// timed, and the fastest is the baseline. Others predict from surveys.
namespace nz {
namespace {

/// Times CSR's bytes, plus what a kernel keeps beside a small matrix.
constexpr double default_budget = 1.1, default_bytes = 1 << 20;
/// What a conversion on the device takes besides its passes: launches, allocations, a few numbers read back.
constexpr double conversion_seconds = 3e-4;
/// From so many bytes on it may matter how many of them a kernel reads, even if the cache holds them.
constexpr double worth_a_survey = 8 << 20;
/// Where the cache holds the matrix, so many multiplies save what measuring takes, some milliseconds.
constexpr std::int64_t many_multiplies = 10'000;
/// The fraction of CSR's time above which the use of x is surveyed too.
constexpr double much_waiting = 0.2;

template <class A, class V> class device_measuring final : public measuring<V> {
 public:
  device_measuring(std::shared_ptr<const device_csr<A>> a, const plan_options& options)
      : measuring<V>(begin_report<A, V>(a->rows, a->cols, a->nnz, a->storage().bytes, options)),
        a_(std::move(a)),
        options_(options),
        surveys_(functions_on<A>(*a_->where()).surveys) {
    start_.machine = a_->where()->description();
    start_.kind = a_->where()->kind();
    const auto csr_bytes = static_cast<double>(start_.csr_bytes);
    start_.memory_budget = options.memory_budget.value_or(default_budget * csr_bytes + default_bytes);
    this->most_conversions = 2;
    this->most_rounds = 1;
    features_ = {.rows = a_->rows,
                 .cols = a_->cols,
                 .nnz = a_->nnz,
                 .value_bytes = sizeof(A),
                 .vector_value_bytes = sizeof(V),
                 .csr_bytes = csr_bytes,
                 .cache_bytes = static_cast<double>(a_->where()->cache_bytes()),
                 .multiplies = static_cast<double>(options.expected_multiplies),
                 .row = {},
                 .slice = {}};
  }

  /// Where the cache holds everything, kernels wait rather than read, and which of them waits least depends
  /// on little. Elsewhere a conversion saves no more than reading all of CSR takes.
  std::string why_not_measured() const override {
    if (features_.is_small()) return "less than 1 MiB: to measure would take longer than it could save";
    if (features_.fits_cache() && options_.expected_multiplies < many_multiplies)
      return "the cache holds matrix and vectors: the kernel that waits least";
    const double reading = features_.csr_bytes / copy_speed(a_->where());
    if (reading * static_cast<double>(options_.expected_multiplies) > conversion_seconds / paying_fraction)
      return {};
    return fmt::format("too small for a conversion to pay within {}",
                       counted(options_.expected_multiplies, "multiply"));
  }
  /// Those with a preference, the highest first, then the one that keeps the least memory beside the matrix.
  std::vector<const kernel_row*> unmeasured_kernels(plan_report& report) override {
    survey_rows(report);
    if (features_.fits_cache() && features_.csr_bytes >= worth_a_survey)
      features_.slice = surveys_.slices(*a_);
    std::vector<std::pair<double, const kernel_row*>> preferred;
    for (const kernel_row& kernel : kernels())
      if (kernel.runs_on == start_.kind && kernel.predict != nullptr && has(kernel))
        if (const double by = kernel.predict(features_).preference; by > 0)
          preferred.emplace_back(by, &kernel);
    std::ranges::stable_sort(preferred, [](auto one, auto other) { return one.first > other.first; });
    std::vector<const kernel_row*> out(preferred.size());
    std::ranges::transform(preferred, out.begin(), [](auto of) { return of.second; });
    if (has(smallest())) out.push_back(&smallest());
    return out;
  }
  std::string find_choice_key() const override {
    return choice_key(surveys_.fingerprint(*a_), options_, start_);
  }
  bool has(const kernel_row& kernel) const override { return kernel.functions_for<A, V>().device != nullptr; }
  std::unique_ptr<prepared_matrix<V>> prepare(const kernel_row& kernel, padding_budget budget) override {
    return kernel.template prepare<V>(a_, {.budget = budget, .is_trusted = true});
  }

  void survey(plan_report& report) override {
    survey_rows(report);
    features_.slice = surveys_.slices(*a_);
    report.are_steps = options_.are_steps;
  }
  std::vector<plan_candidate> measure_base() override;
  std::unique_ptr<prepared_matrix<V>> take_baseline() override { return std::move(baseline_); }
  void predict(const kernel_row& kernel, plan_candidate& out) override;
  double time(const prepared_matrix<V>& ready) override;
  double time_baseline() override { return time(*baseline_); }

 private:
  using measuring<V>::start_;
  using measuring<V>::waiting_seconds;

  bool is_csr(const kernel_row& kernel) const {
    return kernel.runs_on == start_.kind && kernel.format == "csr";
  }
  const kernel_row& smallest() const {
    return *std::ranges::find_if(kernels(), [&](const kernel_row& kernel) {
      return kernel.runs_on == start_.kind && kernel.is_smallest;
    });
  }
  void survey_rows(plan_report& report) {
    features_.row = surveys_.rows(*a_);
    report.longest_row = features_.row.longest;
  }
  std::vector<plan_candidate> time_csr_kernels();

  std::shared_ptr<const device_csr<A>> a_;
  const plan_options& options_;
  device_surveys<A> surveys_;
  device_features features_;
  vector<V> x_, y_;
  vector<double> sums_;
  std::unique_ptr<prepared_matrix<V>> baseline_;
};

/// A few calls, twice where they are short, after one to warm up; the shortest counts.
template <class A, class V> double device_measuring<A, V>::time(const prepared_matrix<V>& ready) {
  constexpr double sample_seconds = 6e-5, long_call = 1.5e-4;
  constexpr int most_calls = 16;
  device& on = *a_->where();
  const auto multiply = [&](stream in) {
    if (options_.are_steps)
      ready.apply(x_, {.measure = {{measured::distance}}}, y_, sums_, in);
    else
      ready.multiply(V{1}, x_, V{0}, y_, in);
  };
  const double first = on.measure(1, multiply);
  const int calls = std::clamp(static_cast<int>(sample_seconds / std::max(first, 1e-9)), 1, most_calls);
  double best = first;
  for (int samples = first < long_call ? 2 : 1; samples > 0; --samples)
    best = std::min(best, on.measure(calls, multiply) / calls);
  return best;
}

/// The fastest kernel of CSR that fits the budget; where no candidate does, the kernel that takes the least
/// memory.
template <class A, class V> std::vector<plan_candidate> device_measuring<A, V>::time_csr_kernels() {
  std::vector<plan_candidate> out(1);
  std::string_view chosen;
  double seconds = 0, bytes = 0;
  const double budget = this->memory_budget();
  for (const kernel_row& kernel : kernels()) {
    if (!is_csr(kernel) || !kernel.is_candidate || !has(kernel) || kernel.predict == nullptr) continue;
    plan_candidate& c = out.emplace_back();
    c.kernel = kernel.name;
    c.verdict = kernel.predict(features_).verdict;
    if (!c.verdict.empty()) continue;
    std::unique_ptr<prepared_matrix<V>> ready;
    c.verdict = why_not_prepared([&] {
      ready = prepare(kernel, {});
      c.seconds = time(*ready);
      c.predicted_bytes = ready->storage().bytes;
    });
    if (!c.verdict.empty()) continue;
    const auto takes = static_cast<double>(*c.predicted_bytes);
    const bool fits = takes <= budget, is_first = baseline_ == nullptr;
    const bool is_better = bytes <= budget ? fits && *c.seconds < seconds : takes < bytes;
    if (!is_first && !is_better) continue;
    chosen = kernel.name;
    baseline_ = std::move(ready);
    seconds = *c.seconds;
    bytes = takes;
  }
  if (baseline_ == nullptr || bytes > budget) {
    std::unique_ptr<prepared_matrix<V>> ready;
    const auto prepare_smallest = [&] { ready = prepare(smallest(), {}); };
    if (baseline_ == nullptr)
      prepare_smallest();  // nothing else is left
    else
      why_not_prepared(prepare_smallest);
    const double takes = ready ? static_cast<double>(ready->storage().bytes) : bytes;
    if (baseline_ == nullptr || takes < bytes) {
      chosen = smallest().name;
      baseline_ = std::move(ready);
      seconds = time(*baseline_);
      bytes = takes;
    }
  }
  std::erase_if(out, [&](const plan_candidate& c) { return c.kernel == chosen; });
  out.front() = baseline_candidate(chosen, seconds, bytes);
  for (std::size_t i = 1; i < out.size(); ++i)
    if (out[i].verdict.empty())
      out[i].verdict = static_cast<double>(*out[i].predicted_bytes) > budget
                           ? "would not fit the memory budget"
                           : fmt::format("slower than {}", chosen);
  return out;
}

template <class A, class V> std::vector<plan_candidate> device_measuring<A, V>::measure_base() {
  const auto& on = a_->where();
  x_ = ones<V>(on, static_cast<std::size_t>(a_->cols));
  y_ = vector<V>(on, static_cast<std::size_t>(a_->rows));
  sums_ = vector<double>(on, 1);
  features_.bytes_per_second = copy_speed(on);
  std::vector<plan_candidate> out = time_csr_kernels();
  const double seconds = *out.front().seconds, moved = features_.csr_bytes + features_.vector_bytes();
  double& speed = features_.bytes_per_second;
  speed = std::max(speed, moved / seconds);  // a cache may be faster
  waiting_seconds = std::max(0.0, seconds - launch_seconds - moved / speed);
  this->bytes_per_second = speed;
  // Which columns are used most matters where reading x is what takes the time.
  if (waiting_seconds > much_waiting * seconds) features_.hub_fraction = surveys_.hub_fraction(*a_);
  return out;
}

template <class A, class V>
void device_measuring<A, V>::predict(const kernel_row& kernel, plan_candidate& out) {
  constexpr double host_speed = 2e9;  // bytes of CSR per second: to the host, converted, and back
  if (kernel.predict == nullptr) {
    out.verdict = "it has no prediction";
    return;
  }
  const prediction seen = kernel.predict(features_);
  out.verdict = seen.verdict;
  if (!out.verdict.empty()) return;
  const double speed = features_.bytes_per_second;
  const double waiting = kernel.is_gather_free ? 0 : seen.gathers * waiting_seconds;
  const double moving = (seen.bytes + features_.vector_bytes()) / speed + waiting;
  out.predicted_bytes = static_cast<std::uint64_t>(seen.bytes);
  out.predicted_seconds = launch_seconds + std::max(moving, seen.steps * step_seconds);
  out.predicted_conversion = kernel.converts_on_device
                                 ? conversion_seconds + seen.passes * features_.csr_bytes / speed
                                 : features_.csr_bytes / host_speed;
  if (seen.bytes > this->memory_budget()) out.verdict = "would not fit the memory budget";
}

}  // namespace

template <class V, class A>
plan<V> plan_on_device(std::shared_ptr<const device_csr<A>> a, const plan_options& options) {
  device_measuring<A, V> m(std::move(a), options);
  return make_plan_by<V>(m, options);
}

#define NONZERO_INSTANTIATE(A, V) \
  template plan<V> plan_on_device<V>(std::shared_ptr<const device_csr<A>>, const plan_options&);
NONZERO_FOR_EACH_STORAGE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
