#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
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
  blas,   // for comparison: a product, then dot, axpy and scal one by one. On a GPU cuSPARSE's fastest
          // product and cuBLAS, elsewhere ours. It ends where the host reads the residual: on a GPU up to 15
          // iterations late
};

struct cg_options {
  double tolerance = 1e-8;          // stop where |b - A x| <= tolerance * |b|
  std::int64_t max_iterations = 0;  // 0: ten times the rows, and 100 at the least
  preconditioner by = preconditioner::none;
  cg_method method = cg_method::fused;
  /// Iterations between two reads of the residual by the host; 0: as suits the device. The result of one
  /// kernel does not depend on it.
  int check_every = 0;
  /// Where it runs and by which kernel. 0 expected multiplies: an estimate from the number of rows. On the
  /// CPU, once it has taken twice that, it plans again for ten times as many, unless it has converted the
  /// matrix already. With stored_values::single it solves for the rounded matrix.
  plan_options plan = {.expected_multiplies = 0};
  /// Called with the latest iteration and |r| / |b| whenever the host has read them. May throw to stop.
  std::function<void(std::int64_t iteration, double residual)> progress = nullptr;
};

/// Why conjugate gradients ended.
enum class cg_end : std::uint8_t {
  converged,
  most_iterations,        // the residual is above the tolerance after so many
  stagnated,              // the loop's residual is below the tolerance, but b - A x is not, and falls no more
  not_positive_definite,  // p · A p <= 0
  not_finite,             // numbers too large, or too small, for the precision
};

template <class V> struct cg_result {
  std::vector<V> x;
  cg_end end = cg_end::converged;
  std::int64_t iterations = 0;
  double residual = 0;            // |b - A x| / |b|, computed at the end
  double recursive_residual = 0;  // the same from the loop's r, which drifts away from b - A x by rounding
  double curvature = 0;           // the last p · A p, per |b|^2
  int restarts = 0;               // how often b - A x was computed and the loop went on from there
  std::vector<double> history;    // |r| / |b| before the first iteration and after each
  plan_report plan;
  std::string vectors;           // whose kernels the vectors' are: "nonzero", "cuBLAS"
  double iteration_seconds = 0;  // of those after the first few; planning and copies are not in it

  bool is_converged() const { return end == cg_end::converged; }
};

/// x with A x = b for a symmetric positive definite A, by the conjugate gradients of Hestenes and Stiefel
/// (1952) from x = 0. Vectors and numbers stay on the device; the host reads the residual every few
/// iterations. `end` says why it ended. Throws `shape_error` where A is not square or b does not fit;
/// `unsupported`, naming rows and columns, where A is clearly not symmetric, has a diagonal entry that is not
/// positive, or where A or b is not finite, and for options out of their range.
template <class V>
cg_result<V> conjugate_gradients(csr_view<V> a, std::span<const std::type_identity_t<V>> b,
                                 const cg_options& options = {});
template <class V>
cg_result<V> conjugate_gradients(csr_view<V, std::int32_t> a, std::span<const std::type_identity_t<V>> b,
                                 const cg_options& options = {});
template <class V>
cg_result<V> conjugate_gradients(const csr<V>& a, std::span<const std::type_identity_t<V>> b,
                                 const cg_options& options = {}) {
  return conjugate_gradients(csr_view<V>(a), b, options);
}
/// The same for a matrix in a device's memory, and on that device. The host fetches a copy to check it.
template <class V>
cg_result<V> conjugate_gradients(const std::shared_ptr<const device_csr<V>>& a,
                                 std::span<const std::type_identity_t<V>> b, const cg_options& options = {});

}  // namespace nz
