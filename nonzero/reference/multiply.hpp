#pragma once

#include <concepts>
#include <span>

#include <nonzero/core/epilogue.hpp>
#include <nonzero/formats/csr.hpp>

// y = alpha * A x + beta * y on one thread: the oracle for all other kernels. With beta = 0, y is not read.
// Throws `shape_error` unless x has A's columns and y its rows. Low level: A is trusted to be valid.
namespace nz::reference {

template <class V> void multiply(V alpha, csr_view<V> a, std::span<const V> x, V beta, std::span<V> y) {
  require_vectors_fit(a.rows, a.cols, x.size(), y.size());
  const scale_and_add<V> epilogue{alpha, beta};
  for (index i = 0; i < a.rows; ++i) {
    V sum = 0;
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) sum += a.val[k] * x[a.col[k]];
    epilogue(sum, y[i]);
  }
}

/// Any other format, by its for_each_trusted_entry.
template <class V, class Format>
requires(!std::convertible_to<const Format&, csr_view<V>>)  //
    void multiply(V alpha, const Format& a, std::span<const V> x, V beta, std::span<V> y) {
  const auto [rows, cols] = shape_of(a);
  require_vectors_fit(rows, cols, x.size(), y.size());
  array<V> sums(y.size(), V{0});
  for_each_trusted_entry(a, [&](index row, index col, V val) { sums[row] += val * x[col]; });
  const scale_and_add<V> epilogue{alpha, beta};
  for (index i = 0; i < rows; ++i) epilogue(sums[i], y[i]);
}

}  // namespace nz::reference
