// Operations on whole vectors, with sixteen independent partial sums.
// Traffic: each vector once.
#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/vector_kernels.cpp"
#include <cmath>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <nonzero/core/array.hpp>
#include <nonzero/core/device.hpp>
#include <nonzero/core/scratch.hpp>
#include <nonzero/cpu/back_end_internal.hpp>
#include <nonzero/cpu/chunk_ranges_internal.hpp>

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

constexpr std::size_t width = 16;

/// Pairwise.
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

/// Updates one number of r and adds to the sums.
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

#define NONZERO_ADD(V) compiled_functions<vector_functions<V>>::add(HWY_TARGET, functions<V>),
NONZERO_MADE_FIRST const added_list are_added{NONZERO_FOR_EACH_VALUE(NONZERO_ADD)};
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

namespace {

/// Numbers of a chunk, for any number of threads: each chunk has its own sums, which are added in order.
constexpr std::size_t chunk = 4096;
constexpr std::size_t chunks_of(std::size_t size) { return (size + chunk - 1) / chunk; }
/// Below this many numbers, starting other threads takes longer than they save.
constexpr std::size_t least_parallel = 16 * 1024;

/// body(first, numbers) for each chunk, in parallel.
template <class Body> void for_chunks(std::size_t size, const Body& body) {
  const auto chunks = static_cast<offset>(chunks_of(size));
  const auto run = [&](const chunk_range& mine) {
    for (auto c = static_cast<std::size_t>(mine.begin); c < static_cast<std::size_t>(mine.end); ++c)
      body(c * chunk, std::min(chunk, size - c * chunk));
  };
  in_team(size < least_parallel ? 1 : 0, [&](const team_thread& me) { run(me.equal_range(chunks)); });
}

/// The same where body returns sums.
class chunk_sums {
 public:
  explicit chunk_sums(std::size_t size)
      : size_(size), sums_([=] { return array<step_sums>(chunks_of(size)); }) {}
  template <class Body> step_sums add(const Body& body) const {
    const scratch<array<step_sums>>::lease of_chunks(sums_);
    for_chunks(size_,
               [&](std::size_t first, std::size_t n) { (*of_chunks)[first / chunk] = body(first, n); });
    return add_up(*of_chunks);
  }

 private:
  std::size_t size_;
  scratch<array<step_sums>> sums_;
};

template <class V> class on_cpu final : public vector_kernels<V> {
 public:
  explicit on_cpu(std::size_t size) : vector_kernels<V>(cpu_device(), size), chunk_sums_(size) {}
  std::string_view name() const override { return "nonzero"; }

 private:
  double find_dot(const V* x, const V* y) const {
    return chunk_sums_
        .add([&](std::size_t first, std::size_t n) {
          return step_sums{functions_.dot(n, x + first, y + first), 0.0};
        })
        .first;
  }
  void run_dot(const V* x, const V* y, V* to, stream) const override { *to = static_cast<V>(find_dot(x, y)); }
  void run_norm2(const V* x, V* to, stream) const override {
    *to = static_cast<V>(std::sqrt(find_dot(x, x)));
  }
  void run_axpy(V alpha, const V* alpha_at, const V* x, V* y, stream) const override {
    if (alpha_at != nullptr) alpha = *alpha_at;
    for_chunks(this->size(),
               [&](std::size_t first, std::size_t n) { functions_.axpy(n, alpha, x + first, y + first); });
  }
  void run_scale(V alpha, const V* alpha_at, V* x, stream) const override {
    if (alpha_at != nullptr) alpha = *alpha_at;
    for_chunks(this->size(),
               [&](std::size_t first, std::size_t n) { functions_.scale(n, alpha, x + first); });
  }
  void run_divide(const V* over, const V* under, V* to, stream) const override {
    to[0] = *under > V{0} ? *over / *under : V{0};
    to[1] = -to[0];
  }
  void run_multiply(const V* x, const V* y, V* z, stream) const override {
    for_chunks(this->size(), [&](std::size_t first, std::size_t n) {
      functions_.multiply(n, x + first, y + first, z + first);
    });
  }

  const vector_functions<V>& functions_ = find_vector_functions<V>();
  chunk_sums chunk_sums_;
};

template <class V> class gradients_on_cpu final : public gradient_kernels<V> {
 public:
  explicit gradients_on_cpu(std::size_t size) : size_(size), chunk_sums_(size) {}

  void begin(const gradient_vectors<V>& v, double threshold, gradient_state* state, stream) const override {
    for_chunks(size_, [&](std::size_t first, std::size_t n) {
      for (std::size_t i = first; i < first + n; ++i)
        v.p[i] = v.inverse_diagonal == nullptr ? v.r[i] : v.r[i] * v.inverse_diagonal[i];
    });
    const step_sums sums = chunk_sums_.add([&](std::size_t first, std::size_t n) {
      return step_sums{functions_.dot(n, v.r + first, v.p + first),
                       functions_.dot(n, v.r + first, v.r + first)};
    });
    *state = state_of(0, sums.first, std::sqrt(sums.second), threshold);
  }

  void advance(const gradient_vectors<V>& v, const double* curvature, double threshold,
               const gradient_state* before, gradient_state* after, stream) const override {
    if (!can_advance(*before, *curvature)) {
      *after = state_without_advance(*before, *curvature);
      return;
    }
    const V* const d = v.inverse_diagonal;
    const auto from = [&](std::size_t first) { return d == nullptr ? nullptr : d + first; };
    const V alpha = static_cast<V>(before->rz / *curvature);
    const step_sums sums = chunk_sums_.add([&](std::size_t first, std::size_t n) {
      return functions_.update_residual(n, alpha, v.q + first, from(first), v.r + first);
    });
    *after = state_of(*curvature, sums.first, std::sqrt(sums.second), threshold);
    const V beta = static_cast<V>(after->rz / before->rz);
    for_chunks(size_, [&](std::size_t first, std::size_t n) {
      functions_.update_direction(n, alpha, beta, v.r + first, from(first), v.x + first, v.p + first);
    });
  }

 private:
  std::size_t size_;
  const vector_functions<V>& functions_ = find_vector_functions<V>();
  chunk_sums chunk_sums_;
};

}  // namespace

template <class V>
std::unique_ptr<vector_kernels<V>> make_vector_kernels(const std::shared_ptr<device>&, std::size_t size) {
  return std::make_unique<on_cpu<V>>(size);
}
template <class V>
std::unique_ptr<gradient_kernels<V>> make_gradient_kernels(const std::shared_ptr<device>&, std::size_t size) {
  return std::make_unique<gradients_on_cpu<V>>(size);
}

#  define NONZERO_INSTANTIATE(V)                                                                        \
    template const vector_functions<V>& find_vector_functions();                                        \
    template std::unique_ptr<vector_kernels<V>> make_vector_kernels(const std::shared_ptr<device>&,     \
                                                                    std::size_t);                       \
    template std::unique_ptr<gradient_kernels<V>> make_gradient_kernels(const std::shared_ptr<device>&, \
                                                                        std::size_t);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#  undef NONZERO_INSTANTIATE

}  // namespace nz::cpu
#endif
