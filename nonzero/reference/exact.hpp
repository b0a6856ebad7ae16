#pragma once

#include <span>
#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz::reference {

/// y = alpha * A x + beta * y in long double, and for each row how far a result in V may honestly be from it.
struct exact_product {
  std::vector<long double> y;
  std::vector<long double>
      bound;  // (n + 4) * (eps * (|alpha| sum |a||x| + |beta||y|) + underflow), n the row's entries

  /// How many times row i's bound `computed` is away from the exact value: right when <= 1. NaN where NaN is
  /// due, and the same infinity where that is due, count as 0; anything else not finite as infinity. Where
  /// finite terms may overflow V on the way, the bound is infinite and whatever comes counts as 0.
  long double error_in_bounds(index i, long double computed) const;
};

/// With beta = 0, y is never read. Independent of the formats' own multiplies. The matrix may hold floats
/// where x, y and the result are in double: its values are exact in both.
template <class V, class A>
exact_product multiply_exactly(V alpha, csr_view<A> a, std::span<const V> x, V beta, std::span<const V> y);
template <class V, class A>
exact_product multiply_exactly(V alpha, const csr<A>& a, std::span<const V> x, V beta, std::span<const V> y) {
  return multiply_exactly<V>(alpha, csr_view<A>(a), x, beta, y);
}

/// The largest error_in_bounds over all rows; 0 for a matrix without rows.
template <class V> long double largest_error(const exact_product& exact, std::span<const V> computed);

}  // namespace nz::reference
