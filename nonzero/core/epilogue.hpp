#pragma once

namespace nz {

/// What becomes of a row's sum in a plain multiply: y = alpha * sum + beta * y. With beta = 0, y is never
/// read, so that NaN in an uninitialised y cannot leak into the result.
/// Epilogues are constexpr so that a GPU can run them too (nvcc --expt-relaxed-constexpr).
template <class V> struct scale_and_add {
  V alpha = 1;
  V beta = 0;

  constexpr void operator()(V sum, V& y) const { y = beta == V{0} ? alpha * sum : alpha * sum + beta * y; }
};

}  // namespace nz
