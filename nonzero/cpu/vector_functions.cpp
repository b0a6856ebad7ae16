// Whole vectors of numbers at a time, with sixteen sums side by side so that no addition waits for the one
// before. Traffic: each vector once.
#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/vector_functions.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <nonzero/cpu/vector_kernels_internal.hpp>

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

constexpr std::size_t width = 16;

/// The sums in pairs, the pairs in pairs.
HWY_INLINE double add_up(double (&sums)[width]) {
  for (std::size_t half = width / 2; half > 0; half /= 2)
    for (std::size_t e = 0; e < half; ++e) sums[e] += sums[e + half];
  return sums[0];
}

template <class V> double dot(std::size_t n, const V* HWY_RESTRICT x, const V* HWY_RESTRICT y) {
  double sums[width] = {};
  std::size_t i = 0;
  for (; i + width <= n; i += width)
    for (std::size_t e = 0; e < width; ++e)
      sums[e] += static_cast<double>(x[i + e]) * static_cast<double>(y[i + e]);
  for (std::size_t e = 0; i < n; ++i, ++e) sums[e] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return add_up(sums);
}

template <class V> void axpy(std::size_t n, V alpha, const V* HWY_RESTRICT x, V* HWY_RESTRICT y) {
  for (std::size_t i = 0; i < n; ++i) y[i] += alpha * x[i];
}

template <class V> void scale(std::size_t n, V alpha, V* x) {
  for (std::size_t i = 0; i < n; ++i) x[i] *= alpha;
}

template <class V> void multiply(std::size_t n, const V* x, const V* y, V* z) {
  for (std::size_t i = 0; i < n; ++i) z[i] = x[i] * y[i];
}

/// What one number of r adds to the sums, after it was updated.
template <bool HasDiagonal, class V>
HWY_INLINE void update_one(V alpha, const V* q, const V* diagonal, V* r, double& rz, double& rr) {
  const V value = *r - alpha * *q;
  *r = value;
  const auto wide = static_cast<double>(value);
  rr += wide * wide;
  if constexpr (HasDiagonal) rz += wide * static_cast<double>(value * *diagonal);
}

template <bool HasDiagonal, class V>
HWY_INLINE step_sums update_residual_with(std::size_t n, V alpha, const V* HWY_RESTRICT q,
                                          const V* HWY_RESTRICT diagonal, V* HWY_RESTRICT r) {
  double rz[width] = {}, rr[width] = {};
  std::size_t i = 0;
  const auto at = [&](std::size_t k) { return HasDiagonal ? diagonal + k : nullptr; };
  for (; i + width <= n; i += width)
    for (std::size_t e = 0; e < width; ++e)
      update_one<HasDiagonal>(alpha, q + i + e, at(i + e), r + i + e, rz[e], rr[e]);
  for (std::size_t e = 0; i < n; ++i, ++e) update_one<HasDiagonal>(alpha, q + i, at(i), r + i, rz[e], rr[e]);
  const double squares = add_up(rr);
  return {HasDiagonal ? add_up(rz) : squares, squares};
}

template <class V> step_sums update_residual(std::size_t n, V alpha, const V* q, const V* diagonal, V* r) {
  return diagonal == nullptr ? update_residual_with<false>(n, alpha, q, diagonal, r)
                             : update_residual_with<true>(n, alpha, q, diagonal, r);
}

template <class V>
void update_direction(std::size_t n, V alpha, V beta, const V* HWY_RESTRICT r, const V* HWY_RESTRICT diagonal,
                      V* HWY_RESTRICT x, V* HWY_RESTRICT p) {
  if (diagonal == nullptr)
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += alpha * p[i];
      p[i] = r[i] + beta * p[i];
    }
  else
    for (std::size_t i = 0; i < n; ++i) {
      x[i] += alpha * p[i];
      p[i] = r[i] * diagonal[i] + beta * p[i];
    }
}

template <class V>
constexpr vector_functions<V> functions{
    dot<V>, axpy<V>, scale<V>, multiply<V>, update_residual<V>, update_direction<V>};

#define NONZERO_ADD(V) compiled_functions<vector_functions<V>>::add(HWY_TARGET, functions<V>)&&
[[maybe_unused]] const bool are_added = NONZERO_FOR_EACH_VALUE(NONZERO_ADD) true;
#undef NONZERO_ADD

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nz::cpu {

template <class V> const vector_functions<V>& find_vector_functions() {
  static const vector_functions<V>& found = compiled_functions<vector_functions<V>>::find({});
  return found;
}
#  define NONZERO_INSTANTIATE(V) template const vector_functions<V>& find_vector_functions();
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#  undef NONZERO_INSTANTIATE

}  // namespace nz::cpu
#endif
