#include <algorithm>
#include <cmath>
#include <limits>

#include <nonzero/reference/exact.hpp>

namespace nz::reference {

template <class V, class A>
exact_product multiply_exactly(V alpha, csr_view<A> a, std::span<const V> x, V beta, std::span<const V> y) {
  require_vectors_fit(a.rows, a.cols, x.size(), beta == V{0} ? static_cast<std::size_t>(a.rows) : y.size());
  const long double eps = std::numeric_limits<V>::epsilon();
  // What rounds to a subnormal loses up to this much, however small the terms.
  const long double tiny = std::numeric_limits<V>::denorm_min();
  exact_product out;
  out.y.resize(a.rows);
  out.bound.resize(a.rows);
  for (index i = 0; i < a.rows; ++i) {
    long double sum = 0, magnitude = 0;
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
      const long double term = static_cast<long double>(a.val[k]) * x[a.col[k]];
      sum += term;
      magnitude += std::abs(term);
    }
    out.y[i] = alpha * sum;
    out.bound[i] = std::abs(static_cast<long double>(alpha)) * magnitude;
    if (beta != V{0}) {
      out.y[i] += static_cast<long double>(beta) * y[i];
      out.bound[i] += std::abs(static_cast<long double>(beta) * y[i]);
    }
    // Where terms of one sign may add up to more than the largest V, the order of adding decides what comes.
    if (std::max(magnitude, out.bound[i]) > std::numeric_limits<V>::max()) {
      out.bound[i] = std::numeric_limits<long double>::infinity();
      continue;
    }
    const auto roundings = static_cast<long double>(a.row_length(i) + 4);
    out.bound[i] = roundings * (eps * out.bound[i] + (1 + std::abs(static_cast<long double>(alpha))) * tiny);
  }
  return out;
}

long double exact_product::error_in_bounds(index i, long double computed) const {
  const long double wanted = y[i];
  if (std::isnan(wanted) || std::isinf(wanted)) {
    const bool same = std::isnan(wanted) ? std::isnan(computed) : computed == wanted;
    return same ? 0 : std::numeric_limits<long double>::infinity();
  }
  if (std::isinf(bound[i])) return 0;
  if (!std::isfinite(computed)) return std::numeric_limits<long double>::infinity();
  return std::abs(computed - wanted) / bound[i];
}

template <class V> long double largest_error(const exact_product& exact, std::span<const V> computed) {
  require_vectors_fit(static_cast<index>(exact.y.size()), 0, 0, computed.size());
  long double largest = 0;
  for (std::size_t i = 0; i < computed.size(); ++i)
    largest = std::max(largest, exact.error_in_bounds(static_cast<index>(i), computed[i]));
  return largest;
}

#define NONZERO_INSTANTIATE(A, V) \
  template exact_product multiply_exactly(V, csr_view<A>, std::span<const V>, V, std::span<const V>);
NONZERO_FOR_EACH_STORAGE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE
#define NONZERO_INSTANTIATE(V) template long double largest_error(const exact_product&, std::span<const V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::reference
