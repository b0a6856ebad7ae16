#pragma once

#include <nonzero/kernel/back_end.hpp>

// What the CPU's back end has besides kernels for matrices, for the best instruction set there is. Results
// have the same bits for any number of threads.
namespace nz::cpu {

// In vector_kernels.cpp.
template <class V>
std::unique_ptr<vector_kernels<V>> make_vector_kernels(const std::shared_ptr<device>& on, std::size_t size);
template <class V>
std::unique_ptr<gradient_kernels<V>> make_gradient_kernels(const std::shared_ptr<device>& on,
                                                           std::size_t size);

// In grid_steps.cpp.
template <class V>
std::unique_ptr<grid_steps<V>> make_grid_steps(const cell_grid& grid, V factor,
                                               const std::shared_ptr<device>& on);

/// The loops of vector_kernels.cpp over a chunk. Sums are made of sixteen partial sums, added in a fixed
/// order.
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
template <class V> const vector_functions<V>& find_vector_functions();

}  // namespace nz::cpu
