#pragma once

#include <cstdint>
#include <limits>

#include <nonzero/core/vector.hpp>

namespace nz {

enum class gradient_status : std::int32_t { going_on, converged, not_positive_definite, not_finite };

/// The state of conjugate gradients after an iteration. It stays on the device, where the next iteration
/// reads it.
struct gradient_state {
  double curvature = 0;  // p · A p
  double rz = 0;         // r · z, where z is r or r over the diagonal
  double residual = 0;   // |r|
  gradient_status status = gradient_status::going_on;
};

constexpr bool is_finite(double value) {
  return value >= -std::numeric_limits<double>::max() && value <= std::numeric_limits<double>::max();
}

/// Whether an iteration can be made after `before`, along a direction of this curvature.
constexpr bool can_advance(const gradient_state& before, double curvature) {
  return before.status == gradient_status::going_on && curvature > 0 && is_finite(curvature);
}

/// The state where r has been updated, or made at the start.
constexpr gradient_state state_of(double curvature, double rz, double residual, double threshold) {
  const gradient_status status = !is_finite(residual) || !is_finite(rz) ? gradient_status::not_finite
                                 : residual <= threshold                ? gradient_status::converged
                                                                        : gradient_status::going_on;
  return {curvature, rz, residual, status};
}

/// The state where there can be no iteration after `before`.
constexpr gradient_state state_without_advance(const gradient_state& before, double curvature) {
  if (before.status != gradient_status::going_on) return before;
  return {curvature, before.rz, before.residual,
          is_finite(curvature) ? gradient_status::not_positive_definite : gradient_status::not_finite};
}

/// The vectors of conjugate gradients, in the device's memory, all of one length.
template <class V> struct gradient_vectors {
  V *x, *r, *p;
  const V* q;                 // A p
  const V* inverse_diagonal;  // null: no preconditioner, z = r
};

/// An iteration of conjugate gradients without its multiply, in two passes over the vectors; all numbers stay
/// on the device. For vectors of one size on one device (functions_on in plan/back_ends.hpp finds them).
/// Sums are made in a fixed order, in double. An iteration whose state before is not going_on only copies
/// that state, so that the host need not check after each.
///
/// Thread safety: any number of threads may call one object at once, in one
/// stream or in several, each for vectors and states of its own.
template <class V> class gradient_kernels {
 public:
  virtual ~gradient_kernels() = default;
  gradient_kernels() = default;
  gradient_kernels(const gradient_kernels&) = delete;
  gradient_kernels& operator=(const gradient_kernels&) = delete;

  /// p = z, and the first state: r · z, |r|, and whether |r| <= threshold already.
  virtual void begin(const gradient_vectors<V>& v, double threshold, gradient_state* state,
                     stream in) const = 0;

  /// An iteration, after the multiply that found q = A p and *curvature = p · q:
  ///   alpha = before.rz / curvature;  r -= alpha q;  x += alpha p;  after.rz = r · z
  ///   beta = after.rz / before.rz;    p = z + beta p
  /// `before` and `after` are two states on the device. |r| <= threshold: converged.
  virtual void advance(const gradient_vectors<V>& v, const double* curvature, double threshold,
                       const gradient_state* before, gradient_state* after, stream in) const = 0;
};

}  // namespace nz
