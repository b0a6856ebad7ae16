#pragma once

#include <memory>

#include <nonzero/core/array.hpp>
#include <nonzero/kernel/prepared_matrix.hpp>

namespace nz::cpu {

/// A matrix whose rows are kept in another order all over: place p holds row row[p]. Chunks of places are not
/// chunks of rows, so a fused step finds all of A x first.
template <class V> class permuted_matrix final : public prepared_matrix<V> {
 public:
  /// `places` multiplies the rows in the order in which they are kept.
  permuted_matrix(std::unique_ptr<prepared_matrix<V>> places, array<index> row);
  footprint storage() const override;

 private:
  void run(V alpha, const V* x, V beta, V* y, stream) const override;

  std::unique_ptr<prepared_matrix<V>> places_;
  array<index> row_;
};

}  // namespace nz::cpu
