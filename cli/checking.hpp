#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

// What `nz check` and `nz bench` share: a matrix made ready for a kernel, and its products held against exact
// ones.
namespace nz::cli {

/// A product to check: with beta = 0, y holds NaN, which must not be seen in the result.
template <class V> struct trial {
  V alpha, beta;
  std::vector<V> y;
  reference::exact_product exact;
};

/// A random x, and what comes of it.
template <class V> struct trials_of_matrix {
  std::vector<V> x;
  std::vector<trial<V>> trials;
};

/// The trials' factors are the first `pairs` of (1, 0), (2, -1) and (-0.5, 0.25).
template <class V> trials_of_matrix<V> make_trials(const csr<V>& a, int pairs);

/// A matrix converted and placed for a kernel, with x and y beside it.
template <class V> struct ready_matrix {
  std::shared_ptr<const prepared_matrix<V>> prepared;  // alone, or with the plan that it is part of
  vector<V> x, y;
  double prepare_seconds = 0;
};

template <class V>
ready_matrix<V> make_ready(const kernel_row& kernel, const csr<V>& a, const std::vector<V>& x,
                           const prepare_options& options);

/// What became of one kernel on one matrix.
struct outcome {
  const kernel_row* kernel = nullptr;
  footprint size = {};
  std::string refusal;        // why the kernel cannot be had; empty: it can
  bool is_too_large = false;  // refused because its format would be mostly padding
  std::string failure;        // what went wrong, out of memory say; empty: nothing
  long double error = 0;      // the largest, in units of the bound; right when <= 1
  double prepare_seconds = 0;

  bool is_refused() const { return !refusal.empty(); }
  bool is_wrong() const { return !failure.empty() || !(error <= 1); }  // NaN is wrong too
  bool is_right() const { return !is_refused() && !is_wrong(); }
  /// "ok", "refused", "failed" or "wrong".
  const char* verdict() const;
};

/// Makes the matrix ready by `make`, checks all trials and, if they are right, calls `then`. Whatever those
/// throw is part of the outcome: `unsupported` is a refusal, anything else a failure.
template <class V>
outcome try_kernel(const kernel_row& kernel, const csr<V>& a, const trials_of_matrix<V>& against,
                   padding_budget budget, const std::function<ready_matrix<V>()>& make,
                   const std::function<void(ready_matrix<V>&)>& then);

/// The table's cell for an outcome: "ok", or why not.
std::string verdict_text(const outcome& of, padding_budget budget);

}  // namespace nz::cli
