#include <fmt/format.h>

#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/planner_internal.hpp>

namespace nz {
namespace {

/// Below it, planning takes longer than it could save.
constexpr std::int64_t fewest_multiplies = 10;

}  // namespace

template <class V>
planner<V>::planner(const matrix_facts& a, const plan_options& options) : options_(options) {
  report_.rows = a.rows;
  report_.cols = a.cols;
  report_.entries = a.nnz;
  report_.mean_row = a.rows == 0 ? 0 : static_cast<double>(a.nnz) / a.rows;
  report_.machine = a.machine;
  report_.kind = a.kind;
  report_.csr_bytes = a.csr_bytes;
  report_.compulsory_bytes =
      a.csr_bytes + (static_cast<std::uint64_t>(a.rows) + static_cast<std::uint64_t>(a.cols)) * sizeof(V);
  report_.memory_budget = options.memory_budget.value_or(a.default_budget);
  report_.expected_multiplies = options.expected_multiplies;
}

template <class V> double planner<V>::seconds_so_far() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

template <class V>
plan<V> planner<V>::finish(std::unique_ptr<const csr<V>> kept, std::unique_ptr<prepared_matrix<V>> ready) {
  report_.bytes = ready->storage().bytes;
  report_.encodings = ready->encodings();
  report_.seconds = seconds_so_far();
  return plan<V>(std::move(kept), std::move(ready), std::move(report_));
}

template <class V>
bool planner<V>::accept(std::string_view kernel, const prepared_matrix<V>& ready, std::string reason) {
  if (!(static_cast<double>(ready.storage().bytes) <= report_.memory_budget)) return false;
  report_.kernel = kernel;
  report_.reason = std::move(reason);
  return true;
}

template <class V> tuner_options planner<V>::terms() const {
  return {.memory_budget = report_.memory_budget,
          .multiplies = options_.expected_multiplies,
          .are_steps = options_.are_steps,
          .deterministic = options_.deterministic};
}

template <class V> void planner<V>::report_on(const tuner<V>& held) {
  report_.base_kernel = held.base_kernel();
  report_.candidates = held.candidates();
  for (const plan_candidate& c : report_.candidates)
    if (c.is_chosen) report_.kernel = c.kernel;
}

template <class V> plan<V> planner<V>::make_forced() {
  const kernel_row& kernel = find_kernel(options_.kernel, report_.kind);
  if (options_.deterministic && !kernel.is_repeatable)
    throw unsupported(
        fmt::format("the products of {} are not the same bits every time; allow that "
                    "(deterministic = false), or choose another",
                    kernel.name));
  auto ready = prepare(kernel.name);
  // Who asks for one by name has it, unless a budget was named too.
  if (!options_.memory_budget) report_.memory_budget = static_cast<double>(ready->storage().bytes);
  if (!accept(kernel.name, *ready, "asked for by name"))
    throw unsupported(fmt::format("{} takes {}: more than the memory budget", kernel.name,
                                  format_bytes(ready->storage().bytes)));
  return finish(nullptr, std::move(ready));
}

template <class V> std::optional<plan<V>> planner<V>::recall(const std::string& key) {
  const auto choice = recall_choice(options_.remembered, key);
  if (!choice) return std::nullopt;
  report_.is_remembered = true;
  try {
    if (auto made = make_remembered(*choice, fmt::format("remembered in {}", options_.remembered)))
      return made;
  } catch (const unsupported&) {  // no kernel of this table, or not for this matrix: choose anew
  }
  report_.is_remembered = false;
  return std::nullopt;
}

template <class V> plan<V> planner<V>::make() {
  if (!options_.kernel.empty()) return make_forced();
  if (static_cast<double>(report_.csr_bytes) <= report_.memory_budget) {
    if (std::string reason = find_too_small(); !reason.empty()) return keep_csr(std::move(reason));
    if (options_.expected_multiplies < fewest_multiplies)
      return keep_csr(fmt::format("fewer than {} multiplies: no conversion could pay", fewest_multiplies));
  }
  if (options_.remembered.empty()) return make_measured();
  const std::string key = find_choice_key();
  if (auto remembered = recall(key)) return std::move(*remembered);
  plan<V> made = make_measured();
  remember_choice(options_.remembered, key, made.report());
  return made;
}

template class planner<float>;
template class planner<double>;

}  // namespace nz
