#include <fmt/format.h>

#include <nonzero/core/epilogue.hpp>
#include <nonzero/plan/reorder.hpp>
#include <nonzero/plan/reordered.hpp>

namespace nz {
namespace {

constexpr index worth_threads = 1 << 14;  // rows; below it, starting them takes longer than they save

template <class V> class reordered final : public prepared_matrix<V> {
 public:
  /// `position[old] = new`
  reordered(std::unique_ptr<prepared_matrix<V>> inner, array<index> position)
      : prepared_matrix<V>(inner->rows(), inner->cols(), inner->where()),
        inner_(std::move(inner)),
        position_(std::move(position)),
        x_(position_.size()),
        y_(position_.size()) {}

  footprint storage() const override {
    footprint out = inner_->storage();
    out.bytes += position_.size() * (sizeof(index) + 2 * sizeof(V));
    return out;
  }

 private:
  void run(V alpha, const V* x, V beta, V* y, stream) const override {
    const index n = this->rows();
    const index* position = position_.data();
    V* ordered_x = x_.data();
    const V* ordered_y = y_.data();
#pragma omp parallel for schedule(static) if (n >= worth_threads)
    for (index i = 0; i < n; ++i) ordered_x[position[i]] = x[i];
    inner_->multiply(alpha, x_, V{0}, y_);
    const scale_and_add<V> put{V{1}, beta};
#pragma omp parallel for schedule(static) if (n >= worth_threads)
    for (index i = 0; i < n; ++i) put(ordered_y[position[i]], y[i]);
  }

  std::unique_ptr<prepared_matrix<V>> inner_;
  // Where each old row went. The old order of rows is walked both ways, so that one array does, and what the
  // caller reads and writes is in sequence.
  array<index> position_;
  mutable array<V> x_, y_;  // in the new order; there is one multiply at a time
};

}  // namespace

template <class V>
std::unique_ptr<prepared_matrix<V>> make_reordered(std::unique_ptr<prepared_matrix<V>> inner,
                                                   std::span<const index> order) {
  if (inner->rows() != inner->cols() || order.size() != static_cast<std::size_t>(inner->rows()))
    throw shape_error(fmt::format("an order of {} rows does not fit a matrix of {} x {}", order.size(),
                                  inner->rows(), inner->cols()));
  if (!inner->where()->is_host())
    throw device_error("a reordered matrix runs on the host, and this one is on " +
                       inner->where()->description());
  return std::make_unique<reordered<V>>(std::move(inner), invert_order(order));
}

template std::unique_ptr<prepared_matrix<float>> make_reordered(std::unique_ptr<prepared_matrix<float>>,
                                                                std::span<const index>);
template std::unique_ptr<prepared_matrix<double>> make_reordered(std::unique_ptr<prepared_matrix<double>>,
                                                                 std::span<const index>);

}  // namespace nz
