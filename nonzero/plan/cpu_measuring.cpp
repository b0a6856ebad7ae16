#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/cpu/kernels.hpp>
#include <nonzero/cpu/targets.hpp>
#include <nonzero/formats/fingerprint.hpp>
#include <nonzero/formats/sbsr.hpp>
#include <nonzero/plan/choices_internal.hpp>
#include <nonzero/plan/cpu_survey_internal.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/measuring_internal.hpp>
#include <nonzero/plan/reorder.hpp>

// On the CPU every candidate converts a sample of the rows, which predicts the whole matrix.
namespace nz {
namespace {

using clock = std::chrono::steady_clock;

/// The baseline: it needs no conversion.
constexpr std::string_view baseline_name = "csr_balanced";

/// Below both, measuring takes longer than it could save: entries, and entries times multiplies to come.
constexpr offset fewest_entries = 20'000;
constexpr double fewest_products = 2e6;
/// From both on, this kernel pays without being measured: 5 to 30 ns an entry for the conversion, 0.1 to 2 ns
/// an entry less for a multiply. With fewer entries it saves little or nothing.
constexpr std::string_view unmeasured_name = "packed_slices";
constexpr offset fewest_unmeasured_entries = 1'000;
constexpr std::int64_t fewest_unmeasured_multiplies = 100;
constexpr double default_budget = 1.15;  // times CSR's bytes

/// Of the baseline's waiting time, the fraction that other kernels that gather are expected to wait too. The
/// rest may be branches mispredicted because row lengths change, which kernels with sorted rows avoid. A
/// sample is too short to show that: the processor soon learns its branches.
constexpr double waiting_fraction = 0.25;
/// How much longer than its folded sample a kernel that reads x in blocks takes, because the sums of the
/// sample's few rows are in L1: 1.2 to 2 were measured.
constexpr double blocks_slowdown = 1.3;
/// Bytes of x from which reading it in blocks may pay: some four times L1.
constexpr double near_x_bytes = 128 * 1024;
/// Samples may be too slow by this fraction: the clock changes, and the processor has not learnt their
/// branches.
constexpr double sample_error = 0.25;
/// A sample that says a kernel is so many times as slow as the baseline is taken again: another program, or
/// the host of a virtual machine, may have had the processor.
constexpr double doubtful_slowdown = 4;
/// Where less of the baseline's time is explained by its bytes and instructions, it is timed again: another
/// program may have had a processor.
constexpr double least_explained = 0.5;
/// In multiplies by the baseline. Most conversions take 3 to 15.
constexpr double long_conversion = 20;
/// The fraction of all the time to come that may go into samples.
constexpr double sampling_fraction = 0.03;

/// What finding an order and writing the matrix again takes, in multiplies of a scattered matrix: 10 to 25
/// were measured.
constexpr double reorder_multiplies = 25;
/// How much longer a multiply in a good order takes than reading its bytes.
constexpr double ordered_slowdown = 1.3;
/// An order is tried where it promises at least this fraction of the time.
constexpr double least_promised_gain = 0.15;
/// locality::nearby_columns_per_entry above which no order helps: meshes have 0.1 to 0.3, random graphs 0.9
/// to 1.
constexpr double most_nearby_columns = 0.5;

constexpr std::int64_t grain = 1 << 18;

template <class T> array<T> copy_in_parallel(std::span<const T> from) {
  array<T> out(from.size());
  parallel_ranges(static_cast<std::int64_t>(from.size()), grain, 0,
                  [&](std::int64_t begin, std::int64_t end) {
                    std::copy(from.begin() + begin, from.begin() + end, out.begin() + begin);
                  });
  return out;
}

template <class V> array<V> ones(index size) {
  array<V> out(static_cast<std::size_t>(size));
  parallel_ranges(size, grain, 0, [&](std::int64_t begin, std::int64_t end) {
    std::fill(out.begin() + begin, out.begin() + end, V{1});
  });
  return out;
}

/// Long enough that a kernel's setup does not count, short enough for a core's own caches.
template <class A> csr<A> make_sample(csr_view<A> a) {
  constexpr offset least = 12 * 1024, most = 96 * 1024, fraction = 64;
  return sample_windows(a, std::clamp(a.nnz() / fraction, least, most));
}

template <class A, class V> class cpu_measuring final : public measuring<V> {
 public:
  cpu_measuring(csr_view<A> a, std::shared_ptr<const void> kept, bool may_borrow, const plan_options& options)
      : measuring<V>(begin_report<A, V>(a.rows, a.cols, a.nnz(), footprint_of(a).bytes, options)),
        a_(a),
        kept_(std::move(kept)),
        may_borrow_(may_borrow),
        options_(options) {
    this->prediction_error = sample_error;
    start_.machine = fmt::format("{}, {}", cpu_device()->description(),
                                 options.simd.empty() ? simd_targets().front() : options.simd);
    start_.memory_budget =
        options.memory_budget.value_or(default_budget * static_cast<double>(start_.csr_bytes));
  }

  std::string why_not_measured() const override {
    const double products = static_cast<double>(a_.nnz()) *
                            static_cast<double>(std::max<std::int64_t>(0, options_.expected_multiplies));
    if (a_.nnz() >= fewest_entries || products >= fewest_products) return {};
    return fmt::format("fewer than {} entries: measuring would take longer than it could save",
                       fewest_entries);
  }
  std::vector<const kernel_row*> unmeasured_kernels(plan_report&) override {
    if (a_.nnz() < fewest_unmeasured_entries || options_.expected_multiplies < fewest_unmeasured_multiplies)
      return {&baseline()};
    return {&find_kernel(unmeasured_name, device_kind::cpu), &baseline()};
  }
  std::string find_choice_key() const override { return choice_key(fingerprint(a_), options_, start_); }
  bool has(const kernel_row& kernel) const override { return kernel.functions_for<A, V>().host != nullptr; }

  /// Kernels of CSR use the caller's arrays where they may be borrowed; else the plan owns a copy.
  std::unique_ptr<prepared_matrix<V>> prepare(const kernel_row& kernel, padding_budget budget) override {
    const bool is_csr = kernel.format == "csr";
    if (is_csr && !may_borrow_) {
      auto own = std::make_shared<csr<A>>(csr<A>{a_.rows, a_.cols, copy_in_parallel(a_.row_begin),
                                                 copy_in_parallel(a_.col), copy_in_parallel(a_.val)});
      auto out = prepare_view(kernel, *own, budget);
      out->keep(std::move(own));
      return out;
    }
    auto out = prepare_view(kernel, a_, budget);
    if (is_csr && kept_) out->keep(kept_);
    return out;
  }

  void survey(plan_report& report) override {
    report.longest_row = find_longest_row(a_);
    report.gathers = find_locality(a_);
  }
  std::vector<plan_candidate> measure_base() override;
  std::unique_ptr<prepared_matrix<V>> take_baseline() override { return prepare(baseline(), {}); }
  void predict(const kernel_row& kernel, plan_candidate& out) override;
  double time(const prepared_matrix<V>& ready) override { return time_multiply(ready, y_.size()); }
  double time_baseline() override { return time(*baseline_); }

  bool could_reorder(const plan_report& report) const override;
  std::unique_ptr<measuring<V>> reorder() override {
    if (a_.rows != a_.cols) return nullptr;
    array<index> order = reverse_cuthill_mckee(a_);
    auto permuted = std::make_shared<const csr<A>>(permute_symmetric(a_, std::span<const index>(order)));
    const csr_view<A> view = trusted(*permuted);
    auto out = std::make_unique<cpu_measuring>(view, std::move(permuted), true, options_);
    out->order_ = std::move(order);
    out->start_.memory_budget = this->memory_budget() - order_bytes();
    return out;
  }
  std::unique_ptr<prepared_matrix<V>> in_old_order(std::unique_ptr<prepared_matrix<V>> ready) override {
    return order_.empty() ? std::move(ready)
                          : make_reordered(std::move(ready), std::span<const index>(order_));
  }

 private:
  using measuring<V>::start_;
  using measuring<V>::bytes_per_second;
  using measuring<V>::waiting_seconds;

  struct whole {
    double bytes = 0, seconds = 0, conversion = 0;  // predicted for the whole matrix
  };

  static const kernel_row& baseline() { return find_kernel(baseline_name, device_kind::cpu); }
  std::unique_ptr<prepared_matrix<V>> prepare_view(const kernel_row& kernel, csr_view<A> a,
                                                   padding_budget budget) const {
    return kernel.template prepare<V>(a, {.budget = budget, .simd = options_.simd, .is_trusted = true});
  }
  double csr_bytes() const { return static_cast<double>(start_.csr_bytes); }
  /// What make_reordered keeps beside the matrix.
  double order_bytes() const { return static_cast<double>(a_.rows) * (sizeof(index) + 2 * sizeof(V)); }
  double time_multiply(const prepared_matrix<V>& ready, std::size_t rows) const;
  double time_sample(const kernel_row& kernel, const prepared_matrix<V>& ready) const;
  whole predict_whole(const kernel_row& kernel) const;
  whole predict_triangle(const kernel_row& kernel) const;

  csr_view<A> a_;
  std::shared_ptr<const void> kept_;
  bool may_borrow_;
  const plan_options& options_;
  array<index> order_;  // of the rows; empty: as given
  array<V> x_;
  mutable array<V> y_;
  std::unique_ptr<prepared_matrix<V>> baseline_;
  csr<A> sample_;
  double scale_ = 1;  // the matrix against the sample
  double baseline_seconds_ = 0;
  std::vector<plan_candidate> predicted_;
  std::optional<clock::time_point> sampling_since_;
};

template <class A, class V> std::vector<plan_candidate> cpu_measuring<A, V>::measure_base() {
  x_ = ones<V>(a_.cols);
  y_ = ones<V>(a_.rows);
  baseline_ = prepare_view(baseline(), a_, {});
  sample_ = make_sample(a_);
  scale_ = csr_bytes() / static_cast<double>(footprint_of(sample_).bytes);
  baseline_seconds_ = time_baseline();
  const auto traffic = static_cast<double>(baseline_->traffic());
  bytes_per_second = std::max(read_speed(a_), traffic / baseline_seconds_);
  // Without waiting, which is still 0, this is what bytes and instructions take.
  const double explained = predict_whole(baseline()).seconds;
  if (explained < least_explained * baseline_seconds_) {
    baseline_seconds_ = std::min(baseline_seconds_, time_baseline());
    bytes_per_second = std::max(bytes_per_second, traffic / baseline_seconds_);
  }
  waiting_seconds = std::max(0.0, baseline_seconds_ - explained);
  return {baseline_candidate(baseline_name, baseline_seconds_, csr_bytes())};
}

/// The shortest of three, after one to warm up: other work on the machine only adds.
template <class A, class V>
double cpu_measuring<A, V>::time_multiply(const prepared_matrix<V>& ready, std::size_t rows) const {
  constexpr int most_runs = 3;
  constexpr double enough = 5e-3, shortest_run = 30e-6;  // seconds
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

/// A kernel that reads x in blocks gets a sample whose columns are folded into one block: otherwise it would
/// read all of x for the few rows of a sample.
template <class A, class V>
double cpu_measuring<A, V>::time_sample(const kernel_row& kernel, const prepared_matrix<V>& ready) const {
  const auto rows = static_cast<std::size_t>(sample_.rows);
  if (!kernel.is_gather_free) return time_multiply(ready, rows);
  constexpr index block = 4096;
  csr<A> folded = sample_;
  for (index& col : folded.col) col %= block;
  return blocks_slowdown * time_multiply(*prepare_view(kernel, folded, {}), rows);
}

/// What a kernel would take for the whole matrix, from what one thread takes for the sample. Throws
/// `unsupported`.
template <class A, class V>
typename cpu_measuring<A, V>::whole cpu_measuring<A, V>::predict_whole(const kernel_row& kernel) const {
  const int threads = is_for_one_thread(a_.rows, a_.nnz()) ? 1 : thread_count(0);
  const thread_limit alone(1);  // a sample is too short for many
  whole out{.conversion = std::numeric_limits<double>::infinity()};
  const auto convert = [&] {
    const auto start = clock::now();
    auto made = prepare_view(kernel, sample_, this->padding());
    out.conversion = std::min(out.conversion, seconds_since(start) * scale_ / threads);
    return made;
  };
  auto ready = convert();
  // It may have been interrupted: again.
  if (out.conversion > long_conversion * baseline_seconds_) ready = convert();
  out.bytes = static_cast<double>(ready->storage().bytes) * scale_;
  const double x_bytes = static_cast<double>(a_.cols) * sizeof(V);
  const double own = static_cast<double>(ready->traffic()) - x_bytes;  // grows with the rows
  const double moving = (own * scale_ + x_bytes) / bytes_per_second;
  const double instructions = time_sample(kernel, *ready) * scale_ / threads;
  const double waiting = kernel.is_gather_free ? 0 : waiting_fraction * waiting_seconds;
  out.seconds = std::max(moving, instructions) + waiting;
  return out;
}

/// What a kernel of one triangle would take, from the prediction for both. Throws `unsupported`.
template <class A, class V>
typename cpu_measuring<A, V>::whole cpu_measuring<A, V>::predict_triangle(const kernel_row& kernel) const {
  constexpr double bytes = 0.55, seconds = 0.7, conversion = 1.6;  // as fractions of those for both
  for (const plan_candidate& both : predicted_) {
    if (both.kernel != kernel.both_triangles || !both.predicted_seconds) continue;
    find_symmetric_block_size(a_);  // refuses most that are not symmetric
    return {bytes * static_cast<double>(*both.predicted_bytes), seconds * *both.predicted_seconds,
            conversion * *both.predicted_conversion};
  }
  throw unsupported(fmt::format("{}, from which it is predicted, does not suit", kernel.both_triangles));
}

template <class A, class V> void cpu_measuring<A, V>::predict(const kernel_row& kernel, plan_candidate& out) {
  if (!sampling_since_) sampling_since_ = clock::now();
  const double allowed =
      sampling_fraction * static_cast<double>(options_.expected_multiplies) * baseline_seconds_;
  const bool x_is_near = static_cast<double>(a_.cols) * sizeof(V) <= near_x_bytes;
  if (this->does_csr_fit() && seconds_since(*sampling_since_) >= allowed) {
    out.verdict = "not looked at: that would take longer than it could save";
    return;
  }
  if (this->does_csr_fit() && kernel.is_gather_free && x_is_near) {
    out.verdict = "a core's cache holds all of x: it has nothing to gain";
    return;
  }
  try {
    const auto look = [&] {
      return kernel.both_triangles.empty() ? predict_whole(kernel) : predict_triangle(kernel);
    };
    const auto began = clock::now();
    whole seen = look();
    if (seen.seconds > doubtful_slowdown * baseline_seconds_) {
      *sampling_since_ += clock::now() - began;  // what was lost so is not held against other kernels
      seen = look();
    }
    out.predicted_bytes = static_cast<std::uint64_t>(seen.bytes);
    out.predicted_seconds = seen.seconds;
    out.predicted_conversion = seen.conversion;
    // What a sample needs between two passes says little of the whole matrix; the tuner checks it once it is
    // converted.
    if (seen.bytes > this->memory_budget() && !kernel.is_gather_free)
      out.verdict = "would not fit the memory budget";
    predicted_.push_back(out);
  } catch (const unsupported& e) {
    const char* const what = kernel.both_triangles.empty() ? " a sample of the rows" : "";
    out.verdict = fmt::format("refused{}: {}", what, e.what());
  }
}

/// Whether another order could pay: rows that are neighbours in the graph have columns in common, they are
/// not numbered close to each other, and that costs enough time.
template <class A, class V> bool cpu_measuring<A, V>::could_reorder(const plan_report& report) const {
  if (!options_.may_reorder || a_.rows != a_.cols) return false;
  constexpr double line = 64, near_column = 2;  // bytes
  const double lines = report.gathers.lines_per_entry, nearby = report.gathers.nearby_columns_per_entry;
  if (nearby > most_nearby_columns || lines < 4 * nearby * sizeof(V) / line) return false;
  // In a good order columns are near each other, so that some kernel may hold them in two bytes.
  const double least_bytes = static_cast<double>(a_.nnz()) * (sizeof(A) + near_column) + order_bytes();
  if (!(least_bytes <= this->memory_budget())) return false;
  const double reading = static_cast<double>(baseline_->traffic()) / bytes_per_second;
  const double per_line = (baseline_seconds_ - reading) / (lines * static_cast<double>(a_.nnz()));
  // Bringing x into the order, and y out of it, is scattered too: twice as many elements as rows.
  const double ordered = ordered_slowdown * reading + 2 * per_line * a_.rows;
  const double gain = baseline_seconds_ - ordered;
  return gain > least_promised_gain * baseline_seconds_ &&
         reorder_multiplies * baseline_seconds_ <
             paying_fraction * static_cast<double>(options_.expected_multiplies) * gain;
}

}  // namespace

template <class V, class A>
plan<V> plan_on_cpu(csr_view<A> a, std::shared_ptr<const void> kept, bool may_borrow,
                    const plan_options& options) {
  cpu_measuring<A, V> m(a, std::move(kept), may_borrow, options);
  return make_plan_by<V>(m, options);
}

#define NONZERO_INSTANTIATE(A, V) \
  template plan<V> plan_on_cpu<V>(csr_view<A>, std::shared_ptr<const void>, bool, const plan_options&);
NONZERO_FOR_EACH_STORAGE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
