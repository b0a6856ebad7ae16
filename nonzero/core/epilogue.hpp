#pragma once

#include <functional>
#include <span>

#include <nonzero/core/fused_step.hpp>
#include <nonzero/core/types.hpp>

namespace nz {

/// The epilogue of a plain multiply: y = alpha * sum + beta * y. With beta = 0, y is not read, so NaN in an
/// uninitialised y has no effect. constexpr so that a GPU can run it (nvcc --expt-relaxed-constexpr).
template <class V> struct scale_and_add {
  V alpha = 1;
  V beta = 0;

  constexpr void operator()(V sum, V& y) const { y = beta == V{0} ? alpha * sum : alpha * sum + beta * y; }
};

/// The epilogue of a fused step on the CPU: called once for each chunk of consecutive rows, by several
/// threads, with sums[i] = (A x)[first + i], which it may overwrite. The numbers it returns are added in the
/// order of the chunks, so that a fused norm or dot product has the same bits for any number of threads. Must
/// not throw.
template <class V> using rows_epilogue = std::function<double(index first, std::span<V> sums)>;

/// The same with two sums.
template <class V> using chunk_epilogue = std::function<step_sums(index first, std::span<V> sums)>;

}  // namespace nz
