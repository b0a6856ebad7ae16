#include <nonzero/cpu/permuted_matrix.hpp>

namespace nz::cpu {

template <class V>
permuted_matrix<V>::permuted_matrix(std::unique_ptr<prepared_matrix<V>> places, array<index> row)
    : prepared_matrix<V>(places->rows(), places->cols(), places->where()),
      places_(std::move(places)),
      row_(std::move(row)) {}

template <class V> footprint permuted_matrix<V>::storage() const {
  footprint size = places_->storage();
  size.bytes += row_.size() * sizeof(index);
  return size;
}

template <class V> void permuted_matrix<V>::run(V alpha, const V* x, V beta, V* y, stream) const {
  const scale_and_add<V> epilogue{alpha, beta};
  places_->apply({x, static_cast<std::size_t>(this->cols())}, [&](index first, std::span<V> sums) {
    const index* row = row_.data() + first;
    for (std::size_t i = 0; i < sums.size(); ++i) epilogue(sums[i], y[row[i]]);
    return 0.0;
  });
}

template class permuted_matrix<float>;
template class permuted_matrix<double>;

}  // namespace nz::cpu
