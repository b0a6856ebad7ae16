#pragma once

#include <cstddef>

#include <nonzero/core/fused_step.hpp>

// The loops of vector_kernels.cpp over a chunk, for one instruction set. Sums are made of sixteen partial
// sums, added in a fixed order.
namespace nz::cpu {

template <class V> struct vector_functions {
  double (*dot)(std::size_t n, const V* x, const V* y);
  void (*axpy)(std::size_t n, V alpha, const V* x, V* y);
  void (*scale)(std::size_t n, V alpha, V* x);
  void (*multiply)(std::size_t n, const V* x, const V* y, V* z);
  /// r -= alpha q; returns r · z and r · r.
  step_sums (*update_residual)(std::size_t n, V alpha, const V* q, const V* inverse_diagonal, V* r);
  /// x += alpha p; p = z + beta p.
  void (*update_direction)(std::size_t n, V alpha, V beta, const V* r, const V* inverse_diagonal, V* x, V* p);
};

/// For the best instruction set there is.
template <class V> const vector_functions<V>& find_vector_functions();

}  // namespace nz::cpu
