#include <cmath>
#include <vector>

#include <nonzero/algorithms/cg_loops_internal.hpp>
#include <nonzero/plan/vector_kernels.hpp>

namespace nz {
namespace {

/// As one writes it with a library of products and one of vectors, with all numbers left on the device too.
/// They lie in a ring, as the states of the fused loop do.
template <class V> class blas_cg final : public cg_loop {
 public:
  blas_cg(cg_system<V>& of, int most)
      : v_(of),
        most_(static_cast<std::size_t>(most)),
        blas_(make_blas<V>(v_.a->where(), v_.x.size())),
        numbers_(v_.a->where(), std::vector<V>(2 * most_ * per_iteration, V{0})),
        seen_numbers_(most_ * per_iteration),
        seen_(most_) {
    if (has_diagonal()) z_ = vector<V>(v_.a->where(), v_.x.size());
  }

  gradient_state begin(double threshold) override {
    next_ = 0;
    precondition();
    v_.a->where()->copy(v_.p.data(), z().data(), v_.p.bytes(), {});
    find_sums(before_next());
    read(before_next(), 1);
    latest_ = state_of(0, number(0, rz), residual(0), threshold);
    return latest_;
  }

  std::span<const gradient_state> advance(int count, double threshold) override {
    const std::size_t first = next_;
    for (int i = 0; i < count; ++i) {
      iterate(before_next(), next_);
      next_ = (next_ + 1) % (2 * most_);
    }
    const auto looked_at = static_cast<std::size_t>(count);
    read(first, looked_at);
    for (std::size_t i = 0; i < looked_at; ++i) {
      const double along = number(i, curvature);
      latest_ = can_advance(latest_, along) ? state_of(along, number(i, rz), residual(i), threshold)
                                            : state_without_advance(latest_, along);
      seen_[i] = latest_;
    }
    return std::span(seen_).first(looked_at);
  }

  std::string_view vectors() const override { return blas_->name(); }

 private:
  // Where an iteration's numbers are, from its first on.
  enum place : std::size_t { curvature, alpha, minus_alpha, rz, beta, minus_beta, norm, per_iteration };

  bool has_diagonal() const { return v_.inverse_diagonal.size() > 0; }
  const vector<V>& z() const { return has_diagonal() ? z_ : v_.r; }
  void precondition() {
    if (has_diagonal()) blas_->multiply(v_.r, v_.inverse_diagonal, z_);
  }
  void find_sums(std::size_t iteration) {
    blas_->dot(v_.r, z(), numbers_, iteration * per_iteration + rz);
    if (has_diagonal()) blas_->norm2(v_.r, numbers_, iteration * per_iteration + norm);
  }

  void iterate(std::size_t before, std::size_t now) {
    const std::size_t at = now * per_iteration, rz_before = before * per_iteration + rz;
    v_.a->multiply(V{1}, v_.p, V{0}, v_.q);
    blas_->dot(v_.p, v_.q, numbers_, at + curvature);
    blas_->divide(numbers_, rz_before, at + curvature, at + alpha);
    blas_->axpy(numbers_, at + alpha, v_.p, v_.x);
    blas_->axpy(numbers_, at + minus_alpha, v_.q, v_.r);
    precondition();
    find_sums(now);
    blas_->divide(numbers_, at + rz, rz_before, at + beta);
    blas_->scale(numbers_, at + beta, v_.p);
    blas_->axpy(V{1}, z(), v_.p);
  }

  double number(std::size_t i, place which) const {
    return static_cast<double>(seen_numbers_[i * per_iteration + which]);
  }
  double residual(std::size_t i) const { return has_diagonal() ? number(i, norm) : std::sqrt(number(i, rz)); }
  std::size_t before_next() const { return (next_ + 2 * most_ - 1) % (2 * most_); }

  void read(std::size_t first, std::size_t count) {
    device& on = *v_.a->where();
    on.copy(seen_numbers_.data(), numbers_.data() + first * per_iteration, count * per_iteration * sizeof(V),
            {});
    on.synchronize({});
  }

  cg_system<V>& v_;
  std::size_t most_, next_ = 0;
  std::unique_ptr<vector_kernels<V>> blas_;
  vector<V> numbers_, z_;
  std::vector<V> seen_numbers_;
  std::vector<gradient_state> seen_;
  gradient_state latest_;
};

}  // namespace

template <class V> std::unique_ptr<cg_loop> make_blas_cg(cg_system<V>& of, int most) {
  return std::make_unique<blas_cg<V>>(of, most);
}

template std::unique_ptr<cg_loop> make_blas_cg(cg_system<float>&, int);
template std::unique_ptr<cg_loop> make_blas_cg(cg_system<double>&, int);

}  // namespace nz
