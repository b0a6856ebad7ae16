#include <algorithm>
#include <chrono>
#include <new>

#include <fmt/format.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/plan/choices_internal.hpp>
#include <nonzero/plan/contest_internal.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/plan.hpp>
#include <nonzero/plan/reorder.hpp>
#include <nonzero/plan/reordered.hpp>
#include <nonzero/plan/survey_internal.hpp>

namespace nz {
namespace {

using clock = std::chrono::steady_clock;

/// Below these, planning takes longer than it could save.
constexpr offset fewest_entries = 20'000;
constexpr std::int64_t fewest_multiplies = 10;
constexpr double default_budget = 1.15;  // times CSR's bytes

/// What finding an order and writing the matrix anew takes, in multiplies of a matrix that is scattered: 10
/// to 25 were measured.
constexpr double reorder_multiplies = 25;
/// Of a multiply in a good order: how much longer it takes than reading its bytes.
constexpr double ordered_slowdown = 1.3;
/// An order is kept where it saves this share of the time at the least, and tried where it seems to pay
/// within this share of the multiplies to come.
constexpr double least_reorder_gain = 0.15, paying_share = 0.5;
/// locality::nearby_columns_per_entry past which no order helps: meshes have 0.1 to 0.3, random graphs 0.9 to
/// 1.
constexpr double most_nearby_columns = 0.5;

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

template <class T> array<T> copy_of(const array<T>& from) {
  constexpr std::int64_t grain = 1 << 18;
  array<T> out(from.size());
  parallel_ranges(static_cast<std::int64_t>(from.size()), grain, 0,
                  [&](std::int64_t begin, std::int64_t end) {
                    std::copy(from.begin() + begin, from.begin() + end, out.begin() + begin);
                  });
  return out;
}

/// One plan in the making.
template <class V> class planner {
 public:
  /// `owned`: where it is given, what `a` refers to.
  planner(const csr<V>& a, std::unique_ptr<const csr<V>> owned, const plan_options& options);
  plan<V> make();

 private:
  plan<V> make_forced();
  std::optional<plan<V>> make_remembered(const std::string& key);
  plan<V> make_measured();
  bool could_reorder(const contest<V>& as_it_is) const;
  std::optional<plan<V>> make_reordered_plan(const contest<V>& as_it_is);
  std::unique_ptr<prepared_matrix<V>> prepare_reordered(std::string_view kernel, std::span<const index> order,
                                                        std::unique_ptr<const csr<V>>& kept) const;
  contest_terms terms() const;
  /// What make_reordered keeps beside the matrix.
  double order_bytes() const { return static_cast<double>(a_.rows) * (sizeof(index) + 2 * sizeof(V)); }
  void report_on(const contest<V>& held);
  plan<V> keep_csr(std::string reason);
  plan<V> finish(std::unique_ptr<const csr<V>> kept, std::unique_ptr<prepared_matrix<V>> ready);

  const csr<V>& a_;
  std::unique_ptr<const csr<V>> owned_;
  const plan_options& options_;
  clock::time_point start_ = clock::now();
  plan_report report_;
};

template <class V>
planner<V>::planner(const csr<V>& a, std::unique_ptr<const csr<V>> owned, const plan_options& options)
    : a_(a), owned_(std::move(owned)), options_(options) {
  if (options.on && options.on->kind() != device_kind::cpu)
    throw unsupported(
        fmt::format("plans are made for the CPU only so far; for the device '{}', choose a kernel by name "
                    "(nz list) and prepare the matrix for it",
                    name_of(options.on->kind())));
  report_.rows = a.rows;
  report_.cols = a.cols;
  report_.entries = a.nnz();
  report_.mean_row = a.rows == 0 ? 0 : static_cast<double>(a.nnz()) / a.rows;
  report_.machine = machine_text(options.simd);
  report_.csr_bytes = footprint_of(a).bytes;
  report_.memory_budget =
      options.memory_budget.value_or(default_budget * static_cast<double>(report_.csr_bytes));
  report_.expected_multiplies = options.expected_multiplies;
}

template <class V>
plan<V> planner<V>::finish(std::unique_ptr<const csr<V>> kept, std::unique_ptr<prepared_matrix<V>> ready) {
  report_.bytes = ready->storage().bytes;
  report_.seconds = seconds_since(start_);
  return plan<V>(std::move(kept), std::move(ready), std::move(report_));
}

/// csr_balanced on the matrix as it is: kept if it is ours or may be borrowed, else copied.
template <class V> plan<V> planner<V>::keep_csr(std::string reason) {
  report_.kernel = fallback_kernel;
  report_.reason = std::move(reason);
  std::unique_ptr<const csr<V>> kept = std::move(owned_);
  if (!kept && !options_.may_borrow)
    kept = std::make_unique<csr<V>>(
        csr<V>{a_.rows, a_.cols, copy_of(a_.row_begin), copy_of(a_.col), copy_of(a_.val)});
  auto ready = find_kernel(fallback_kernel, device_kind::cpu)
                   .prepare(kept ? *kept : a_, {.simd = options_.simd, .may_borrow = true});
  return finish(std::move(kept), std::move(ready));
}

template <class V> plan<V> planner<V>::make_forced() {
  const kernel_row& kernel = find_kernel(options_.kernel, device_kind::cpu);
  if (options_.deterministic && !kernel.is_repeatable)
    throw unsupported(
        fmt::format("the products of {} are not the same bits every time; allow that "
                    "(deterministic = false), or choose another",
                    kernel.name));
  auto ready = kernel.prepare(a_, {.simd = options_.simd});
  const auto bytes = static_cast<double>(ready->storage().bytes);
  if (!options_.memory_budget)
    report_.memory_budget = bytes;  // who asks for one by name has it, unless a budget was named too
  else if (!(bytes <= *options_.memory_budget))
    throw unsupported(fmt::format("{} takes {}: more than the memory budget", kernel.name,
                                  format_bytes(ready->storage().bytes)));
  report_.kernel = kernel.name;
  report_.reason = "asked for by name";
  return finish(nullptr, std::move(ready));
}

template <class V> std::optional<plan<V>> planner<V>::make_remembered(const std::string& key) {
  const auto choice = recall_choice(options_.remembered, key);
  if (!choice || (choice->is_reordered && a_.rows != a_.cols)) return std::nullopt;
  const std::string reason = fmt::format("remembered in {}", options_.remembered);
  try {
    std::unique_ptr<const csr<V>> kept;
    std::unique_ptr<prepared_matrix<V>> ready;
    report_.is_remembered = true;
    if (choice->is_reordered) {
      const array<index> order = reverse_cuthill_mckee(a_);
      kept = std::make_unique<csr<V>>(permute_symmetric(a_, order));
      ready = prepare_reordered(choice->kernel, order, kept);
    } else if (choice->kernel == fallback_kernel) {
      return keep_csr(reason);
    } else {
      ready = find_kernel(choice->kernel, device_kind::cpu).prepare(a_, {.simd = options_.simd});
    }
    if (static_cast<double>(ready->storage().bytes) <= report_.memory_budget) {
      report_.kernel = choice->kernel;
      report_.is_reordered = choice->is_reordered;
      report_.reason = reason;
      return finish(std::move(kept), std::move(ready));
    }
  } catch (const unsupported&) {  // no kernel of this table, or not for this matrix: choose anew
  }
  report_.is_remembered = false;
  return std::nullopt;
}

template <class V> contest_terms planner<V>::terms() const {
  return {.memory_budget = report_.memory_budget,
          .multiplies = options_.expected_multiplies,
          .deterministic = options_.deterministic,
          .simd = options_.simd};
}

template <class V> void planner<V>::report_on(const contest<V>& held) {
  report_.candidates = held.candidates();
  for (const plan_candidate& c : report_.candidates)
    if (c.is_chosen) report_.kernel = c.kernel;
}

/// Whether rows that lie close to each other share columns, are not numbered so, and enough time is lost by
/// that to pay for new numbers.
template <class V> bool planner<V>::could_reorder(const contest<V>& as_it_is) const {
  if (!options_.may_reorder || a_.rows != a_.cols) return false;
  constexpr double line = 64, near_column = 2;  // bytes
  const double lines = report_.gathers.lines_per_entry, nearby = report_.gathers.nearby_columns_per_entry;
  if (nearby > most_nearby_columns || lines < 4 * nearby * sizeof(V) / line) return false;
  // In a good order columns are near each other, so that some kernel may hold them in two bytes.
  const double least_bytes = static_cast<double>(a_.nnz()) * (sizeof(V) + near_column) + order_bytes();
  if (!(least_bytes <= report_.memory_budget)) return false;
  const double lost = as_it_is.csr_seconds() - as_it_is.reading_seconds();
  const double per_line = lost / (lines * static_cast<double>(a_.nnz()));
  // Bringing x into the order, and y out of it, is scattered too: twice as many elements as there are rows.
  const double ordered = ordered_slowdown * as_it_is.reading_seconds() + 2 * per_line * a_.rows;
  const double gain = as_it_is.csr_seconds() - ordered;
  return gain > least_reorder_gain * as_it_is.csr_seconds() &&
         reorder_multiplies * as_it_is.csr_seconds() <
             paying_share * static_cast<double>(options_.expected_multiplies) * gain;
}

/// `kept`, which is in that order, made ready for the kernel; freed unless the kernel borrows it.
template <class V>
std::unique_ptr<prepared_matrix<V>> planner<V>::prepare_reordered(std::string_view kernel,
                                                                  std::span<const index> order,
                                                                  std::unique_ptr<const csr<V>>& kept) const {
  const bool borrows = kernel == fallback_kernel;
  auto inner =
      find_kernel(kernel, device_kind::cpu).prepare(*kept, {.simd = options_.simd, .may_borrow = borrows});
  if (!borrows) kept.reset();
  return make_reordered(std::move(inner), order);
}

/// None where the order brings too little, or where there is too little memory for it.
template <class V> std::optional<plan<V>> planner<V>::make_reordered_plan(const contest<V>& as_it_is) {
  const auto start = clock::now();
  try {
    const array<index> order = reverse_cuthill_mckee(a_);
    auto kept = std::make_unique<const csr<V>>(permute_symmetric(a_, order));
    report_.reorder_seconds = seconds_since(start);
    contest_terms inner_terms = terms();
    inner_terms.memory_budget -= order_bytes();
    contest<V> held(*kept, inner_terms);
    const auto csr = make_reordered(find_kernel(fallback_kernel, device_kind::cpu)
                                        .prepare(*kept, {.simd = options_.simd, .may_borrow = true}),
                                    std::span<const index>(order));
    const double csr_seconds = held.time(*csr), moving = std::max(0.0, csr_seconds - held.csr_seconds());
    if (csr_seconds > (1 - least_reorder_gain) * as_it_is.csr_seconds()) return std::nullopt;
    auto outcome = held.run();
    report_on(held);
    report_.is_reordered = true;
    report_.chosen_seconds = (outcome.ready ? outcome.seconds : held.csr_seconds()) + moving;
    report_.reason = fmt::format("{:.2f} times as fast as csr_balanced in the old order",
                                 as_it_is.csr_seconds() / report_.chosen_seconds);
    if (!outcome.ready) {
      auto ready = prepare_reordered(fallback_kernel, order, kept);
      return finish(std::move(kept), std::move(ready));
    }
    return finish(nullptr, make_reordered(std::move(outcome.ready), std::span<const index>(order)));
  } catch (const unsupported&) {  // beside the order, nothing fits the memory budget
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

template <class V> plan<V> planner<V>::make_measured() {
  report_.longest_row = find_longest_row(a_);
  report_.gathers = find_locality(a_);
  contest<V> held(a_, terms());
  report_.bytes_per_second = held.bytes_per_second();
  report_.csr_seconds = held.csr_seconds();
  report_.waiting_seconds = held.waiting_seconds();
  if (could_reorder(held))
    if (auto reordered = make_reordered_plan(held)) return std::move(*reordered);
  auto outcome = held.run();
  report_on(held);
  report_.csr_seconds = held.csr_seconds();
  report_.chosen_seconds = outcome.ready ? outcome.seconds : held.csr_seconds();
  if (!outcome.ready)
    return keep_csr(
        fmt::format("no conversion would pay within {} multiplies", options_.expected_multiplies));
  report_.reason = fmt::format("{:.2f} times as fast as csr_balanced, which needs no conversion",
                               report_.csr_seconds / report_.chosen_seconds);
  return finish(nullptr, std::move(outcome.ready));
}

template <class V> plan<V> planner<V>::make() {
  if (!options_.kernel.empty()) return make_forced();
  const bool fits = static_cast<double>(report_.csr_bytes) <= report_.memory_budget;
  if (fits && a_.nnz() < fewest_entries)
    return keep_csr(
        fmt::format("fewer than {} entries: planning would take longer than it could save", fewest_entries));
  if (fits && options_.expected_multiplies < fewest_multiplies)
    return keep_csr(fmt::format("fewer than {} multiplies: no conversion could pay", fewest_multiplies));
  if (options_.remembered.empty()) return make_measured();
  const std::string key = choice_key(a_, options_, report_.memory_budget);
  if (auto remembered = make_remembered(key)) return std::move(*remembered);
  plan<V> made = make_measured();
  remember_choice(options_.remembered, key, made.report());
  return made;
}

}  // namespace

template <class V> plan<V> make_plan(const csr<V>& a, const plan_options& options) {
  return planner<V>(a, nullptr, options).make();
}

template <class V> plan<V> make_plan(csr<V>&& a, const plan_options& options) {
  auto owned = std::make_unique<const csr<V>>(std::move(a));
  const csr<V>& kept = *owned;
  return planner<V>(kept, std::move(owned), options).make();
}

template plan<float> make_plan(const csr<float>&, const plan_options&);
template plan<double> make_plan(const csr<double>&, const plan_options&);
template plan<float> make_plan(csr<float>&&, const plan_options&);
template plan<double> make_plan(csr<double>&&, const plan_options&);

}  // namespace nz
