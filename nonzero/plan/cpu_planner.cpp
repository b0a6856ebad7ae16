#include <algorithm>
#include <chrono>
#include <new>

#include <fmt/format.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/formats/fingerprint.hpp>
#include <nonzero/plan/cpu_survey_internal.hpp>
#include <nonzero/plan/cpu_tuner_internal.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/planner_internal.hpp>
#include <nonzero/plan/reorder.hpp>
#include <nonzero/plan/reordered.hpp>

namespace nz {
namespace {

using clock = std::chrono::steady_clock;

/// Below both, planning takes longer than it could save: entries, and those of all multiplies to come.
constexpr offset fewest_entries = 20'000;
constexpr double fewest_products = 2e6;
constexpr double default_budget = 1.15;  // times CSR's bytes

/// What finding an order and writing the matrix anew takes, in multiplies of a matrix that is scattered: 10
/// to 25 were measured.
constexpr double reorder_multiplies = 25;
/// Of a multiply in a good order: how much longer it takes than reading its bytes.
constexpr double ordered_slowdown = 1.3;
/// An order is kept where it saves this share of the time at the least, and tried where it seems to pay
/// within paying_share of the multiplies to come.
constexpr double least_reorder_gain = 0.15;
/// locality::nearby_columns_per_entry past which no order helps: meshes have 0.1 to 0.3, random graphs 0.9 to
/// 1.
constexpr double most_nearby_columns = 0.5;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

template <class T> array<T> copy_in_parallel(std::span<const T> from) {
  constexpr std::int64_t grain = 1 << 18;
  array<T> out(from.size());
  parallel_ranges(static_cast<std::int64_t>(from.size()), grain, 0,
                  [&](std::int64_t begin, std::int64_t end) {
                    std::copy(from.begin() + begin, from.begin() + end, out.begin() + begin);
                  });
  return out;
}

template <class V> class cpu_planner final : public planner<V> {
 public:
  /// `owned`: where it is given, what `a` refers to.
  cpu_planner(csr_view<V> a, std::unique_ptr<const csr<V>> owned, bool may_borrow,
              const plan_options& options)
      : planner<V>({a.rows, a.cols, a.nnz(), footprint_of(a).bytes,
                    default_budget * static_cast<double>(footprint_of(a).bytes), machine_text(options.simd)},
                   options),
        a_(a),
        owned_(std::move(owned)),
        may_borrow_(may_borrow) {}

 private:
  using planner<V>::options_;
  using planner<V>::report_;

  plan<V> keep_csr(std::string reason) override;
  std::string find_too_small() const override;
  std::unique_ptr<prepared_matrix<V>> prepare(std::string_view kernel) override {
    const kernel_row& row = find_kernel(kernel, device_kind::cpu);
    if (may_borrow_ || row.format != "csr") return row.prepare(a_, {.simd = options_.simd});
    return row.prepare(copy_of(a_), {.simd = options_.simd});
  }
  std::string find_choice_key() const override;
  std::optional<plan<V>> make_remembered(const remembered_choice& choice, const std::string& reason) override;
  plan<V> make_measured() override;
  bool could_reorder(const cpu_tuner<V>& as_it_is) const;
  std::optional<plan<V>> make_reordered_plan(const cpu_tuner<V>& as_it_is);
  std::unique_ptr<prepared_matrix<V>> prepare_reordered(std::string_view kernel, std::span<const index> order,
                                                        std::unique_ptr<const csr<V>>& kept) const;
  /// What make_reordered keeps beside the matrix.
  double order_bytes() const { return static_cast<double>(a_.rows) * (sizeof(index) + 2 * sizeof(V)); }

  csr_view<V> a_;
  std::unique_ptr<const csr<V>> owned_;
  bool may_borrow_;
};

template <class V> std::string cpu_planner<V>::find_too_small() const {
  const double products = static_cast<double>(a_.nnz()) *
                          static_cast<double>(std::max<std::int64_t>(0, options_.expected_multiplies));
  if (a_.nnz() >= fewest_entries || products >= fewest_products) return {};
  return fmt::format("fewer than {} entries: planning would take longer than it could save", fewest_entries);
}

template <class V> std::string cpu_planner<V>::find_choice_key() const {
  return choice_key(fingerprint(a_), sizeof(V), machine_hash(options_.simd), options_, report_);
}

/// csr_balanced on the matrix as it is: kept if it is ours or may be borrowed, else copied.
template <class V> plan<V> cpu_planner<V>::keep_csr(std::string reason) {
  report_.kernel = fallback_kernel;
  report_.reason = std::move(reason);
  std::unique_ptr<const csr<V>> kept = std::move(owned_);
  if (!kept && !may_borrow_)
    kept = std::make_unique<csr<V>>(csr<V>{a_.rows, a_.cols, copy_in_parallel(a_.row_begin),
                                           copy_in_parallel(a_.col), copy_in_parallel(a_.val)});
  auto ready = find_kernel(fallback_kernel, device_kind::cpu)
                   .prepare(kept ? csr_view<V>(*kept) : a_, {.simd = options_.simd});
  return this->finish(std::move(kept), std::move(ready));
}

template <class V>
std::optional<plan<V>> cpu_planner<V>::make_remembered(const remembered_choice& choice,
                                                       const std::string& reason) {
  if (choice.is_reordered && a_.rows != a_.cols) return std::nullopt;
  if (!choice.is_reordered && choice.kernel == fallback_kernel) return keep_csr(reason);
  std::unique_ptr<const csr<V>> kept;
  std::unique_ptr<prepared_matrix<V>> ready;
  if (choice.is_reordered) {
    const array<index> order = reverse_cuthill_mckee(a_);
    kept = std::make_unique<csr<V>>(permute_symmetric(a_, order));
    ready = prepare_reordered(choice.kernel, order, kept);
  } else {
    ready = prepare(choice.kernel);
  }
  if (!this->accept(choice.kernel, *ready, reason)) return std::nullopt;
  report_.is_reordered = choice.is_reordered;
  return this->finish(std::move(kept), std::move(ready));
}

/// Whether rows that lie close to each other share columns, are not numbered so, and enough time is lost by
/// that to pay for new numbers.
template <class V> bool cpu_planner<V>::could_reorder(const cpu_tuner<V>& as_it_is) const {
  if (!options_.may_reorder || a_.rows != a_.cols) return false;
  constexpr double line = 64, near_column = 2;  // bytes
  const double lines = report_.gathers.lines_per_entry, nearby = report_.gathers.nearby_columns_per_entry;
  if (nearby > most_nearby_columns || lines < 4 * nearby * sizeof(V) / line) return false;
  // In a good order columns are near each other, so that some kernel may hold them in two bytes.
  const double least_bytes = static_cast<double>(a_.nnz()) * (sizeof(V) + near_column) + order_bytes();
  if (!(least_bytes <= report_.memory_budget)) return false;
  const double lost = as_it_is.base_seconds() - as_it_is.reading_seconds();
  const double per_line = lost / (lines * static_cast<double>(a_.nnz()));
  // Bringing x into the order, and y out of it, is scattered too: twice as many elements as there are rows.
  const double ordered = ordered_slowdown * as_it_is.reading_seconds() + 2 * per_line * a_.rows;
  const double gain = as_it_is.base_seconds() - ordered;
  return gain > least_reorder_gain * as_it_is.base_seconds() &&
         reorder_multiplies * as_it_is.base_seconds() <
             paying_share * static_cast<double>(options_.expected_multiplies) * gain;
}

/// `kept`, which is in that order, made ready for the kernel; freed unless the kernel borrows it.
template <class V>
std::unique_ptr<prepared_matrix<V>> cpu_planner<V>::prepare_reordered(
    std::string_view kernel, std::span<const index> order, std::unique_ptr<const csr<V>>& kept) const {
  const bool borrows = kernel == fallback_kernel;
  auto inner = find_kernel(kernel, device_kind::cpu).prepare(csr_view<V>(*kept), {.simd = options_.simd});
  if (!borrows) kept.reset();
  return make_reordered(std::move(inner), order);
}

/// None where the order brings too little, or where there is too little memory for it.
template <class V> std::optional<plan<V>> cpu_planner<V>::make_reordered_plan(const cpu_tuner<V>& as_it_is) {
  const auto start = clock::now();
  try {
    const array<index> order = reverse_cuthill_mckee(a_);
    auto kept = std::make_unique<const csr<V>>(permute_symmetric(a_, order));
    report_.reorder_seconds = seconds_since(start);
    tuner_options inner_terms = this->terms();
    inner_terms.memory_budget -= order_bytes();
    cpu_tuner<V> held(*kept, inner_terms, options_.simd);
    const auto csr = make_reordered(
        find_kernel(fallback_kernel, device_kind::cpu).prepare(csr_view<V>(*kept), {.simd = options_.simd}),
        std::span<const index>(order));
    const double csr_seconds = held.time(*csr), moving = std::max(0.0, csr_seconds - held.base_seconds());
    if (csr_seconds > (1 - least_reorder_gain) * as_it_is.base_seconds()) return std::nullopt;
    auto outcome = held.run();
    this->report_on(held);
    report_.is_reordered = true;
    report_.chosen_seconds = (outcome.ready ? outcome.seconds : held.base_seconds()) + moving;
    report_.reason = fmt::format("{:.2f} times as fast as csr_balanced in the old order",
                                 as_it_is.base_seconds() / report_.chosen_seconds);
    if (!outcome.ready) {
      auto ready = prepare_reordered(fallback_kernel, order, kept);
      return this->finish(std::move(kept), std::move(ready));
    }
    return this->finish(nullptr, make_reordered(std::move(outcome.ready), std::span<const index>(order)));
  } catch (const unsupported&) {  // beside the order, nothing fits the memory budget
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

template <class V> plan<V> cpu_planner<V>::make_measured() {
  report_.longest_row = find_longest_row(a_);
  report_.gathers = find_locality(a_);
  cpu_tuner<V> held(a_, this->terms(), options_.simd);
  report_.bytes_per_second = held.bytes_per_second();
  report_.csr_seconds = held.base_seconds();
  report_.waiting_seconds = held.waiting_seconds();
  if (could_reorder(held))
    if (auto reordered = make_reordered_plan(held)) return std::move(*reordered);
  auto outcome = held.run();
  this->report_on(held);
  report_.csr_seconds = held.base_seconds();
  report_.chosen_seconds = outcome.ready ? outcome.seconds : held.base_seconds();
  if (!outcome.ready)
    return keep_csr(
        fmt::format("no conversion would pay within {} multiplies", options_.expected_multiplies));
  report_.reason = fmt::format("{:.2f} times as fast as csr_balanced, which needs no conversion",
                               report_.csr_seconds / report_.chosen_seconds);
  return this->finish(nullptr, std::move(outcome.ready));
}

}  // namespace

template <class V>
plan<V> make_cpu_plan(csr_view<V> a, std::unique_ptr<const csr<V>> owned, bool may_borrow,
                      const plan_options& options) {
  return cpu_planner<V>(a, std::move(owned), may_borrow, options).make();
}

#define NONZERO_INSTANTIATE(V) \
  template plan<V> make_cpu_plan(csr_view<V>, std::unique_ptr<const csr<V>>, bool, const plan_options&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
