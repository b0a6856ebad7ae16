#include <algorithm>
#include <vector>

#include <nonzero/algorithms/cg_loops_internal.hpp>
#include <nonzero/plan/vector_kernels.hpp>

namespace nz {
namespace {

/// States lie in a ring of twice the iterations between two looks, so that those of one look are in one
/// segment and the last of the look before is still there.
template <class V> class fused_cg final : public cg_loop {
 public:
  fused_cg(cg_system<V>& of, int most)
      : v_(of),
        most_(static_cast<std::size_t>(most)),
        kernels_(make_gradient_kernels<V>(v_.a->where(), v_.x.size())),
        curvature_(v_.a->where(), 1),
        states_(v_.a->where(), 2 * most_),
        seen_(most_) {}

  gradient_state begin(double threshold) override {
    next_ = 0;
    kernels_->begin(pointers(), threshold, states_.data() + before_next(), {});
    read(before_next(), 1);
    return seen_[0];
  }

  std::span<const gradient_state> advance(int count, double threshold) override {
    const std::size_t first = next_;
    for (int i = 0; i < count; ++i) {
      // q = A p, and p · q
      v_.a->apply(v_.p, fused_step<V>{.measure = {{measured::product, v_.p.data()}}}, v_.q, curvature_);
      kernels_->advance(pointers(), curvature_.data(), threshold, states_.data() + before_next(),
                        states_.data() + next_, {});
      next_ = (next_ + 1) % (2 * most_);
    }
    read(first, static_cast<std::size_t>(count));
    return std::span(seen_).first(static_cast<std::size_t>(count));
  }

  std::string_view vectors() const override { return "nonzero"; }

 private:
  gradient_vectors<V> pointers() {
    return {v_.x.data(), v_.r.data(), v_.p.data(), v_.q.data(), v_.inverse_diagonal.data()};
  }
  std::size_t before_next() const { return (next_ + 2 * most_ - 1) % (2 * most_); }
  void read(std::size_t first, std::size_t count) {
    device& on = *v_.a->where();
    if (on.is_host()) {  // after each iteration: not worth what a copy of any length prepares
      std::copy_n(states_.data() + first, count, seen_.begin());
      return;
    }
    on.copy(seen_.data(), states_.data() + first, count * sizeof(gradient_state), {});
    on.synchronize({});
  }

  cg_system<V>& v_;
  std::size_t most_, next_ = 0;
  std::unique_ptr<gradient_kernels<V>> kernels_;
  vector<double> curvature_;
  vector<gradient_state> states_;
  std::vector<gradient_state> seen_;
};

}  // namespace

template <class V> std::unique_ptr<cg_loop> make_fused_cg(cg_system<V>& of, int most) {
  return std::make_unique<fused_cg<V>>(of, most);
}

template std::unique_ptr<cg_loop> make_fused_cg(cg_system<float>&, int);
template std::unique_ptr<cg_loop> make_fused_cg(cg_system<double>&, int);

}  // namespace nz
