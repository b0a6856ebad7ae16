#pragma once

#include <functional>
#include <span>

#include <nonzero/core/fused_step.hpp>
#include <nonzero/core/types.hpp>

namespace nz {

/// What becomes of a row's sum in a plain multiply: y = alpha * sum + beta * y. With beta = 0, y is never
/// read, so that NaN in an uninitialised y cannot leak into the result.
/// Epilogues are constexpr so that a GPU can run them too (nvcc --expt-relaxed-constexpr).
template <class V> struct scale_and_add {
  V alpha = 1;
  V beta = 0;

  constexpr void operator()(V sum, V& y) const { y = beta == V{0} ? alpha * sum : alpha * sum + beta * y; }
};

/// What becomes of the sums in a fused step: called once for each chunk of consecutive rows, on several
/// threads at once, with sums[i] = (A x)[first + i], which it may overwrite. What it returns is added up over
/// the chunks in the order of the rows, so that a fused norm or dot product has the same bits for any number
/// of threads. It must not throw.
template <class V> using rows_epilogue = std::function<double(index first, std::span<V> sums)>;

/// The same with two sums: how kernels are given any fused step.
template <class V> using chunk_epilogue = std::function<step_sums(index first, std::span<V> sums)>;

}  // namespace nz
