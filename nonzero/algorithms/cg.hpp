#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <nonzero/formats/csr.hpp>
#include <nonzero/plan/plan.hpp>

namespace nz {

enum class preconditioner : std::uint8_t {
  none,
  jacobi,  // the diagonal
};

/// How an iteration is made.
enum class cg_method : std::uint8_t {
  fused,  // p · A p in the pass that finds A p, then two passes over the vectors
  blas,   // to compare with: a product, then dot, axpy and scal one by one. On a GPU cuSPARSE's fastest
          // product and cuBLAS, elsewhere ours. Looks as seldom as the fused one does, and ends where it
          // looks: on a GPU up to 15 iterations after it could have
};

struct cg_options {
  double tolerance = 1e-8;          // stop where |b - A x| <= tolerance * |b|
  std::int64_t max_iterations = 0;  // 0: ten times the rows, and 100 at the least
  preconditioner by = preconditioner::none;
  cg_method method = cg_method::fused;
  /// Iterations between two looks at the residual, which do not alter the result of one kernel (it plans
  /// again, if at all, at a look); 0: as suits the device.
  int check_every = 0;
  /// Where it runs and by which kernel. 0 expected multiplies: as many as a matrix of this size may need, and
  /// on the CPU ten times as many once it has taken twice that; it then plans again where it has converted
  /// nothing yet.
  plan_options plan = {.expected_multiplies = 0};
  /// Told of the latest iteration and |r| / |b| whenever the host has looked. May throw to stop.
  std::function<void(std::int64_t iteration, double residual)> progress = nullptr;
};

/// Why conjugate gradients ended.
enum class cg_end : std::uint8_t {
  converged,
  most_iterations,        // the residual is above the tolerance after so many
  stagnated,              // the loop believed to be there, but b - A x is not, and falls no more
  not_positive_definite,  // p · A p <= 0
  not_finite,             // numbers too large, or too small, for the precision
};

template <class V> struct cg_result {
  std::vector<V> x;
  cg_end end = cg_end::converged;
  std::int64_t iterations = 0;
  double residual = 0;            // |b - A x| / |b|, found anew at the end
  double recursive_residual = 0;  // the same as the loop believed it
  double curvature = 0;           // the last p · A p, per |b|^2
  int restarts = 0;               // how often the residual was found anew and the loop went on from there
  std::vector<double> history;    // |r| / |b| before the first iteration and after each
  plan_report plan;
  std::string vectors;           // whose kernels the vectors' are: "nonzero", "cuBLAS"
  double iteration_seconds = 0;  // of those after the first few; planning and copies are not in it

  bool is_converged() const { return end == cg_end::converged; }
};

/// x with A x = b for a symmetric positive definite A, by the conjugate gradients of Hestenes and Stiefel
/// (1952) from x = 0. Vectors and numbers stay on the device; the host looks every few iterations. What
/// stands in the way of an answer while it runs is told by `end`. Throws `shape_error` where A is not square
/// or b does not fit; `unsupported`, naming rows and columns, where A is clearly not symmetric, has a
/// diagonal entry that is not positive, or where A or b is not finite, and for options out of their range.
template <class V>
cg_result<V> conjugate_gradients(csr_view<V> a, std::span<const V> b, const cg_options& options = {});
template <class V>
cg_result<V> conjugate_gradients(const csr<V>& a, std::span<const V> b, const cg_options& options = {}) {
  return conjugate_gradients(csr_view<V>(a), b, options);
}

}  // namespace nz
