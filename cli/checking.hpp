#pragma once

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "output.hpp"

// For `nz check`, `nz bench` and `nz info`: the memory that a format takes, a matrix prepared for a kernel,
// and its products compared with exact ones.
namespace nz::cli {

/// What a matrix takes in a format, and whether the format accepts it.
struct format_cost {
  std::optional<footprint> size = {};       // none: refused for another reason than the budget
  std::optional<std::string> refusal = {};  // the library's reason; none: the format accepts the matrix
};

/// Computed without converting the matrix.
template <class V> format_cost find_cost(const format_row& format, const csr<V>& a, padding_budget budget);

// Cells of a table.
std::string per_entry_text(footprint size, offset entries);
std::string padding_text(footprint size);
/// "refused: padding past 4 × csr".
std::string refusal_text(padding_budget budget);

/// A product to check. With beta = 0, y holds NaN, which must not reach the result.
template <class V> struct trial {
  V alpha, beta;
  std::vector<V> y;
  reference::exact_product exact;
};

/// A random x and the products with it.
template <class V> struct trials_of_matrix {
  std::vector<V> x;
  std::vector<trial<V>> trials;
};

/// The factors of the trials are the first `pairs` of (1, 0), (2, -1) and (-0.5, 0.25).
template <class V> trials_of_matrix<V> make_trials(const csr<V>& a, int pairs);

/// A matrix prepared for a kernel, with x and y on the same device.
template <class V> struct ready_matrix {
  std::shared_ptr<const prepared_matrix<V>> prepared;  // may share ownership with its plan
  vector<V> x, y;
  double prepare_seconds = 0;
};

template <class V>
ready_matrix<V> make_ready(const kernel_row& kernel, const csr<V>& a, const std::vector<V>& x,
                           const prepare_options& options);

/// The result of one kernel on one matrix.
struct outcome {
  const kernel_row* kernel = nullptr;
  footprint size = {};
  std::string refusal;        // why the kernel does not take the matrix; empty: it does
  bool is_too_large = false;  // refused because its format would be mostly padding
  std::string failure;        // an error, such as out of memory; empty: none
  long double error = 0;      // the largest, in units of the bound; right when <= 1
  double prepare_seconds = 0;

  bool is_refused() const { return !refusal.empty(); }
  bool is_wrong() const { return has_error() && !(error <= 1); }  // NaN is wrong too
  bool is_right() const { return has_error() && error <= 1; }
  bool has_error() const { return !is_refused() && failure.empty(); }
  bool has_size() const { return size.bytes > 0 || has_error(); }
  json bytes_json() const { return has_size() ? json(size.bytes) : json(); }
  json padding_json() const { return has_size() ? json(size.padding_bytes) : json(); }
  /// The error, or why there is none.
  json error_json() const;
  /// "ok", "refused", "failed" or "wrong".
  const char* verdict() const;
};

/// Calls `body` and records an error that it throws.
template <class Body> void record_failure(outcome& of, Body body) try { body(); } catch (const error& e) {
  of.failure = e.what();
} catch (const std::bad_alloc&) {
  of.failure = "out of memory";
}

/// Prepares the matrix by `make`, checks all trials and, if they are right, keeps it in `ready`. The outcome
/// records exceptions: `unsupported` is a refusal, anything else a failure.
template <class V>
outcome try_kernel(const kernel_row& kernel, const csr<V>& a, const trials_of_matrix<V>& against,
                   padding_budget budget, const std::function<ready_matrix<V>()>& make,
                   ready_matrix<V>* ready = nullptr);

/// How many kernels took their matrices, and what became of them.
struct tally {
  std::int64_t results = 0, wrong = 0, failed = 0;
  std::string failure = {};  // the first

  void add(const outcome& of);
  void add(const tally& other);
  bool is_good() const { return wrong + failed == 0; }
  /// "1 of 2 results is wrong", "2 of 4 kernels failed: out of memory", or both.
  std::string text() const;
};
/// The cell of a table for an outcome: "ok", or the reason.
std::string verdict_text(const outcome& of, padding_budget budget);

}  // namespace nz::cli
