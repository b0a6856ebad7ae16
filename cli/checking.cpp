#include "checking.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>

#include <nonzero/core/values.hpp>

namespace nz::cli {
namespace {

/// alpha and beta.
constexpr std::pair<double, double> pairs_of_factors[] = {{1, 0}, {2, -1}, {-0.5, 0.25}};

/// Uniform in [-1, 1), the same on every machine.
template <class V> std::vector<V> random_vector(index length, std::mt19937_64& source) {
  std::vector<V> out(static_cast<std::size_t>(length));
  for (V& value : out) value = static_cast<V>(std::ldexp(static_cast<double>(source() >> 11), -52) - 1);
  return out;
}

/// Adds the size of the format, and whether that is the reason for the refusal.
template <class V> void explain_refusal(const csr<V>& a, padding_budget budget, outcome& out) {
  for (const format_row& format : formats())
    if (format.name == out.kernel->format) {
      const format_cost cost = find_cost(format, a, budget);
      out.size = cost.size.value_or(footprint());
      out.is_too_large = cost.size && cost.refusal;
    }
}

/// The largest error of all trials, in units of the bound: right when <= 1.
template <class V> long double largest_error(ready_matrix<V>& ready, const std::vector<trial<V>>& trials) {
  long double largest = 0;
  for (const trial<V>& t : trials) {
    ready.y.copy_from(t.y);
    ready.prepared->multiply(t.alpha, ready.x, t.beta, ready.y);
    largest = std::max(largest, reference::largest_error<V>(t.exact, ready.y.to_host()));
  }
  return largest;
}

}  // namespace

template <class V> format_cost find_cost(const format_row& format, const csr<V>& a, padding_budget budget) {
  format_cost out;
  try {
    out.size = format.footprint_of(trusted(a));
    require_within_budget(format.name, *out.size, footprint_of(a), budget);
  } catch (const unsupported& e) {
    out.refusal = e.what();
  }
  return out;
}

std::string per_entry_text(footprint size, offset entries) {
  if (entries == 0) return "–";
  const double bytes = static_cast<double>(size.bytes) / static_cast<double>(entries);
  return bytes < 1000 ? fmt::format("{:.1f} B", bytes) : format_bytes(static_cast<std::uint64_t>(bytes));
}

std::string padding_text(footprint size) {
  const auto bytes = static_cast<double>(size.bytes), padding = static_cast<double>(size.padding_bytes);
  return fmt::format("{:.1f} %", size.bytes == 0 ? 0 : 100 * padding / bytes);
}

std::string refusal_text(padding_budget budget) {
  return yellow(fmt::format("refused: padding past {:g} × csr", budget.times_csr));
}

template <class V> trials_of_matrix<V> make_trials(const csr<V>& a, int pairs) {
  std::mt19937_64 source(1);
  trials_of_matrix<V> out{random_vector<V>(a.cols, source), {}};
  for (const auto& pair : std::span(pairs_of_factors).first(static_cast<std::size_t>(pairs))) {
    const auto alpha = static_cast<V>(pair.first), beta = static_cast<V>(pair.second);
    std::vector<V> y = random_vector<V>(a.rows, source);
    if (beta == V{0}) std::fill(y.begin(), y.end(), std::numeric_limits<V>::quiet_NaN());
    auto exact = reference::multiply_exactly<V>(alpha, a, out.x, beta, y);
    out.trials.push_back({alpha, beta, std::move(y), std::move(exact)});
  }
  return out;
}

template <class V>
ready_matrix<V> make_ready(const kernel_row& kernel, const csr<V>& a, const std::vector<V>& x,
                           const prepare_options& options) {
  using clock = std::chrono::steady_clock;
  ready_matrix<V> out;
  const auto start = clock::now();
  out.prepared = kernel.prepare(a, options);
  out.prepare_seconds = std::chrono::duration<double>(clock::now() - start).count();
  out.x = vector<V>(out.prepared->where(), x);
  out.y = vector<V>(out.prepared->where(), static_cast<std::size_t>(a.rows));
  return out;
}

const char* outcome::verdict() const {
  return is_refused() ? "refused" : !failure.empty() ? "failed" : is_wrong() ? "wrong" : "ok";
}

json outcome::error_json() const {
  if (has_error()) return {{"error_in_bounds", static_cast<double>(error)}};
  return {{"why", is_refused() ? refusal : failure}};
}

template <class V>
outcome try_kernel(const kernel_row& kernel, const csr<V>& a, const trials_of_matrix<V>& against,
                   padding_budget budget, const std::function<ready_matrix<V>()>& make,
                   ready_matrix<V>* ready) {
  outcome out;
  out.kernel = &kernel;
  record_failure(out, [&] {
    try {
      ready_matrix<V> made = make();
      out.size = made.prepared->storage();
      out.prepare_seconds = made.prepare_seconds;
      out.error = largest_error(made, against.trials);
      if (out.is_right() && ready) *ready = std::move(made);
    } catch (const unsupported& e) {
      out.refusal = e.what();
    }
  });
  if (out.is_refused()) explain_refusal(a, budget, out);
  return out;
}

void tally::add(const outcome& of) {
  add({!of.is_refused(), of.is_wrong(), !of.failure.empty(), of.failure});
}

void tally::add(const tally& other) {
  results += other.results;
  wrong += other.wrong;
  failed += other.failed;
  if (failure.empty()) failure = other.failure;
}

std::string tally::text() const {
  std::string out;
  if (wrong > 0)
    out = fmt::format("{} of {} {} wrong", wrong, counted(results, "result"), wrong == 1 ? "is" : "are");
  if (failed > 0)
    out += fmt::format("{}{} of {} failed: {}", wrong > 0 ? "; " : "", failed, counted(results, "kernel"),
                       failure);
  return out;
}

std::string verdict_text(const outcome& of, padding_budget budget) {
  if (of.is_refused()) return of.is_too_large ? refusal_text(budget) : yellow("refused: ") + of.refusal;
  if (!of.failure.empty()) return red("FAILED: ") + of.failure;
  return of.is_wrong() ? red("WRONG") : green("ok");
}

#define NZ_INSTANTIATE(V)                                                                                   \
  template format_cost find_cost(const format_row&, const csr<V>&, padding_budget);                         \
  template trials_of_matrix<V> make_trials(const csr<V>&, int);                                             \
  template ready_matrix<V> make_ready(const kernel_row&, const csr<V>&, const std::vector<V>&,              \
                                      const prepare_options&);                                              \
  template outcome try_kernel(const kernel_row&, const csr<V>&, const trials_of_matrix<V>&, padding_budget, \
                              const std::function<ready_matrix<V>()>&, ready_matrix<V>*);
NONZERO_FOR_EACH_VALUE(NZ_INSTANTIATE)

}  // namespace nz::cli
