// Conjugate gradients, preconditioned by M (the diagonal of A, or nothing):
//
//   x = 0;  r = b;  z = M^-1 r;  p = z
//   repeat until |r| <= tolerance |b|:
//     q = A p
//     alpha = r·z / p·q
//     x += alpha p
//     r -= alpha q
//     z = M^-1 r
//     beta = r·z / (r·z of the iteration before)
//     p = z + beta p
//
// Rounding makes r drift away from b - A x, so the solver computes b - A x at the end, and goes on from there
// if that is still too large.
// Source: Hestenes and Stiefel 1952; Saad, Iterative methods for sparse linear systems, 2003, 6.7 and 9.2.
#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include <fmt/format.h>

#include <nonzero/algorithms/cg.hpp>
#include <nonzero/algorithms/cg_input_internal.hpp>
#include <nonzero/algorithms/ready_matrix_internal.hpp>
#include <nonzero/algorithms/steps_until_internal.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/plan/back_ends.hpp>

namespace nz {
namespace {

constexpr std::int64_t least_iterations = 100, iterations_per_row = 10;
/// A restart that does not reduce the residual to this fraction of what it was is the last.
constexpr double worthwhile = 0.5;
/// After `late` times the expected iterations, `many` times as many are expected: real matrices without a
/// good preconditioner take anything from a few dozen iterations to several times the rows.
constexpr std::int64_t late = 2, many = 10;

/// What the loops work on, on the device. The solver may exchange the matrix for one prepared for another
/// kernel between two iterations.
template <class V> struct cg_vectors {
  const prepared_matrix<V>* a = nullptr;
  vector<V> x, r, p, q;
  vector<V> inverse_diagonal;  // empty: no preconditioner
};

/// Runs iterations, whose numbers stay on the device: alpha and beta are computed there. The host reads the
/// states of several iterations at once. States are in a ring of twice as many, so that those of one read are
/// contiguous and the last of the read before is still there.
template <class V> class cg_loop {
 public:
  /// `most`: iterations between two reads.
  cg_loop(cg_vectors<V>& v, int most)
      : v_(v),
        on_(*v.a->where()),
        slots_(2 * static_cast<std::size_t>(most)),
        seen_(static_cast<std::size_t>(most)) {}
  virtual ~cg_loop() = default;
  cg_loop(const cg_loop&) = delete;
  cg_loop& operator=(const cg_loop&) = delete;

  /// From x and r = b - A x:  z = M^-1 r;  p = z
  gradient_state begin(double threshold) {
    next_ = 0;
    return start(before_next(), threshold);
  }
  /// `count` iterations. Their states in order: only the first that is not going_on counts.
  std::span<const gradient_state> advance(int count, double threshold) {
    const std::size_t first = next_;
    for (int i = 0; i < count; ++i) {
      iterate(before_next(), next_, threshold);
      next_ = (next_ + 1) % slots_;
    }
    return read(first, static_cast<std::size_t>(count), threshold);
  }
  virtual std::string_view vectors() const = 0;  // whose kernels they are

 protected:
  cg_vectors<V>& v_;
  device& on_;
  std::size_t slots_;
  std::vector<gradient_state> seen_;  // by the host

 private:
  std::size_t before_next() const { return (next_ + slots_ - 1) % slots_; }
  virtual gradient_state start(std::size_t at, double threshold) = 0;
  virtual void iterate(std::size_t before, std::size_t now, double threshold) = 0;
  virtual std::span<const gradient_state> read(std::size_t first, std::size_t count, double threshold) = 0;

  std::size_t next_ = 0;
};

/// Three passes an iteration: the multiply with p·q, then two over the vectors.
template <class V> class fused_cg final : public cg_loop<V> {
 public:
  fused_cg(cg_vectors<V>& v, int most)
      : cg_loop<V>(v, most),
        kernels_(functions_on<V>(on_).make_gradient_kernels(v.a->where(), v.x.size())),
        curvature_(v.a->where(), 1),
        states_(v.a->where(), slots_) {}
  std::string_view vectors() const override { return "nonzero"; }

 private:
  using cg_loop<V>::v_;
  using cg_loop<V>::on_;
  using cg_loop<V>::slots_;
  using cg_loop<V>::seen_;

  gradient_vectors<V> pointers() {
    return {v_.x.data(), v_.r.data(), v_.p.data(), v_.q.data(), v_.inverse_diagonal.data()};
  }
  gradient_state start(std::size_t at, double threshold) override {
    kernels_->begin(pointers(), threshold, states_.data() + at, {});
    return read(at, 1, threshold)[0];
  }
  void iterate(std::size_t before, std::size_t now, double threshold) override {
    // q = A p,  p·q
    v_.a->apply(v_.p, fused_step<V>{.measure = {{measured::product, v_.p.data()}}}, v_.q, curvature_);
    // alpha = r·z / p·q;  x += alpha p;  r -= alpha q;  beta = r·z / (r·z before);  p = z + beta p
    kernels_->advance(pointers(), curvature_.data(), threshold, states_.data() + before, states_.data() + now,
                      {});
  }
  std::span<const gradient_state> read(std::size_t first, std::size_t count, double) override {
    if (on_.is_host()) {  // after each iteration: a direct copy is cheaper than the device's
      std::copy_n(states_.data() + first, count, seen_.begin());
    } else {
      on_.copy(seen_.data(), states_.data() + first, count * sizeof(gradient_state), {});
      on_.synchronize({});
    }
    return std::span(seen_).first(count);
  }

  std::unique_ptr<gradient_kernels<V>> kernels_;
  vector<double> curvature_;
  vector<gradient_state> states_;
};

/// For comparison: as one writes it with a library of products and a BLAS, one call after the other. An
/// iteration after convergence still runs, which does not make x worse.
template <class V> class blas_cg final : public cg_loop<V> {
 public:
  blas_cg(cg_vectors<V>& v, int most)
      : cg_loop<V>(v, most),
        blas_(functions_on<V>(on_).make_blas(v.a->where(), v.x.size())),
        numbers_(v.a->where(), std::vector<V>(slots_ * per_iteration, V{0})),
        seen_numbers_(static_cast<std::size_t>(most) * per_iteration) {
    if (has_diagonal()) z_ = vector<V>(v.a->where(), v.x.size());
  }
  std::string_view vectors() const override { return blas_->name(); }

 private:
  using cg_loop<V>::v_;
  using cg_loop<V>::on_;
  using cg_loop<V>::slots_;
  using cg_loop<V>::seen_;
  // The numbers of an iteration, side by side.
  enum place : std::size_t { curvature, alpha, minus_alpha, rz, beta, minus_beta, norm, per_iteration };

  bool has_diagonal() const { return v_.inverse_diagonal.size() > 0; }
  const vector<V>& z() const { return has_diagonal() ? z_ : v_.r; }
  void precondition() {
    if (has_diagonal()) blas_->multiply(v_.r, v_.inverse_diagonal, z_);
  }
  void find_sums(std::size_t at) {
    blas_->dot(v_.r, z(), numbers_, at * per_iteration + rz);
    if (has_diagonal()) blas_->norm2(v_.r, numbers_, at * per_iteration + norm);
  }

  gradient_state start(std::size_t at, double threshold) override {
    precondition();                                       // z = M^-1 r
    on_.copy(v_.p.data(), z().data(), v_.p.bytes(), {});  // p = z
    find_sums(at);                                        // r·z, |r|
    fetch(at, 1);
    return latest_ = state_of(0, number(0, rz), residual(0), threshold);
  }
  void iterate(std::size_t before, std::size_t now, double) override {
    const std::size_t at = now * per_iteration, rz_before = before * per_iteration + rz;
    v_.a->multiply(V{1}, v_.p, V{0}, v_.q);                          // q = A p
    blas_->dot(v_.p, v_.q, numbers_, at + curvature);                // p·q
    blas_->divide(numbers_, rz_before, at + curvature, at + alpha);  // alpha = r·z / p·q
    blas_->axpy(numbers_, at + alpha, v_.p, v_.x);                   // x += alpha p
    blas_->axpy(numbers_, at + minus_alpha, v_.q, v_.r);             // r -= alpha q
    precondition();                                                  // z = M^-1 r
    find_sums(now);                                                  // r·z, |r|
    blas_->divide(numbers_, at + rz, rz_before, at + beta);          // beta = r·z / (r·z before)
    blas_->scale(numbers_, at + beta, v_.p);                         // p = z + beta p
    blas_->axpy(V{1}, z(), v_.p);
  }
  std::span<const gradient_state> read(std::size_t first, std::size_t count, double threshold) override {
    fetch(first, count);
    for (std::size_t i = 0; i < count; ++i) {
      const double along = number(i, curvature);
      latest_ = can_advance(latest_, along) ? state_of(along, number(i, rz), residual(i), threshold)
                                            : state_without_advance(latest_, along);
      seen_[i] = latest_;
    }
    return std::span(seen_).first(count);
  }

  void fetch(std::size_t first, std::size_t count) {
    on_.copy(seen_numbers_.data(), numbers_.data() + first * per_iteration, count * per_iteration * sizeof(V),
             {});
    on_.synchronize({});
  }
  double number(std::size_t i, place which) const {
    return static_cast<double>(seen_numbers_[i * per_iteration + which]);
  }
  double residual(std::size_t i) const { return has_diagonal() ? number(i, norm) : std::sqrt(number(i, rz)); }

  std::unique_ptr<vector_kernels<V>> blas_;
  vector<V> numbers_, z_;
  std::vector<V> seen_numbers_;
  gradient_state latest_;
};

void require_sense(const cg_options& options) {
  if (!(options.tolerance >= 0) || !std::isfinite(options.tolerance))
    throw unsupported(fmt::format("the tolerance of conjugate gradients must be 0 or more, and is {:g}",
                                  options.tolerance));
  if (options.max_iterations < 0)
    throw unsupported("conjugate gradients cannot make a negative number of iterations");
  require_batch(options.check_every);
}

/// The matrix as it is given: in the host's memory, or in a device's.
template <class V> struct cg_matrix {
  csr_view<V> host;
  std::shared_ptr<const device_csr<V>> placed;  // null: on the host
};

/// By a plan, or for comparison by another library. `iterations`: expected, unless the options give a number
/// of multiplies.
template <class V>
ready_matrix<V> make_ready(const cg_matrix<V>& a, const cg_options& options, std::int64_t iterations) {
  plan_options planning = options.plan;
  if (!planning.on) planning.on = a.placed ? a.placed->where() : cpu_device();
  if (options.method == cg_method::blas && planning.on->kind() == device_kind::cuda)
    return prepare_fastest_peer(a.placed ? a.placed : place_csr(a.host, planning.on), planning.kernel);
  if (planning.expected_multiplies <= 0) planning.expected_multiplies = iterations;
  planning.are_steps = options.method == cg_method::fused;
  planning.may_reorder = false;  // a reordered plan makes a step in two passes
  return ready_by_plan(a.placed ? make_plan(a.placed, planning) : make_plan(a.host, planning));
}

/// A power of two that brings the largest number near 1, so that no square overflows or underflows.
template <class V> V scale_of(std::span<const V> b) {
  V largest = 0;
  for (const V value : b) largest = std::max(largest, std::abs(value));
  constexpr int most = std::numeric_limits<V>::max_exponent - 2;  // so that it has an inverse
  return largest == 0 ? V{1} : std::ldexp(V{1}, std::clamp(-std::ilogb(largest), -most, most));
}

template <class V> class solver {
 public:
  solver(const cg_matrix<V>& a, std::span<const V> b, std::span<const V> diagonal, const cg_options& options)
      : a_(a), options_(options), scale_(scale_of(b)) {
    const auto rows = static_cast<std::int64_t>(b.size());
    most_ = options.max_iterations > 0 ? options.max_iterations
                                       : std::max(least_iterations, iterations_per_row * rows);
    // Those of a stencil in the plane.
    expected_ = std::clamp(static_cast<std::int64_t>(3 * std::sqrt(static_cast<double>(rows))),
                           std::int64_t{1}, most_);
    hold(make_ready(a, options, expected_));
    const auto& on = v_.a->where();
    std::vector<V> scaled(b.begin(), b.end());
    for (V& value : scaled) value *= scale_;
    b_ = vector<V>(on, scaled);
    v_.r = vector<V>(on, scaled);
    v_.x = vector<V>(on, std::vector<V>(b.size(), V{0}));
    v_.p = vector<V>(on, b.size());
    v_.q = vector<V>(on, b.size());
    if (!diagonal.empty()) {
      std::vector<V> inverse(diagonal.size());
      std::transform(diagonal.begin(), diagonal.end(), inverse.begin(), [](V value) { return 1 / value; });
      v_.inverse_diagonal = vector<V>(on, inverse);
    }
    sum_ = vector<double>(on, 1);
    batch_ = options.check_every > 0 ? options.check_every : steps_per_batch(*on);
    if (options.method == cg_method::fused)
      loop_ = std::make_unique<fused_cg<V>>(v_, batch_);
    else
      loop_ = std::make_unique<blas_cg<V>>(v_, batch_);
    out_.vectors = loop_->vectors();
  }

  cg_result<V> run() {
    b_norm_ = loop_->begin(0).residual;
    out_.history.push_back(b_norm_ > 0 ? 1 : 0);
    if (b_norm_ > 0) solve();
    out_.x = v_.x.to_host();
    for (V& value : out_.x) value /= scale_;
    out_.iteration_seconds = clock_.step_seconds();
    return std::move(out_);
  }

 private:
  double threshold() const { return options_.tolerance * b_norm_; }

  /// Iterates until b - A x, computed again, is small enough, or restarts help no more.
  void solve() {
    double before = std::numeric_limits<double>::infinity();
    for (;;) {
      out_.end = iterate();
      out_.residual = find_residual();
      const bool is_small = out_.residual <= options_.tolerance;
      if (is_small && out_.end == cg_end::most_iterations) out_.end = cg_end::converged;
      if (is_small || out_.end != cg_end::converged) return;
      out_.end = !(out_.residual <= worthwhile * before) ? cg_end::stagnated
                 : out_.iterations >= most_              ? cg_end::most_iterations
                                                         : cg_end::converged;
      if (out_.end != cg_end::converged) return;
      before = out_.residual;
      // Summed in another order, the same residual may be small enough.
      if (loop_->begin(threshold()).status == gradient_status::converged) return;
      ++out_.restarts;
    }
  }

  /// Until the loop's own residual is small enough, or it cannot go on.
  cg_end iterate() {
    if (1 <= options_.tolerance) return cg_end::converged;
    while (out_.iterations < most_) {
      if (!is_planned_again_ && out_.iterations >= late * expected_) plan_again();
      const auto count = static_cast<int>(std::min<std::int64_t>(batch_, most_ - out_.iterations));
      const auto states = loop_->advance(count, threshold());
      clock_.add(count);
      for (const gradient_state& state : states) {
        out_.curvature = state.curvature / b_norm_ / b_norm_;
        if (state.status == gradient_status::not_positive_definite) return cg_end::not_positive_definite;
        if (state.status == gradient_status::not_finite) return cg_end::not_finite;
        ++out_.iterations;
        out_.recursive_residual = state.residual / b_norm_;
        out_.history.push_back(out_.recursive_residual);
        if (state.status == gradient_status::converged) break;
      }
      if (options_.progress) options_.progress(out_.iterations, out_.recursive_residual);
      if (states.back().status == gradient_status::converged) return cg_end::converged;
    }
    return cg_end::most_iterations;
  }

  /// r = b - A x; returns |r| / |b|
  double find_residual() {
    const fused_step<V> residual{.alpha = V{-1}, .b = b_.data(), .measure = {{measured::squared_distance}}};
    v_.a->apply(v_.x, residual, v_.r, sum_);
    return std::sqrt(sum_.to_host()[0]) / b_norm_;
  }

  void hold(ready_matrix<V> ready) {
    ready.report.seconds += out_.plan.seconds;
    out_.plan = std::move(ready.report);
    prepared_ = std::move(ready.prepared);
    v_.a = prepared_.get();
  }
  /// There are more iterations than expected: a conversion may pay after all, if the plan stayed with CSR.
  void plan_again() {
    is_planned_again_ = true;
    const bool chose_csr = out_.plan.kind == device_kind::cpu && out_.plan.kernel == "csr_balanced";
    if (!options_.plan.kernel.empty() || options_.plan.expected_multiplies > 0 || !chose_csr) return;
    try {
      hold(make_ready(a_, options_, std::min(many * expected_, most_ - out_.iterations)));
    } catch (const error&) {  // the present kernel is good enough
    } catch (const std::bad_alloc&) {
    }
    clock_.leave_out();
  }

  const cg_matrix<V>& a_;
  const cg_options& options_;
  V scale_;
  std::int64_t most_ = 0, expected_ = 0;  // iterations
  bool is_planned_again_ = false;
  int batch_ = 1;  // iterations between two reads
  double b_norm_ = 0;
  vector<V> b_;
  std::shared_ptr<const prepared_matrix<V>> prepared_;
  cg_vectors<V> v_;
  vector<double> sum_;
  std::unique_ptr<cg_loop<V>> loop_;
  step_clock clock_;
  cg_result<V> out_;
};

template <class V>
cg_result<V> solve(const cg_matrix<V>& a, std::span<const V> b, const cg_options& options) {
  require_sense(options);
  require_there("b", b);
  require_solvable(a.host, b);
  if (b.empty()) {
    cg_result<V> nothing;
    nothing.history = {0};
    return nothing;
  }
  const auto diagonal = options.by == preconditioner::jacobi ? diagonal_of(a.host) : std::vector<V>();
  return solver<V>(a, b, diagonal, options).run();
}

}  // namespace

template <class V>
cg_result<V> conjugate_gradients(csr_view<V> a, std::span<const std::type_identity_t<V>> b,
                                 const cg_options& options) {
  const auto valid = validate_for(a, options.plan);
  cg_result<V> out = solve<V>({valid.matrix, nullptr}, b, options);
  valid.report_in(out.plan);
  return out;
}
template <class V>
cg_result<V> conjugate_gradients(csr_view<V, std::int32_t> a, std::span<const std::type_identity_t<V>> b,
                                 const cg_options& options) {
  const auto valid = validate_for(a, options.plan);
  const widened_csr<V> wide(valid.matrix);
  cg_result<V> out = solve<V>({wide.view, nullptr}, b, options);
  valid.report_in(out.plan);
  return out;
}
template <class V>
cg_result<V> conjugate_gradients(const std::shared_ptr<const device_csr<V>>& a,
                                 std::span<const std::type_identity_t<V>> b, const cg_options& options) {
  const auto valid = validate_for(a, options.plan);
  const auto& where = valid.matrix->where();
  if (options.plan.on && options.plan.on != where)
    throw device_error("the matrix is on " + where->description() +
                       ", not on the device asked for: " + options.plan.on->description());
  const csr<V> checked = to_host(*valid.matrix);
  cg_result<V> out = solve<V>({trusted(checked), valid.matrix}, b, options);
  valid.report_in(out.plan);
  return out;
}

#define NONZERO_INSTANTIATE(V)                                                                               \
  template cg_result<V> conjugate_gradients(csr_view<V>, std::span<const V>, const cg_options&);             \
  template cg_result<V> conjugate_gradients(csr_view<V, std::int32_t>, std::span<const V>,                   \
                                            const cg_options&);                                              \
  template cg_result<V> conjugate_gradients(const std::shared_ptr<const device_csr<V>>&, std::span<const V>, \
                                            const cg_options&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
