#include <cmath>

#include <nonzero/core/array.hpp>
#include <nonzero/core/device.hpp>
#include <nonzero/cpu/share.hpp>
#include <nonzero/cpu/vector_kernels.hpp>
#include <nonzero/cpu/vector_kernels_internal.hpp>

namespace nz {
namespace {

using cpu::vector_functions;

/// Vectors are cut so, whatever the number of threads: each chunk has its sums, which are added in order.
constexpr std::size_t chunk = 4096;
/// Below this many numbers, waking the other threads takes longer than they save; no team is started.
constexpr std::size_t least_parallel = 16 * 1024;

/// body(first, numbers, part) for each chunk, on several threads at once.
template <class Body> void for_chunks(std::size_t size, const Body& body) {
  const auto chunks = static_cast<offset>((size + chunk - 1) / chunk);
  const auto run = [&](const cpu::share& mine) {
    for (auto c = static_cast<std::size_t>(mine.begin); c < static_cast<std::size_t>(mine.end); ++c)
      body(c * chunk, std::min(chunk, size - c * chunk), c);
  };
  if (size < least_parallel) return run({0, chunks});
#pragma omp parallel
  run(cpu::equal_range(chunks));
}

/// The same where body returns sums.
template <class Body> step_sums sum_of_chunks(std::size_t size, array<step_sums>& parts, const Body& body) {
  for_chunks(size, [&](std::size_t first, std::size_t n, std::size_t part) { parts[part] = body(first, n); });
  step_sums total;
  for (const step_sums& part : parts) total += part;
  return total;
}

template <class V> class on_cpu final : public vector_kernels<V> {
 public:
  explicit on_cpu(std::size_t size)
      : vector_kernels<V>(cpu_device(), size), parts_((size + chunk - 1) / chunk) {}
  std::string_view name() const override { return "nonzero"; }

 private:
  double find_dot(const V* x, const V* y) const {
    return sum_of_chunks(this->size(), parts_,
                         [&](std::size_t first, std::size_t n) {
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
    for_chunks(this->size(), [&](std::size_t first, std::size_t n, std::size_t) {
      functions_.axpy(n, alpha, x + first, y + first);
    });
  }
  void run_scale(V alpha, const V* alpha_at, V* x, stream) const override {
    if (alpha_at != nullptr) alpha = *alpha_at;
    for_chunks(this->size(),
               [&](std::size_t first, std::size_t n, std::size_t) { functions_.scale(n, alpha, x + first); });
  }
  void run_divide(const V* over, const V* under, V* to, stream) const override {
    to[0] = *under > V{0} ? *over / *under : V{0};
    to[1] = -to[0];
  }
  void run_multiply(const V* x, const V* y, V* z, stream) const override {
    for_chunks(this->size(), [&](std::size_t first, std::size_t n, std::size_t) {
      functions_.multiply(n, x + first, y + first, z + first);
    });
  }

  const vector_functions<V>& functions_ = cpu::find_vector_functions<V>();
  mutable array<step_sums> parts_;
};

template <class V> class gradients_on_cpu final : public gradient_kernels<V> {
 public:
  explicit gradients_on_cpu(std::size_t size) : size_(size), parts_((size + chunk - 1) / chunk) {}

  void begin(const gradient_vectors<V>& v, double threshold, gradient_state* state, stream) const override {
    for_chunks(size_, [&](std::size_t first, std::size_t n, std::size_t) {
      for (std::size_t i = first; i < first + n; ++i)
        v.p[i] = v.inverse_diagonal == nullptr ? v.r[i] : v.r[i] * v.inverse_diagonal[i];
    });
    const step_sums sums = sum_of_chunks(size_, parts_, [&](std::size_t first, std::size_t n) {
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
    const step_sums sums = sum_of_chunks(size_, parts_, [&](std::size_t first, std::size_t n) {
      return functions_.update_residual(n, alpha, v.q + first, from(first), v.r + first);
    });
    *after = state_of(*curvature, sums.first, std::sqrt(sums.second), threshold);
    const V beta = static_cast<V>(after->rz / before->rz);
    for_chunks(size_, [&](std::size_t first, std::size_t n, std::size_t) {
      functions_.update_direction(n, alpha, beta, v.r + first, from(first), v.x + first, v.p + first);
    });
  }

 private:
  std::size_t size_;
  const vector_functions<V>& functions_ = cpu::find_vector_functions<V>();
  mutable array<step_sums> parts_;
};

}  // namespace

template <class V> std::unique_ptr<vector_kernels<V>> cpu_vector_kernels(std::size_t size) {
  return std::make_unique<on_cpu<V>>(size);
}
template <class V> std::unique_ptr<gradient_kernels<V>> cpu_gradient_kernels(std::size_t size) {
  return std::make_unique<gradients_on_cpu<V>>(size);
}

#define NONZERO_INSTANTIATE(V)                                                 \
  template std::unique_ptr<vector_kernels<V>> cpu_vector_kernels(std::size_t); \
  template std::unique_ptr<gradient_kernels<V>> cpu_gradient_kernels(std::size_t);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
