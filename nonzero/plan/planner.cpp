#include <algorithm>
#include <new>

#include <fmt/format.h>

#include <nonzero/core/counted.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/plan/choices_internal.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/measuring_internal.hpp>

// The rules of planning: docs/decisions/0006-planner.md.
namespace nz {
namespace {

using clock = std::chrono::steady_clock;

/// Below it, planning takes longer than it could save.
constexpr std::int64_t fewest_multiplies = 10;
/// Predictions may be wrong: a conversion is tried where it seems to gain this fraction.
constexpr double least_predicted_gain = 0.05;
/// Timing a converted matrix takes about as long as this many multiplies.
constexpr double timing_multiplies = 3;
/// A new order of rows and columns is kept where it saves at least this fraction of the time.
constexpr double least_reorder_gain = 0.15;

/// Finds the kernel that multiplies in the least time, conversion counted. All candidates are predicted;
/// those that could win convert the matrix and are timed against the baseline.
template <class V> class tuner {
 public:
  struct outcome {
    std::unique_ptr<prepared_matrix<V>> ready;  // null: the baseline
    double seconds = 0;                         // of a multiply
  };

  /// Measures the baseline.
  tuner(measuring<V>& m, const plan_options& options)
      : m_(m), options_(options), candidates_(m.measure_base()) {
    baseline_seconds_ = *candidates_.front().seconds;
  }

  /// Throws `unsupported` where nothing fits the memory budget.
  outcome run() {
    predict_all();
    plan_candidate& baseline = candidates_.front();
    if (does_base_fit()) {
      best_candidate_ = &baseline;
      best_.seconds = baseline_seconds_;
    } else {
      baseline.verdict = "would not fit the memory budget";
    }
    convert_best();
    if (best_candidate_ == nullptr)
      throw unsupported(
          fmt::format("no kernel holds this matrix within {}; {} takes {}",
                      format_bytes(static_cast<std::uint64_t>(std::max(0.0, m_.memory_budget()))),
                      baseline.kernel, format_bytes(*baseline.predicted_bytes)));
    settle();
    return std::move(best_);
  }
  /// The baseline first.
  const std::vector<plan_candidate>& candidates() const { return candidates_; }
  const std::string& base_kernel() const { return candidates_.front().kernel; }
  double baseline_seconds() const { return baseline_seconds_; }
  bool does_base_fit() const {
    return static_cast<double>(*candidates_.front().predicted_bytes) <= m_.memory_budget();
  }

 private:
  double multiplies() const { return static_cast<double>(options_.expected_multiplies); }
  /// The seconds that all multiplies to come would take, with the conversion.
  double total(const plan_candidate& c) const {
    return *c.predicted_conversion + *c.predicted_seconds * multiplies();
  }

  void predict_all() {
    for (const kernel_row& kernel : kernels()) {
      const auto is_listed = [&](const plan_candidate& c) { return c.kernel == kernel.name; };
      if (kernel.runs_on != m_.start().kind || !kernel.is_candidate ||
          std::ranges::any_of(candidates_, is_listed))
        continue;
      plan_candidate& out = candidates_.emplace_back();
      out.kernel = kernel.name;
      if (options_.deterministic && !kernel.is_repeatable)
        out.verdict = "its products are not the same bits every time";
      else if (!m_.has(kernel))
        out.verdict = "it does not exist for these types of values and sums";
      else if (std::string why = why_not_prepared([&] { m_.predict(kernel, out); }); !why.empty())
        out.verdict = std::move(why);
    }
  }

  /// Converts for those that could win, the most promising first.
  void convert_best() {
    std::vector<plan_candidate*> open;
    for (plan_candidate& c : candidates_)
      if (&c != &candidates_.front() && c.verdict.empty()) open.push_back(&c);
    std::stable_sort(open.begin(), open.end(),
                     [&](const auto* one, const auto* other) { return total(*one) < total(*other); });
    int conversions = 0;
    for (plan_candidate* c : open) {
      if (!could_win(*c)) continue;
      if (conversions++ < m_.most_conversions || best_candidate_ == nullptr)
        convert(*c);
      else
        c->verdict =
            fmt::format("not tried: {} others were, and are predicted to be faster", m_.most_conversions);
    }
  }

  /// Whether converting for it could pay, compared with the best so far; says why if not.
  bool could_win(plan_candidate& c) const {
    if (best_candidate_ == nullptr) return true;  // anything that fits
    const double gain = best_.seconds - (1 - m_.prediction_error) * *c.predicted_seconds;
    if (gain < least_predicted_gain * best_.seconds) {
      c.verdict = fmt::format("predicted to gain less than {:.0f} % over {}", 100 * least_predicted_gain,
                              best_candidate_->kernel);
      return false;
    }
    const double after = (*c.predicted_conversion + timing_multiplies * best_.seconds) / gain;
    if (after <= paying_fraction * multiplies()) return true;
    c.verdict = fmt::format("would pay only after some {:.0f} multiplies", after);
    return false;
  }

  void convert(plan_candidate& c) {
    auto ready = prepare_and_time(c);
    if (!ready) return;
    if (best_candidate_ == &candidates_.front())
      best_.seconds = baseline_seconds_;  // measured again
    else if (best_candidate_ != nullptr)
      best_candidate_->seconds = best_.seconds;
    const bool wins = best_candidate_ == nullptr || *c.seconds < best_.seconds;
    plan_candidate* const loser = wins ? best_candidate_ : &c;
    if (wins) {
      best_ = {std::move(ready), *c.seconds};
      best_candidate_ = &c;
    }
    if (loser != nullptr) loser->verdict = fmt::format("slower than {}", best_candidate_->kernel);
  }

  std::unique_ptr<prepared_matrix<V>> prepare_and_time(plan_candidate& c) {
    const auto start = clock::now();
    std::unique_ptr<prepared_matrix<V>> out;
    c.verdict = why_not_prepared([&] {
      auto ready = m_.prepare(find_kernel(c.kernel, m_.start().kind), m_.padding());
      c.conversion = seconds_since(start);
      if (!(static_cast<double>(ready->storage().bytes) <= m_.memory_budget()))
        throw unsupported(
            fmt::format("takes {}: more than the memory budget", format_bytes(ready->storage().bytes)));
      c.seconds = time_against_best(*ready);
      out = std::move(ready);
    });
    return out;
  }

  /// The seconds of a multiply of `ready`. Where the two are close, it and the best so far are timed again in
  /// turns, as other work on the machine only adds: until they differ clearly, or too little to matter.
  double time_against_best(const prepared_matrix<V>& ready) {
    constexpr double clear[] = {1.3, 1.15, 1.1};  // a ratio of times that needs no further round
    constexpr double equal = 1.03;                // from the third round on
    double seconds = m_.time(ready);
    if (best_candidate_ == nullptr) return seconds;
    double& best = best_.ready ? best_.seconds : baseline_seconds_;
    for (int round = 0; round < std::min<int>(m_.most_rounds, std::size(clear)); ++round) {
      const double ratio = std::max(seconds, best) / std::min(seconds, best);
      if (ratio > clear[round] || (round >= 2 && ratio < equal)) break;
      best = std::min(best, best_.ready ? m_.time(*best_.ready) : m_.time_baseline());
      seconds = std::min(seconds, m_.time(ready));
    }
    return seconds;
  }

  /// The baseline may have been timed again, and be the fastest after all.
  void settle() {
    plan_candidate& baseline = candidates_.front();
    if (best_.ready && does_base_fit() && baseline_seconds_ <= best_.seconds) {
      best_candidate_->verdict = fmt::format("slower than {}", baseline.kernel);
      best_candidate_ = &baseline;
      best_ = {nullptr, baseline_seconds_};
    }
    baseline.seconds = baseline_seconds_;
    best_candidate_->is_chosen = true;
    best_candidate_->verdict = best_.ready ? "the fastest" : "nothing else would pay";
    if (best_.ready && baseline.verdict.empty())
      baseline.verdict = fmt::format("slower than {}", best_candidate_->kernel);
  }

  measuring<V>& m_;
  const plan_options& options_;
  std::vector<plan_candidate> candidates_;
  double baseline_seconds_ = 0;
  outcome best_;
  plan_candidate* best_candidate_ = nullptr;
};

/// One plan in the making.
template <class V> class planner {
 public:
  planner(measuring<V>& m, const plan_options& options) : m_(m), options_(options), report_(m.start()) {}

  plan<V> make() {
    if (!options_.kernel.empty()) return make_forced();
    if (m_.does_csr_fit()) {
      if (const std::string reason = m_.why_not_measured(); !reason.empty()) return choose_unmeasured(reason);
      if (options_.expected_multiplies < fewest_multiplies)
        return choose_unmeasured(
            fmt::format("fewer than {} multiplies: no conversion could pay", fewest_multiplies));
    }
    if (options_.remembered.empty()) return make_measured();
    const std::string key = m_.find_choice_key();
    if (auto made = recall(key)) return std::move(*made);
    plan<V> made = make_measured();
    remember_choice(options_.remembered, key, made.report());
    return made;
  }

 private:
  const kernel_row& find(std::string_view name) const { return find_kernel(name, report_.kind); }

  plan<V> finish(std::unique_ptr<prepared_matrix<V>> ready) {
    report_.bytes = ready->storage().bytes;
    report_.encodings = ready->encodings();
    report_.seconds = seconds_since(start_);
    return plan<V>(std::move(ready), std::move(report_));
  }

  /// Whether the budget allows it; where it does, the report has its name and reason.
  bool accept(std::string_view kernel, const prepared_matrix<V>& ready, const std::string& reason) {
    if (!(static_cast<double>(ready.storage().bytes) <= report_.memory_budget)) return false;
    report_.kernel = kernel;
    report_.reason = reason;
    return true;
  }
  [[noreturn]] static void refuse(std::string_view kernel, const prepared_matrix<V>& ready) {
    throw unsupported(
        fmt::format("{} takes {}: more than the memory budget", kernel, format_bytes(ready.storage().bytes)));
  }

  plan<V> make_forced() {
    const kernel_row& kernel = find(options_.kernel);
    if (options_.deterministic && !kernel.is_repeatable)
      throw unsupported(fmt::format(
          "the products of {} are not the same bits every time; allow that (deterministic = false), or "
          "choose another",
          kernel.name));
    auto ready = m_.prepare(kernel);
    // A kernel that is asked for by name is used, unless a budget was named too.
    if (!options_.memory_budget) report_.memory_budget = static_cast<double>(ready->storage().bytes);
    if (!accept(kernel.name, *ready, "asked for by name")) refuse(kernel.name, *ready);
    return finish(std::move(ready));
  }

  /// Where measuring would not pay.
  plan<V> choose_unmeasured(const std::string& reason) {
    const auto usable = m_.unmeasured_kernels(report_);
    if (usable.empty()) throw unsupported("no kernel takes CSR with these types of values and sums");
    const kernel_row& smallest = *usable.back();
    for (const kernel_row* kernel : usable) {
      if (kernel == &smallest) break;
      std::unique_ptr<prepared_matrix<V>> ready;
      why_not_prepared([&] { ready = m_.prepare(*kernel); });
      if (ready && accept(kernel->name, *ready, reason)) return finish(std::move(ready));
    }
    auto ready = m_.prepare(smallest);
    if (!accept(smallest.name, *ready, reason)) refuse(smallest.name, *ready);
    return finish(std::move(ready));
  }

  /// None where the file has no choice for this matrix, or one that cannot be used any more.
  std::optional<plan<V>> recall(const std::string& key) {
    const auto choice = recall_choice(options_.remembered, key);
    if (!choice) return std::nullopt;
    plan_report before = report_;
    std::optional<plan<V>> made;
    why_not_prepared([&] {  // no such kernel, or not for this matrix, or no memory for it: choose again
      const kernel_row& kernel = find(choice->kernel);
      if (options_.deterministic && !kernel.is_repeatable) return;  // somebody has edited the file
      if (choice->is_reordered && !options_.may_reorder) return;
      std::unique_ptr<measuring<V>> reordered;
      if (choice->is_reordered) {
        reordered = m_.reorder();
        if (!reordered) return;
      }
      measuring<V>& m = reordered ? *reordered : m_;
      auto ready = m.in_old_order(m.prepare(kernel));
      if (!accept(choice->kernel, *ready, fmt::format("remembered in {}", options_.remembered))) return;
      report_.is_remembered = true;
      report_.is_reordered = choice->is_reordered;
      made = finish(std::move(ready));
    });
    if (!made) report_ = std::move(before);
    return made;
  }

  void report_on(const tuner<V>& tuned) {
    report_.base_kernel = tuned.base_kernel();
    report_.candidates = tuned.candidates();
    for (const plan_candidate& c : report_.candidates)
      if (c.is_chosen) report_.kernel = c.kernel;
  }

  plan<V> make_measured() {
    m_.survey(report_);
    tuner<V> tuned(m_, options_);
    report_.bytes_per_second = m_.bytes_per_second;
    report_.csr_seconds = tuned.baseline_seconds();
    report_.waiting_seconds = m_.waiting_seconds;
    if (m_.could_reorder(report_))
      if (auto reordered = make_reordered_plan()) return std::move(*reordered);
    auto best = tuned.run();
    report_on(tuned);
    report_.csr_seconds = tuned.baseline_seconds();
    report_.chosen_seconds = best.ready ? best.seconds : tuned.baseline_seconds();
    report_.reason = reason_for(tuned, best.ready != nullptr);
    return finish(best.ready ? std::move(best.ready) : m_.take_baseline());
  }

  std::string reason_for(const tuner<V>& tuned, bool is_converted) const {
    if (!is_converted)
      return fmt::format("needs no conversion, and none would pay within {}",
                         counted(options_.expected_multiplies, "multiply"));
    if (!tuned.does_base_fit())
      return fmt::format(
          "the fastest of those that fit the memory budget of {}; {}, which needs no conversion, "
          "does not",
          format_bytes(static_cast<std::uint64_t>(report_.memory_budget)), report_.base_kernel);
    return fmt::format("{:.2f} times as fast as {}, which needs no conversion",
                       report_.csr_seconds / report_.chosen_seconds, report_.base_kernel);
  }

  /// None where another order brings too little, or where there is too little memory for it; the report then
  /// says no more than how long that took.
  std::optional<plan<V>> make_reordered_plan() {
    plan_report before = report_;
    std::optional<plan<V>> made;
    // With the order, nothing may fit the memory budget.
    why_not_prepared([&] { made = try_reordered_plan(before.reorder_seconds); });
    if (!made) report_ = std::move(before);
    return made;
  }

  std::optional<plan<V>> try_reordered_plan(double& reorder_seconds) {
    const auto start = clock::now();
    const double before = report_.csr_seconds;
    const auto m = m_.reorder();
    reorder_seconds = report_.reorder_seconds = seconds_since(start);
    tuner<V> tuned(*m, options_);
    // Bringing x into the order, and y out of it.
    const double csr_seconds = m->time(*m->in_old_order(m->take_baseline()));
    const double moving = std::max(0.0, csr_seconds - tuned.baseline_seconds());
    if (csr_seconds > (1 - least_reorder_gain) * before) return std::nullopt;
    auto best = tuned.run();
    const double seconds = (best.ready ? best.seconds : tuned.baseline_seconds()) + moving;
    auto ready = m->in_old_order(best.ready ? std::move(best.ready) : m->take_baseline());
    report_on(tuned);
    report_.is_reordered = true;
    report_.chosen_seconds = seconds;
    report_.reason =
        fmt::format("{:.2f} times as fast as {} in the old order", before / seconds, report_.base_kernel);
    return finish(std::move(ready));
  }

  measuring<V>& m_;
  const plan_options& options_;
  plan_report report_;
  clock::time_point start_ = clock::now();
};

}  // namespace

template <class V> plan<V> make_plan_by(measuring<V>& m, const plan_options& options) {
  return planner<V>(m, options).make();
}

#define NONZERO_INSTANTIATE(V) template plan<V> make_plan_by(measuring<V>&, const plan_options&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
