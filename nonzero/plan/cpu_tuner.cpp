#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <omp.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/cpu/kernels.hpp>
#include <nonzero/formats/sbsr.hpp>
#include <nonzero/plan/cpu_survey_internal.hpp>
#include <nonzero/plan/cpu_tuner_internal.hpp>
#include <nonzero/plan/kernels.hpp>

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
template <class V> csr<V> make_sample(csr_view<V> a) {
  constexpr offset least = 12 * 1024, most = 96 * 1024, part = 64;
  return sample_windows(a, std::clamp(a.nnz() / part, least, most));
}

}  // namespace

template <class V>
cpu_tuner<V>::cpu_tuner(csr_view<V> a, const tuner_options& terms, std::string_view simd)
    : tuner<V>(terms, static_cast<double>(footprint_of(a).bytes)),
      a_(a),
      simd_(simd),
      x_(filled<V>(a.cols)),
      y_(filled<V>(a.rows)),
      csr_(find_kernel(fallback_kernel, device_kind::cpu).prepare(a, {.simd = simd})),
      sample_(make_sample(a)),
      scale_(csr_bytes_ / static_cast<double>(footprint_of(sample_).bytes)) {
  const double csr_seconds = time_base();
  bytes_per_second_ = std::max(read_speed(a), static_cast<double>(csr_->traffic()) / csr_seconds);
  // With nothing to wait for yet, this is what bytes and instructions take.
  const forecast seen = predict_whole(find_kernel(fallback_kernel, device_kind::cpu));
  waiting_seconds_ = std::max(0.0, csr_seconds - seen.seconds);
  this->set_base(fallback_kernel, csr_seconds, csr_bytes_);
}

template <class V> double cpu_tuner<V>::reading_seconds() const {
  return static_cast<double>(csr_->traffic()) / bytes_per_second_;
}

/// The shorter of two, after one to warm up: what else the machine does only ever adds.
template <class V>
double cpu_tuner<V>::time_multiply(const prepared_matrix<V>& ready, std::size_t rows) const {
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

/// A kernel that meets x in segments is given a sample whose columns are folded into one: it would else have
/// to fetch all of x for the few rows of a sample.
template <class V>
double cpu_tuner<V>::time_sample(const kernel_row& kernel, const prepared_matrix<V>& ready) const {
  const auto rows = static_cast<std::size_t>(sample_.rows);
  if (!kernel.is_gather_free) return time_multiply(ready, rows);
  constexpr index segment = 4096;
  csr<V> folded = sample_;
  for (index& col : folded.col) col %= segment;
  return time_multiply(*kernel.prepare(folded, {.simd = simd_}), rows);
}

/// What a kernel would take for all of the matrix, by what one thread takes for the sample. Throws
/// `unsupported`.
template <class V>
typename cpu_tuner<V>::forecast cpu_tuner<V>::predict_whole(const kernel_row& kernel) const {
  const int threads = is_for_one_thread(a_) ? 1 : thread_count(0);
  const one_thread alone;
  const auto start = clock::now();
  const auto ready = kernel.prepare(csr_view<V>(sample_), {.budget = this->budget(), .simd = simd_});
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

template <class V> void cpu_tuner<V>::predict(const kernel_row& kernel) {
  plan_candidate& out = this->add_candidate(kernel);
  if (!out.verdict.empty()) return;
  const bool x_is_near = static_cast<double>(a_.cols) * sizeof(V) <= near_cache;
  if (kernel.is_gather_free && x_is_near && this->does_base_fit()) {
    out.verdict = "a near cache holds all of x: it has nothing to gain";
    return;
  }
  try {
    const forecast seen = kernel.both_triangles.empty() ? predict_whole(kernel) : predict_triangle(kernel);
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
typename cpu_tuner<V>::forecast cpu_tuner<V>::predict_triangle(const kernel_row& kernel) const {
  constexpr double bytes = 0.55, seconds = 0.7, conversion = 1.6;  // as shares of those for both
  for (const plan_candidate& both : this->candidates()) {
    if (both.kernel != kernel.both_triangles || !both.predicted_seconds) continue;
    find_symmetric_block_size(a_);  // refuses most that are not symmetric
    return {bytes * static_cast<double>(*both.predicted_bytes), seconds * *both.predicted_seconds,
            conversion * *both.predicted_conversion};
  }
  throw unsupported(fmt::format("{}, by which it is judged, does not suit", kernel.both_triangles));
}

template <class V> void cpu_tuner<V>::predict_all() {
  const auto start = clock::now();
  const double allowed = sampling_share * static_cast<double>(terms_.multiplies) * this->base_seconds();
  for (const kernel_row& kernel : cpu_kernels()) {
    if (kernel.name == fallback_kernel || !kernel.is_candidate) continue;
    if (seconds_since(start) < allowed || !this->does_base_fit())
      predict(kernel);
    else
      this->add_candidate(kernel).verdict = "not looked at: that would take longer than it could save";
  }
}

template <class V> std::unique_ptr<prepared_matrix<V>> cpu_tuner<V>::convert_for(std::string_view kernel) {
  return find_kernel(kernel, device_kind::cpu).prepare(a_, {.budget = this->budget(), .simd = simd_});
}

template class cpu_tuner<float>;
template class cpu_tuner<double>;

}  // namespace nz
