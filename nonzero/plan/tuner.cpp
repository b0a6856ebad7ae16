#include <algorithm>
#include <chrono>
#include <new>

#include <fmt/format.h>

#include <nonzero/plan/tuner_internal.hpp>

namespace nz {
namespace {

using clock = std::chrono::steady_clock;

/// What is predicted may be off: a conversion is tried where it seems to gain this much.
constexpr double least_predicted_gain = 0.05;
/// Timing a converted matrix takes about as long as so many multiplies.
constexpr double timing_multiplies = 3;

}  // namespace

template <class V> void tuner<V>::set_base(std::string_view kernel, double seconds, double bytes) {
  base_kernel_ = kernel;
  base_seconds_ = seconds;
  base_bytes_ = bytes;
  plan_candidate& first = candidates_.emplace_back();
  first.kernel = base_kernel_;
  first.predicted_bytes = static_cast<std::uint64_t>(bytes);
  first.predicted_seconds = first.seconds = seconds;
  first.predicted_conversion = first.conversion = 0;
}

template <class V> plan_candidate& tuner<V>::add_candidate(const kernel_row& kernel) {
  plan_candidate& out = candidates_.emplace_back();
  out.kernel = kernel.name;
  if (terms_.deterministic && !kernel.is_repeatable)
    out.verdict = "its products are not the same bits every time";
  return out;
}

/// The seconds that all multiplies to come would take, conversion and all.
template <class V> double tuner<V>::total(const plan_candidate& c) const {
  return *c.predicted_conversion + *c.predicted_seconds * static_cast<double>(terms_.multiplies);
}

/// Whether converting for it could pay, given what is the best so far; says why if not.
template <class V> bool tuner<V>::could_win(plan_candidate& c) const {
  if (best_candidate_ == nullptr) return true;  // anything that fits
  const double gain = best_.seconds - *c.predicted_seconds;
  if (gain < least_predicted_gain * best_.seconds) {
    c.verdict = fmt::format("no faster than {}", best_candidate_->kernel);
    return false;
  }
  const double after = (*c.predicted_conversion + timing_multiplies * best_.seconds) / gain;
  if (after <= paying_share * static_cast<double>(terms_.multiplies)) return true;
  c.verdict = fmt::format("would pay only after some {:.0f} multiplies", after);
  return false;
}

/// Where the two are close, both are timed again, in turns, so that what else the machine does hits both.
template <class V> double tuner<V>::time_against_base(const prepared_matrix<V>& ready) {
  constexpr double clear_win = 0.97, clear_loss = 1.15;  // times the base's
  double best = time(ready);
  if (best > clear_win * base_seconds_ && best < clear_loss * base_seconds_) {
    base_seconds_ = std::min(base_seconds_, time_base());
    best = std::min(best, time(ready));
  }
  return best;
}

template <class V> std::unique_ptr<prepared_matrix<V>> tuner<V>::prepare(plan_candidate& c) {
  const auto start = clock::now();
  try {
    auto ready = convert_for(c.kernel);
    c.conversion = std::chrono::duration<double>(clock::now() - start).count();
    if (static_cast<double>(ready->storage().bytes) <= terms_.memory_budget) return ready;
    c.verdict = fmt::format("takes {}: more than the memory budget", format_bytes(ready->storage().bytes));
  } catch (const unsupported& e) {
    c.verdict = e.what();
  } catch (const device_error& e) {
    c.verdict = e.what();
  } catch (const std::bad_alloc&) {
    c.verdict = "there is too little memory to convert for it";
  }
  return nullptr;
}

template <class V> void tuner<V>::convert(plan_candidate& c) {
  auto ready = prepare(c);
  if (!ready) return;
  c.seconds = time_against_base(*ready);
  if (best_candidate_ == &candidates_.front()) best_.seconds = base_seconds_;  // measured anew
  const bool wins = best_candidate_ == nullptr || *c.seconds < best_.seconds;
  plan_candidate* const loser = wins ? best_candidate_ : &c;
  if (wins) {
    best_ = {std::move(ready), *c.seconds};
    best_candidate_ = &c;
  }
  if (loser != nullptr) loser->verdict = fmt::format("slower than {}", best_candidate_->kernel);
}

/// The last word on the base, which was timed in every round.
template <class V> void tuner<V>::settle() {
  if (best_.ready && does_base_fit() && base_seconds_ <= best_.seconds) {
    best_candidate_->verdict = fmt::format("slower than {}", base_kernel_);
    best_candidate_ = &candidates_.front();
    best_ = {nullptr, base_seconds_};
  }
  candidates_.front().seconds = base_seconds_;
  best_candidate_->is_chosen = true;
  best_candidate_->verdict = best_.ready ? "the fastest" : "nothing else would pay";
  if (best_.ready && candidates_.front().verdict.empty())
    candidates_.front().verdict = fmt::format("slower than {}", best_candidate_->kernel);
}

/// Of those without a verdict, the ones that could win, the most promising first.
template <class V> void tuner<V>::convert_best() {
  std::vector<plan_candidate*> open;
  for (plan_candidate& c : candidates_)
    if (&c != &candidates_.front() && c.verdict.empty()) open.push_back(&c);
  std::stable_sort(open.begin(), open.end(),
                   [&](const auto* one, const auto* other) { return total(*one) < total(*other); });
  int conversions = 0;
  for (plan_candidate* c : open) {
    if (!could_win(*c)) continue;
    if (conversions++ < terms_.most_conversions || best_candidate_ == nullptr)
      convert(*c);
    else
      c->verdict =
          fmt::format("not tried: {} others were, and are predicted to be faster", terms_.most_conversions);
  }
}

template <class V> typename tuner<V>::outcome tuner<V>::run() {
  predict_all();
  if (does_base_fit()) {
    best_candidate_ = &candidates_.front();
    best_.seconds = base_seconds_;
  } else {
    candidates_.front().verdict = "would not fit the memory budget";
  }
  convert_best();
  if (best_candidate_ == nullptr)
    throw unsupported(
        fmt::format("no kernel holds this matrix within {}; {} takes {}",
                    format_bytes(static_cast<std::uint64_t>(std::max(0.0, terms_.memory_budget))),
                    base_kernel_, format_bytes(static_cast<std::uint64_t>(base_bytes_))));
  settle();
  return std::move(best_);
}

template class tuner<float>;
template class tuner<double>;

}  // namespace nz
