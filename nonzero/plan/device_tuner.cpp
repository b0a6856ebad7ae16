#include <algorithm>

#include <fmt/format.h>

#include <nonzero/plan/device_tuner_internal.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/measure.hpp>

namespace nz {
namespace {

/// The share of CSR's time past which x is worth a closer look.
constexpr double much_waiting = 0.2;

/// Ones, written to by copies that double: nothing long comes from the host.
template <class V> vector<V> filled(const std::shared_ptr<device>& on, index size) {
  constexpr std::size_t first = 4096;
  vector<V> out(on, static_cast<std::size_t>(size));
  if (size == 0) return out;
  const std::vector<V> ones(std::min(first, out.size()), V{1});
  on->copy(out.data(), ones.data(), ones.size() * sizeof(V), {});
  for (std::size_t written = ones.size(); written < out.size(); written *= 2)
    on->copy(out.data() + written, out.data(), std::min(written, out.size() - written) * sizeof(V), {});
  on->synchronize({});
  return out;
}

}  // namespace

template <class V>
device_tuner<V>::device_tuner(std::shared_ptr<const device_csr<V>> a, const device_features& features,
                              const device_surveys<V>& surveys, const tuner_options& terms)
    : tuner<V>(terms, features.csr_bytes),
      a_(std::move(a)),
      features_(features),
      surveys_(surveys),
      x_(filled<V>(a_->where(), features.cols)),
      y_(a_->where(), static_cast<std::size_t>(features.rows)),
      sums_(a_->where(), 1) {
  features_.bytes_per_second = copy_speed(a_->where());
  choose_base();
  const double moved = features_.csr_bytes + features_.vector_bytes();
  double& speed = features_.bytes_per_second;
  speed = std::max(speed, moved / this->base_seconds());  // a cache may be faster
  waiting_seconds_ = std::max(0.0, this->base_seconds() - launch_seconds - moved / speed);
}

/// A few calls, twice where they are short, the shortest of which counts, after one to warm up: enough of
/// them for the clock, and no more.
template <class V> double device_tuner<V>::time(const prepared_matrix<V>& ready) {
  constexpr double sample_seconds = 6e-5, long_call = 1.5e-4;
  constexpr int most_calls = 16;
  device& on = *a_->where();
  const auto multiply = [&](stream in) {
    if (terms_.are_steps)
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

/// The fastest kernel of CSR that fits the budget; where none of those that are thought of does, the one that
/// takes the least of all.
template <class V> void device_tuner<V>::choose_base() {
  std::string_view chosen;
  double seconds = 0, bytes = 0;
  for (const kernel_row& kernel : kernels()) {
    if (kernel.runs_on != a_->where()->kind() || !kernel.is_candidate || kernel.format != "csr") continue;
    plan_candidate& out = other_csr_.emplace_back();
    out.kernel = kernel.name;
    out.verdict = kernel.predict(features_).verdict;
    if (!out.verdict.empty()) continue;
    auto ready = kernel.prepare(a_);
    const auto takes = static_cast<double>(ready->storage().bytes);
    out.seconds = time(*ready);
    out.predicted_bytes = ready->storage().bytes;
    const bool fits = takes <= terms_.memory_budget, is_first = base_ == nullptr;
    const bool is_better = bytes <= terms_.memory_budget ? fits && *out.seconds < seconds : takes < bytes;
    if (!is_first && !is_better) continue;
    chosen = kernel.name;
    base_ = std::move(ready);
    seconds = *out.seconds;
    bytes = takes;
  }
  if (bytes > terms_.memory_budget) {
    const kernel_row& smallest = smallest_csr_kernel(a_->where()->kind());
    auto ready = smallest.prepare(a_);
    const auto takes = static_cast<double>(ready->storage().bytes);
    if (takes < bytes) {
      chosen = smallest.name;
      base_ = std::move(ready);
      seconds = time(*base_);
      bytes = takes;
    }
  }
  this->set_base(chosen, seconds, bytes);
  std::erase_if(other_csr_, [&](const plan_candidate& c) { return c.kernel == chosen; });
  for (plan_candidate& c : other_csr_)
    if (c.verdict.empty())
      c.verdict = static_cast<double>(*c.predicted_bytes) > terms_.memory_budget
                      ? "would not fit the memory budget"
                      : fmt::format("slower than {}", chosen);
}

template <class V> void device_tuner<V>::predict(const kernel_row& kernel) {
  plan_candidate& out = this->add_candidate(kernel);
  if (!out.verdict.empty()) return;
  if (kernel.predict == nullptr) {
    out.verdict = "it has no prediction";
    return;
  }
  const prediction seen = kernel.predict(features_);
  out.verdict = seen.verdict;
  if (!out.verdict.empty()) return;
  const double waiting = kernel.is_gather_free ? 0 : waiting_seconds_;
  out.predicted_bytes = static_cast<std::uint64_t>(seen.bytes);
  out.predicted_seconds = predict_seconds(seen, features_, waiting);
  out.predicted_conversion = predict_conversion(kernel, seen, features_);
  if (seen.bytes > terms_.memory_budget) out.verdict = "would not fit the memory budget";
}

template <class V> void device_tuner<V>::predict_all() {
  // Which columns are used most matters where reading x is what takes the time.
  if (waiting_seconds_ > much_waiting * this->base_seconds())
    features_.hub_fraction = surveys_.hub_fraction(*a_);
  for (plan_candidate& c : other_csr_) this->candidates_.push_back(std::move(c));
  for (const kernel_row& kernel : kernels())
    if (kernel.runs_on == a_->where()->kind() && kernel.is_candidate && kernel.format != "csr")
      predict(kernel);
}

template <class V> std::unique_ptr<prepared_matrix<V>> device_tuner<V>::convert_for(std::string_view kernel) {
  return find_kernel(kernel, a_->where()->kind()).prepare(a_, {.budget = this->budget()});
}

template class device_tuner<float>;
template class device_tuner<double>;

}  // namespace nz
