#pragma once

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

/// A matrix converted and placed for a kernel, with x and y beside it; or why that cannot be had.
template <class V> struct ready_matrix {
  std::unique_ptr<prepared_matrix<V>> prepared;  // null: refused
  vector<V> x, y;
  footprint size = {};
  double prepare_seconds = 0;
  std::string refusal;        // why the kernel cannot be had; empty: it can
  bool is_too_large = false;  // refused because its format would be mostly padding
};

/// Refused where `prepare` throws `unsupported`, or where the device or the host is out of memory.
template <class V>
ready_matrix<V> make_ready(const kernel_row& kernel, const csr<V>& a, const std::vector<V>& x,
                           const prepare_options& options);

/// The largest error of all trials, in units of the bound: right when <= 1.
template <class V> long double largest_error(ready_matrix<V>& ready, const std::vector<trial<V>>& trials);

/// The table's cell for a kernel that was refused.
std::string refusal_text(const std::string& refusal, bool is_too_large, padding_budget budget);

}  // namespace nz::cli
