// Conjugate gradients with the residual found anew at the end: what the loop believes of it and what it is
// drift apart by rounding.
// Source: Hestenes and Stiefel 1952; Saad, Iterative methods for sparse linear systems, 2003, 6.7 and 9.2.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include <nonzero/algorithms/cg.hpp>
#include <nonzero/algorithms/cg_input_internal.hpp>
#include <nonzero/algorithms/cg_loops_internal.hpp>
#include <nonzero/algorithms/fastest_peer_internal.hpp>
#include <nonzero/algorithms/steps_until_internal.hpp>
#include <nonzero/plan/kernels.hpp>

namespace nz {
namespace {

constexpr std::int64_t least_iterations = 100, iterations_per_row = 10;
/// A restart that does not bring the residual down to this part of what it was, is the last.
constexpr double worthwhile = 0.5;
/// After so many times the iterations that were expected, so many times as many are: those of real matrices,
/// without much of a preconditioner, are anything from a few dozen to several times the rows.
constexpr std::int64_t late = 2, many = 10;

void require_sense(const cg_options& options) {
  if (!(options.tolerance >= 0) || !std::isfinite(options.tolerance))
    throw unsupported(fmt::format("the tolerance of conjugate gradients must be 0 or more, and is {:g}",
                                  options.tolerance));
  if (options.max_iterations < 0 || options.check_every < 0)
    throw unsupported("conjugate gradients cannot make a negative number of iterations");
}

std::int64_t most_iterations(const cg_options& options, index rows) {
  if (options.max_iterations > 0) return options.max_iterations;
  return std::max(least_iterations, iterations_per_row * rows);
}

/// Those of a stencil in the plane.
std::int64_t expected_iterations(const cg_options& options, index rows) {
  return std::clamp(static_cast<std::int64_t>(3 * std::sqrt(static_cast<double>(rows))), std::int64_t{1},
                    most_iterations(options, rows));
}

/// A matrix made ready: by a plan, or as another library has it.
template <class V> struct ready_matrix {
  std::optional<nz::plan<V>> made;
  named_product<V> peer;
  plan_report report;

  const prepared_matrix<V>& prepared() const { return made ? made->prepared() : *peer.prepared; }
  /// Whether a plan for more multiplies could come to something else: it has stayed with CSR.
  bool could_pay_later() const {
    return made && report.kind == device_kind::cpu && report.kernel == "csr_balanced";
  }
};

/// `iterations`: to come, unless the options say how many multiplies are.
template <class V>
ready_matrix<V> make_ready(csr_view<V> a, const cg_options& options, std::int64_t iterations) {
  ready_matrix<V> out;
  plan_options planning = options.plan;
  if (!planning.on) planning.on = cpu_device();
  if (options.method == cg_method::blas && planning.on->kind() == device_kind::cuda) {
    out.peer = prepare_fastest_peer(a, planning.on, planning.kernel);
    out.report.kernel = out.peer.kernel;
    out.report.kind = planning.on->kind();
    return out;
  }
  if (planning.expected_multiplies <= 0) planning.expected_multiplies = iterations;
  planning.are_steps = options.method == cg_method::fused;
  planning.may_reorder = false;  // a plan that renumbers rows makes a step in two passes
  out.made.emplace(make_plan(a, planning));
  out.report = out.made->report();
  return out;
}

/// A power of two that brings the largest number near 1, so that no square is too large or too small.
template <class V> V scale_of(std::span<const V> b) {
  V largest = 0;
  for (const V value : b) largest = std::max(largest, std::abs(value));
  constexpr int most = std::numeric_limits<V>::max_exponent - 2;  // so that it has an inverse
  return largest == 0 ? V{1} : std::ldexp(V{1}, std::clamp(-std::ilogb(largest), -most, most));
}

template <class V> class solver {
 public:
  solver(csr_view<V> a, std::span<const V> b, std::span<const V> diagonal, const cg_options& options)
      : a_(a),
        options_(options),
        scale_(scale_of(b)),
        most_(most_iterations(options, a.rows)),
        expected_(expected_iterations(options, a.rows)) {
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
    block_ = options.check_every > 0 ? options.check_every : steps_per_block(*on);
    loop_ = options.method == cg_method::fused ? make_fused_cg(v_, block_) : make_blas_cg(v_, block_);
    out_.vectors = loop_->vectors();
  }

  cg_result<V> run() {
    b_norm_ = loop_->begin(0).residual;
    out_.history.push_back(b_norm_ > 0 ? 1 : 0);
    if (b_norm_ > 0) iterate();
    out_.x = v_.x.to_host();
    for (V& value : out_.x) value /= scale_;
    out_.iteration_seconds = clock_.step_seconds();
    return std::move(out_);
  }

 private:
  double threshold() const { return options_.tolerance * b_norm_; }

  void hold(ready_matrix<V> ready) {
    ready_ = std::move(ready);
    v_.a = &ready_.prepared();
    const double seconds_before = out_.plan.seconds;
    out_.plan = ready_.report;
    out_.plan.seconds += seconds_before;
  }
  /// Once it is seen that there are many iterations.
  void plan_again() {
    is_planned_again_ = true;
    if (!options_.plan.kernel.empty() || options_.plan.expected_multiplies > 0 || !ready_.could_pay_later())
      return;
    try {
      hold(make_ready(a_, options_, std::min(many * expected_, most_ - out_.iterations)));
    } catch (const error&) {  // the kernel that it has is good enough
    } catch (const std::bad_alloc&) {
    }
    clock_.leave_out();
  }

  void iterate() {
    double before = std::numeric_limits<double>::infinity();
    for (;;) {
      out_.end = iterate_once();
      out_.residual = find_residual();
      const bool is_there = out_.residual <= options_.tolerance;
      if (is_there && out_.end == cg_end::most_iterations) out_.end = cg_end::converged;
      if (is_there || out_.end != cg_end::converged) return;
      out_.end = !(out_.residual <= worthwhile * before) ? cg_end::stagnated
                 : out_.iterations >= most_              ? cg_end::most_iterations
                                                         : cg_end::converged;
      if (out_.end != cg_end::converged) return;
      before = out_.residual;
      // Added up in another order, the same residual may do.
      if (loop_->begin(threshold()).status == gradient_status::converged) return;
      ++out_.restarts;
    }
  }

  /// Until the loop believes that it is there, or can no more.
  cg_end iterate_once() {
    if (1 <= options_.tolerance) return cg_end::converged;
    while (out_.iterations < most_) {
      if (!is_planned_again_ && out_.iterations >= late * expected_) plan_again();
      const auto count = static_cast<int>(std::min<std::int64_t>(block_, most_ - out_.iterations));
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

  csr_view<V> a_;
  const cg_options& options_;
  V scale_;
  std::int64_t most_, expected_;
  bool is_planned_again_ = false;
  int block_ = 1;
  double b_norm_ = 0;
  vector<V> b_;
  ready_matrix<V> ready_;
  cg_system<V> v_;
  vector<double> sum_;
  std::unique_ptr<cg_loop> loop_;
  step_clock clock_;
  cg_result<V> out_;
};

}  // namespace

template <class V>
cg_result<V> conjugate_gradients(csr_view<V> a, std::span<const V> b, const cg_options& options) {
  require_sense(options);
  require_solvable(a, b);
  if (a.rows == 0) {
    cg_result<V> nothing;
    nothing.history = {0};
    return nothing;
  }
  const std::vector<V> diagonal = options.by == preconditioner::jacobi ? diagonal_of(a) : std::vector<V>();
  return solver<V>(a, b, diagonal, options).run();
}

template cg_result<float> conjugate_gradients(csr_view<float>, std::span<const float>, const cg_options&);
template cg_result<double> conjugate_gradients(csr_view<double>, std::span<const double>, const cg_options&);

}  // namespace nz
