#include <algorithm>
#include <chrono>
#include <new>

#include <fmt/format.h>
#include <omp.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/cpu/kernels.hpp>
#include <nonzero/formats/sbsr.hpp>
#include <nonzero/plan/contest_internal.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/survey_internal.hpp>

namespace nz {
namespace {

using clock = std::chrono::steady_clock;

/// The part of what csr_balanced waits for that another kernel that gathers is taken to wait for too. The
/// rest may be branches predicted wrongly, for lengths of rows that change all the time, which an order of
/// the rows avoids; a sample is too short to tell, since its branches are soon learnt.
constexpr double shared_waiting = 0.5;
/// Bytes of x that a core's own cache holds beside the rest, on most processors.
constexpr double near_cache = 512 * 1024;
/// The share of all the time to come that may go into looking at samples.
constexpr double sampling_share = 0.03;
constexpr int most_conversions = 3;
/// What is predicted may be off: a conversion is tried where it seems to pay within this share of the
/// multiplies to come, and to gain this much.
constexpr double paying_share = 0.5, least_predicted_gain = 0.05;
/// Timing a converted matrix takes about as long as so many multiplies.
constexpr double contest_multiplies = 3;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// Teams of OpenMP that this thread starts are of one thread while this lives: of a sample, each of many
/// threads would have too little to be timed, and some nothing at all.
class one_thread {
 public:
  one_thread() { omp_set_num_threads(1); }
  ~one_thread() { omp_set_num_threads(before_); }
  one_thread(const one_thread&) = delete;
  one_thread& operator=(const one_thread&) = delete;

 private:
  int before_ = omp_get_max_threads();
};

template <class V> array<V> filled(index size) {
  constexpr std::int64_t grain = 1 << 18;
  array<V> out(static_cast<std::size_t>(size));
  parallel_ranges(size, grain, 0, [&](std::int64_t begin, std::int64_t end) {
    std::fill(out.begin() + begin, out.begin() + end, V{1});
  });
  return out;
}

/// Large enough that what a kernel sets up once does not count, small enough to stay in a core's own caches.
template <class V> csr<V> make_sample(const csr<V>& a) {
  constexpr offset least = 12 * 1024, most = 96 * 1024, part = 64;
  return sample_windows(a, std::clamp(a.nnz() / part, least, most));
}

}  // namespace

template <class V>
contest<V>::contest(const csr<V>& a, const contest_terms& terms)
    : a_(a),
      terms_(terms),
      csr_bytes_(static_cast<double>(footprint_of(a).bytes)),
      x_(filled<V>(a.cols)),
      y_(filled<V>(a.rows)),
      csr_(find_kernel(fallback_kernel, device_kind::cpu)
               .prepare(a, {.simd = terms.simd, .may_borrow = true})),
      sample_(make_sample(a)),
      scale_(csr_bytes_ / static_cast<double>(footprint_of(sample_).bytes)) {
  csr_seconds_ = time_multiply(*csr_, y_.size());
  bytes_per_second_ = std::max(read_speed(a), static_cast<double>(csr_->traffic()) / csr_seconds_);
  // With nothing to wait for yet, this is what bytes and instructions take.
  const forecast seen = foresee(find_kernel(fallback_kernel, device_kind::cpu));
  waiting_seconds_ = std::max(0.0, csr_seconds_ - seen.seconds);
  plan_candidate& first = candidates_.emplace_back();
  first.kernel = fallback_kernel;
  first.predicted_bytes = static_cast<std::uint64_t>(csr_bytes_);
  first.predicted_seconds = first.seconds = csr_seconds_;
  first.predicted_conversion = first.conversion = 0;
}

template <class V> double contest<V>::reading_seconds() const {
  return static_cast<double>(csr_->traffic()) / bytes_per_second_;
}

/// The shorter of two, after one to warm up: what else the machine does only ever adds.
template <class V> double contest<V>::time_multiply(const prepared_matrix<V>& ready, std::size_t rows) const {
  constexpr int most_runs = 2;
  constexpr double enough = 5e-3, shortest_run = 10e-6;  // seconds
  const std::span<V> y = std::span(y_).first(rows);
  const auto run = [&](int calls) {
    const auto start = clock::now();
    for (int i = 0; i < calls; ++i) ready.multiply(V{1}, x_, V{0}, y);
    return seconds_since(start) / calls;
  };
  double best = run(1);  // only a first guess
  const int calls = std::max(1, static_cast<int>(shortest_run / std::max(best, 1e-9)));
  const auto start = clock::now();
  best = run(calls);
  for (int i = 1; i < most_runs && seconds_since(start) < enough; ++i) best = std::min(best, run(calls));
  return best;
}

/// A kernel that meets x in pieces is given a sample whose columns are folded into one: it would else have to
/// fetch all of x for the few rows of a sample.
template <class V>
double contest<V>::time_sample(const kernel_row& kernel, const prepared_matrix<V>& ready) const {
  const auto rows = static_cast<std::size_t>(sample_.rows);
  if (!kernel.is_gather_free) return time_multiply(ready, rows);
  constexpr index piece = 4096;
  csr<V> folded = sample_;
  for (index& col : folded.col) col %= piece;
  return time_multiply(*kernel.prepare(folded, {.simd = terms_.simd}), rows);
}

/// What a kernel would take for all of the matrix, by what one thread takes for the sample. Throws
/// `unsupported`.
template <class V> typename contest<V>::forecast contest<V>::foresee(const kernel_row& kernel) const {
  const int threads = thread_count(0);
  const one_thread alone;
  const auto start = clock::now();
  const padding_budget budget{terms_.memory_budget / csr_bytes_};
  const auto ready = kernel.prepare(sample_, {.budget = budget, .simd = terms_.simd, .may_borrow = true});
  forecast out;
  out.conversion = seconds_since(start) * scale_ / threads;
  out.bytes = static_cast<double>(ready->storage().bytes) * scale_;
  const double x_bytes = static_cast<double>(a_.cols) * sizeof(V);
  const double own = static_cast<double>(ready->traffic()) - x_bytes;  // grows with the rows
  out.seconds = (own * scale_ + x_bytes) / bytes_per_second_;
  const double instructions = time_sample(kernel, *ready) * scale_ / threads;
  const double waiting = kernel.is_gather_free ? 0 : shared_waiting * waiting_seconds_;
  out.seconds = std::max(out.seconds, instructions) + waiting;
  return out;
}

template <class V> void contest<V>::predict(const kernel_row& kernel) {
  plan_candidate& out = candidates_.emplace_back();
  out.kernel = kernel.name;
  if (terms_.deterministic && !kernel.is_repeatable) {
    out.verdict = "its products are not the same bits every time";
    return;
  }
  const bool x_is_near = static_cast<double>(a_.cols) * sizeof(V) <= near_cache;
  if (kernel.is_gather_free && x_is_near && csr_bytes_ <= terms_.memory_budget) {
    out.verdict = "a near cache holds all of x: it has nothing to gain";
    return;
  }
  try {
    const forecast seen = kernel.both_triangles.empty() ? foresee(kernel) : foresee_triangle(kernel);
    out.predicted_bytes = static_cast<std::uint64_t>(seen.bytes);
    out.predicted_seconds = seen.seconds;
    out.predicted_conversion = seen.conversion;
    // What a sample needs between two passes says little of the whole; that is looked at once it is
    // converted.
    if (seen.bytes > terms_.memory_budget && !kernel.is_gather_free)
      out.verdict = "would not fit the memory budget";
  } catch (const unsupported& e) {
    const char* const what = kernel.both_triangles.empty() ? " a sample of the rows" : "";
    out.verdict = fmt::format("refused{}: {}", what, e.what());
  }
}

/// What a kernel of one triangle would take, by what was foreseen for both. Throws `unsupported`.
template <class V>
typename contest<V>::forecast contest<V>::foresee_triangle(const kernel_row& kernel) const {
  constexpr double bytes = 0.55, seconds = 0.7, conversion = 1.6;  // as shares of those for both
  for (const plan_candidate& both : candidates_) {
    if (both.kernel != kernel.both_triangles || !both.predicted_seconds) continue;
    find_symmetric_block_size(a_);  // refuses most that are not symmetric
    return {bytes * static_cast<double>(*both.predicted_bytes), seconds * *both.predicted_seconds,
            conversion * *both.predicted_conversion};
  }
  throw unsupported(fmt::format("{}, by which it is judged, does not suit", kernel.both_triangles));
}

template <class V> void contest<V>::predict_all() {
  const auto start = clock::now();
  const double allowed = sampling_share * static_cast<double>(terms_.multiplies) * csr_seconds_;
  candidates_.reserve(1 + cpu_kernels().size());  // best_candidate_ points into it
  for (const kernel_row& kernel : cpu_kernels()) {
    if (kernel.name == fallback_kernel || !kernel.is_candidate) continue;
    if (seconds_since(start) < allowed || csr_bytes_ > terms_.memory_budget) {
      predict(kernel);
    } else {
      candidates_.emplace_back().kernel = kernel.name;
      candidates_.back().verdict = "not looked at: that would take longer than it could save";
    }
  }
}

/// The seconds that all multiplies to come would take, conversion and all.
template <class V> double contest<V>::total(const plan_candidate& c) const {
  return *c.predicted_conversion + *c.predicted_seconds * static_cast<double>(terms_.multiplies);
}

/// Whether converting for it could pay, given what is the best so far; says why if not.
template <class V> bool contest<V>::could_win(plan_candidate& c) const {
  if (best_candidate_ == nullptr) return true;  // anything that fits
  const double gain = best_.seconds - *c.predicted_seconds;
  if (gain < least_predicted_gain * best_.seconds) {
    c.verdict = fmt::format("no faster than {}", best_candidate_->kernel);
    return false;
  }
  const double after = (*c.predicted_conversion + contest_multiplies * best_.seconds) / gain;
  if (after <= paying_share * static_cast<double>(terms_.multiplies)) return true;
  c.verdict = fmt::format("would pay only after some {:.0f} multiplies", after);
  return false;
}

/// Where the two are close, both are timed again, in turns, so that what else the machine does hits both.
template <class V> double contest<V>::time_against_csr(const prepared_matrix<V>& ready) {
  constexpr double clear_win = 0.97, clear_loss = 1.15;  // times csr_balanced's
  double best = time_multiply(ready, y_.size());
  if (best > clear_win * csr_seconds_ && best < clear_loss * csr_seconds_) {
    csr_seconds_ = std::min(csr_seconds_, time_multiply(*csr_, y_.size()));
    best = std::min(best, time_multiply(ready, y_.size()));
  }
  return best;
}

template <class V> std::unique_ptr<prepared_matrix<V>> contest<V>::prepare(plan_candidate& c) const {
  const auto start = clock::now();
  const padding_budget budget{terms_.memory_budget / csr_bytes_};
  try {
    auto ready = find_kernel(c.kernel, device_kind::cpu).prepare(a_, {.budget = budget, .simd = terms_.simd});
    c.conversion = seconds_since(start);
    if (static_cast<double>(ready->storage().bytes) <= terms_.memory_budget) return ready;
    c.verdict = fmt::format("takes {}: more than the memory budget", format_bytes(ready->storage().bytes));
  } catch (const unsupported& e) {
    c.verdict = e.what();
  } catch (const std::bad_alloc&) {
    c.verdict = "there is too little memory to convert for it";
  }
  return nullptr;
}

template <class V> void contest<V>::convert(plan_candidate& c) {
  auto ready = prepare(c);
  if (!ready) return;
  c.seconds = time_against_csr(*ready);
  if (best_candidate_ == &candidates_.front()) best_.seconds = csr_seconds_;  // measured anew
  const bool wins = best_candidate_ == nullptr || *c.seconds < best_.seconds;
  plan_candidate* const loser = wins ? best_candidate_ : &c;
  if (wins) {
    best_ = {std::move(ready), *c.seconds};
    best_candidate_ = &c;
  }
  if (loser != nullptr) loser->verdict = fmt::format("slower than {}", best_candidate_->kernel);
}

/// The last word on csr_balanced, which was timed in every round.
template <class V> void contest<V>::settle() {
  if (best_.ready && csr_bytes_ <= terms_.memory_budget && csr_seconds_ <= best_.seconds) {
    best_candidate_->verdict = fmt::format("slower than {}", fallback_kernel);
    best_candidate_ = &candidates_.front();
    best_ = {nullptr, csr_seconds_};
  }
  candidates_.front().seconds = csr_seconds_;
  best_candidate_->is_chosen = true;
  best_candidate_->verdict = best_.ready ? "the fastest" : "nothing else would pay";
  if (best_.ready && candidates_.front().verdict.empty())
    candidates_.front().verdict = fmt::format("slower than {}", best_candidate_->kernel);
}

template <class V> typename contest<V>::outcome contest<V>::run() {
  predict_all();
  if (csr_bytes_ <= terms_.memory_budget) {
    best_candidate_ = &candidates_.front();
    best_.seconds = csr_seconds_;
  } else {
    candidates_.front().verdict = "would not fit the memory budget";
  }
  std::vector<plan_candidate*> open;
  for (plan_candidate& c : candidates_)
    if (&c != &candidates_.front() && c.verdict.empty()) open.push_back(&c);
  std::stable_sort(open.begin(), open.end(),
                   [&](const auto* one, const auto* other) { return total(*one) < total(*other); });
  int conversions = 0;
  for (plan_candidate* c : open) {
    if (!could_win(*c)) continue;
    if (conversions++ < most_conversions || best_candidate_ == nullptr)
      convert(*c);
    else
      c->verdict = fmt::format("not tried: {} others were, and are predicted to be faster", most_conversions);
  }
  if (best_candidate_ == nullptr)
    throw unsupported(
        fmt::format("no kernel holds this matrix within {}; csr_balanced takes {}",
                    format_bytes(static_cast<std::uint64_t>(std::max(0.0, terms_.memory_budget))),
                    format_bytes(static_cast<std::uint64_t>(csr_bytes_))));
  settle();
  return std::move(best_);
}

template class contest<float>;
template class contest<double>;

}  // namespace nz
