// y = A q,  q += c dt / dx^2 y,  until ||y|| < epsilon. The host reads the norm every few steps; where one of
// these steps was the last, it goes back to the state before them and repeats them one by one.
// Source: O. Meister, Solving the heat equation with CUDA, 2013.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include <nonzero/algorithms/heat.hpp>
#include <nonzero/algorithms/ready_matrix_internal.hpp>
#include <nonzero/algorithms/steps_until_internal.hpp>
#include <nonzero/core/counted.hpp>
#include <nonzero/core/errors.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/plan/back_ends.hpp>
#include <nonzero/plan/plan.hpp>

namespace nz {
namespace {

/// The temperatures of a grid, on a device, and a way to make steps of them.
template <class V> class heat_steps {
 public:
  virtual ~heat_steps() = default;
  heat_steps(const heat_steps&) = delete;
  heat_steps& operator=(const heat_steps&) = delete;

  /// At least one step.
  virtual void advance(std::int64_t steps) = 0;
  /// ||A q|| in the last step. Waits for it; nothing else is copied to the host.
  virtual double norm() = 0;
  /// go_back() restores the state that remember() has kept.
  virtual void remember() = 0;
  virtual void go_back() = 0;
  virtual const vector<V>& q() const = 0;

  std::string kernel;
  int steps_per_pass = 1;
  std::int64_t batch = 1;  // steps between two reads of the norm

 protected:
  heat_steps() = default;
};

/// Steps from one vector to the next of three, used in turn. The remembered one is not written.
template <class V> class turning_steps : public heat_steps<V> {
 public:
  turning_steps(const std::shared_ptr<device>& on, std::span<const V> initial)
      : states_{vector<V>(on, initial), vector<V>(on, initial.size()), vector<V>(on, initial.size())} {}
  void remember() override { kept_ = now_; }
  void go_back() override { now_ = kept_; }
  const vector<V>& q() const override { return states_[now_]; }

 protected:
  vector<V>& next() { return states_[next_place()]; }
  void turn() { now_ = next_place(); }

 private:
  int next_place() const { return now_ == kept_ ? (now_ + 1) % 3 : 3 - now_ - kept_; }
  vector<V> states_[3];
  int now_ = 0, kept_ = 0;
};

/// Without a stored matrix, several steps in a pass over memory.
template <class V> class stencil_steps final : public turning_steps<V> {
 public:
  stencil_steps(const cell_grid& grid, std::span<const V> initial, double factor, int most_in_pass,
                const std::shared_ptr<device>& on)
      : turning_steps<V>(on, initial),
        steps_(functions_on<V>(*on).make_grid_steps(grid, static_cast<V>(factor), on)),
        norm_(on, 1) {
    this->kernel = "stencil";
    this->steps_per_pass =
        steps_->steps_in_pass(most_in_pass > 0 ? most_in_pass : std::numeric_limits<int>::max());
    constexpr int passes = 8;
    this->batch = std::int64_t{passes} * this->steps_per_pass;
  }
  void advance(std::int64_t steps) override {
    while (steps > 0) {
      const int now = steps_->steps_in_pass(std::min<std::int64_t>(steps, this->steps_per_pass));
      steps -= now;
      steps_->run(now, this->q(), this->next(), steps == 0 ? &norm_ : nullptr);
      this->turn();
    }
  }
  double norm() override { return std::sqrt(norm_.to_host()[0]); }

 private:
  std::unique_ptr<grid_steps<V>> steps_;
  vector<double> norm_;
};

/// With a kernel of the table: q' = q + factor A q and the norm in the pass that computes A q.
template <class V> class fused_kernel_steps final : public turning_steps<V> {
 public:
  fused_kernel_steps(const cell_grid& grid, std::span<const V> initial, double factor,
                     const std::string& name, const std::shared_ptr<device>& on)
      : turning_steps<V>(on, initial),
        plan_(make_plan(heat_matrix<V>(grid), {.on = on, .kernel = name, .is_trusted = true})),
        factor_(static_cast<V>(factor)),
        sums_(on, 1) {
    this->kernel = name;
    this->batch = steps_per_batch(*on);
  }
  void advance(std::int64_t steps) override {
    for (; steps > 0; --steps) {
      fused_step<V> step{.alpha = factor_, .b = this->q().data()};
      if (steps == 1) step.measure[0] = {measured::squared_distance, this->q().data()};
      plan_.apply(this->q(), step, this->next(), sums_);
      this->turn();
    }
  }
  /// The sum is that of the change of q, factor A q.
  double norm() override { return std::sqrt(sums_.to_host()[0]) / static_cast<double>(factor_); }

 private:
  plan<V> plan_;
  V factor_;
  vector<double> sums_;
};

/// As in the lecture: one call for each operation.
template <class V> class blas_steps final : public heat_steps<V> {
 public:
  blas_steps(ready_matrix<V> a, std::span<const V> initial, double factor, const std::shared_ptr<device>& on)
      : a_(std::move(a)),
        blas_(functions_on<V>(*on).make_blas(on, initial.size())),
        factor_(static_cast<V>(factor)),
        q_(on, initial),
        kept_(on, initial.size()),
        y_(on, initial.size()),
        norm_(on, 1) {
    this->kernel = a_.report.kernel;
    this->batch = steps_per_batch(*on);
  }
  void advance(std::int64_t steps) override {
    for (; steps > 0; --steps) {
      a_.prepared->multiply(V{1}, q_, V{0}, y_);  // y = A q
      blas_->norm2(y_, norm_, 0);                 // ||y||
      blas_->axpy(factor_, y_, q_);               // q += factor y
    }
  }
  double norm() override { return static_cast<double>(norm_.to_host()[0]); }
  void remember() override {
    if (this->batch > 1) q_.where()->copy(kept_.data(), q_.data(), q_.bytes(), {});
  }
  void go_back() override { q_.where()->copy(q_.data(), kept_.data(), q_.bytes(), {}); }
  const vector<V>& q() const override { return q_; }

 private:
  ready_matrix<V> a_;
  std::unique_ptr<vector_kernels<V>> blas_;
  V factor_;
  vector<V> q_, kept_, y_, norm_;
};

template <class V> ready_matrix<V> in_ell(const cell_grid& grid, const std::shared_ptr<device>& on) {
  const char* const name = on->kind() == device_kind::cpu ? "ell_blocks" : "ell";
  const padding_budget any{std::numeric_limits<double>::infinity()};
  return ready_by_kernel<V>(
      name, find_kernel(name, on->kind())
                .prepare(heat_matrix<V>(grid), {.budget = any, .on = on, .is_trusted = true}));
}

/// By the method, the kernel and the steps per pass that the options name. factor: c dt / dx^2.
template <class V>
std::unique_ptr<heat_steps<V>> make_heat_steps(const cell_grid& grid, std::span<const V> initial,
                                               double factor, const heat_options& options,
                                               const std::shared_ptr<device>& on) {
  if (options.method == heat_method::ell_blas)
    return std::make_unique<blas_steps<V>>(in_ell<V>(grid, on), initial, factor, on);
  if (options.method == heat_method::cusparse)
    return std::make_unique<blas_steps<V>>(
        prepare_fastest_peer(place_csr(trusted(heat_matrix<V>(grid)), on), options.kernel), initial, factor,
        on);
  if (!options.kernel.empty())
    return std::make_unique<fused_kernel_steps<V>>(grid, initial, factor, options.kernel, on);
  return std::make_unique<stencil_steps<V>>(grid, initial, factor, options.steps_per_pass, on);
}

void require_each_alone(const heat_options& options) {
  const bool has_kernel = !options.kernel.empty();
  if (!(options.conductivity > 0) || !std::isfinite(options.conductivity))
    throw unsupported(fmt::format("the conductivity must be positive, not {:g}", options.conductivity));
  if (!(options.epsilon >= 0) || !std::isfinite(options.epsilon))
    throw unsupported(fmt::format("epsilon must not be {:g}", options.epsilon));
  if (options.epsilon == 0 && options.max_steps == std::numeric_limits<std::int64_t>::max())
    throw unsupported("with epsilon 0 the steps must be limited: they would never end");
  if (options.max_steps < 0) throw unsupported("there can be no fewer than 0 steps");
  if (options.steps_per_pass < 0) throw unsupported("a pass cannot have fewer than 0 steps");
  if (options.steps_per_pass > 0 && (has_kernel || options.method != heat_method::fused))
    throw unsupported("only the method 'fused' without a named kernel has several steps in a pass");
  if (options.method == heat_method::ell_blas && has_kernel)
    throw unsupported(
        fmt::format("the method 'ell+blas' has its own kernel: '{}' contradicts it", options.kernel));
  if (options.method == heat_method::cusparse && has_kernel && !options.kernel.starts_with("cusparse"))
    throw unsupported(
        fmt::format("the method 'cusparse' takes kernels of cuSPARSE, not '{}'", options.kernel));
}

/// The largest stable time step is allowed, with the rounding of the caller who computed it.
double time_step_of(const cell_grid& grid, const heat_options& options) {
  const double largest = largest_time_step(grid, options.conductivity);
  if (!(largest > 0) || !std::isfinite(largest))
    throw unsupported(
        fmt::format("with a conductivity of {:g} the largest stable time step is {:g}, which cannot be used",
                    options.conductivity, largest));
  if (options.time_step == 0) return largest;
  if (!(options.time_step > 0))
    throw unsupported(fmt::format("the time step must be positive, not {:g}", options.time_step));
  if (options.time_step > largest * (1 + 1e-9))
    throw unsupported(
        fmt::format("a time step of {:g} is not stable: it can be dx^2 / (2 d c) = {:.10g} at the most",
                    options.time_step, largest));
  return std::min(options.time_step, largest);
}

/// Temperatures never grow, so the squares of A q and their sum stay finite.
template <class V> constexpr V largest_temperature = sizeof(V) == sizeof(float) ? V(1e36) : V(1e140);

template <class V> void require_initial(const cell_grid& grid, std::span<const V> initial) {
  require_grid(grid);
  if (static_cast<std::int64_t>(initial.size()) != grid.cells())
    throw shape_error(fmt::format("a grid of {} cannot start with {}", counted(grid.cells(), "cell"),
                                  counted(static_cast<std::int64_t>(initial.size()), "temperature")));
  for (std::size_t i = 0; i < initial.size(); ++i)
    if (!std::isfinite(initial[i]))
      throw shape_error(fmt::format("temperature {} of {} is not finite", i + 1, initial.size()));
    else if (std::abs(initial[i]) > largest_temperature<V>)
      throw shape_error(fmt::format("temperature {} of {} is {:g}, beyond {:g}: scale them", i + 1,
                                    initial.size(), initial[i], largest_temperature<V>));
}

/// The least decay of ||A q|| in a step, as -log of its factor. A wave of wave number k decays by
/// |1 - factor * 4 sin^2(k h / 2)| for each direction; the smoothest and the roughest are slowest.
double slowest_decay(const cell_grid& grid, double factor) {
  const bool mirrors = grid.edge == grid_edge::mirror;
  const double cells = mirrors ? grid.side : grid.side + 1.0;
  const double sine = std::sin(std::numbers::pi / (2 * cells)), square = sine * sine;
  const double smoothest = 4 * factor * square * (mirrors ? 1 : grid.dim);
  const double roughest = 2 * (1 - 2 * factor * grid.dim) + 4 * factor * grid.dim * square;  // above -1
  return -std::log1p(-std::min({smoothest, roughest, 0.999}));
}

/// Whether there were so many more steps than the slowest wave needs that only rounding can be the reason.
class patience {
 public:
  patience(const cell_grid& grid, double factor, double epsilon)
      : decay_(slowest_decay(grid, factor)), epsilon_(epsilon) {}
  bool is_over(std::int64_t steps, double norm) {
    if (epsilon_ == 0 || !std::isfinite(norm) || norm < epsilon_) return false;
    if (most_steps_ == 0)
      most_steps_ = static_cast<double>(steps) + 1.05 * std::log(norm / epsilon_) / decay_ + 1000;
    return static_cast<double>(steps) > most_steps_;
  }

 private:
  double decay_, epsilon_;
  double most_steps_ = 0;  // not yet known
};

/// Calls `look` at the steps it has asked for, and at the end.
template <class V> class looks {
 public:
  looks(const heat_look<V>& look, const heat_steps<V>& state) : look_(look), state_(state) { look_at(0); }
  std::int64_t next() const { return next_; }
  void look_at(std::int64_t steps) {
    if (!look_ || steps == last_) return;
    last_ = steps;
    next_ = std::max(look_(steps, state_.q().to_host()), steps + 1);
  }

 private:
  const heat_look<V>& look_;
  const heat_steps<V>& state_;
  std::int64_t last_ = -1, next_ = std::numeric_limits<std::int64_t>::max();
};

/// Makes a batch of steps, or fewer where one of them is the last. Returns how many.
template <class V>
std::int64_t run_batch(heat_steps<V>& state, std::int64_t steps, double epsilon, step_clock& clock,
                       heat_result<V>& out) {
  clock.leave_out();
  state.remember();
  state.advance(steps);
  out.norm = state.norm();
  clock.add(steps);
  out.is_converged = out.norm < epsilon;
  if (!out.is_converged || steps == 1) return steps;
  // ||A q|| never grows: one of these steps was the first to be below epsilon.
  state.go_back();
  for (std::int64_t s = 1;; ++s) {
    state.advance(1);
    out.norm = state.norm();
    if (out.norm < epsilon || s == steps) return s;
  }
}

}  // namespace

void require_heat_options(const cell_grid& grid, const heat_options& options) {
  require_each_alone(options);
  time_step_of(grid, options);
}

template <class V>
heat_result<V> solve_heat(const cell_grid& grid, std::span<const V> initial, const heat_options& options,
                          const heat_look<V>& look) {
  require_there("the initial temperature", initial);
  require_initial(grid, initial);
  require_heat_options(grid, options);
  heat_result<V> out;
  out.spacing = heat_spacing(grid);
  out.time_step = time_step_of(grid, options);
  // c dt / dx^2; the largest stable time step is dx^2 / (2 d c).
  const double factor = out.time_step / largest_time_step(grid, options.conductivity) / (2.0 * grid.dim);
  const auto state = make_heat_steps(grid, initial, factor, options, options.on ? options.on : cpu_device());
  out.kernel = state->kernel;
  out.steps_per_pass = state->steps_per_pass;

  looks<V> looking(look, *state);
  patience waiting(grid, factor, options.epsilon);
  step_clock clock;
  while (out.steps < options.max_steps && !out.is_converged && !out.is_stuck) {
    const std::int64_t planned =
        std::min({state->batch, options.max_steps - out.steps, looking.next() - out.steps});
    out.steps += run_batch(*state, planned, options.epsilon, clock, out);
    out.is_stuck = !out.is_converged && waiting.is_over(out.steps, out.norm);
    if (options.progress) options.progress(out.steps, out.norm);
    if (out.steps == looking.next()) looking.look_at(out.steps);
  }
  out.step_seconds = clock.step_seconds();
  out.q = state->q().to_host();
  looking.look_at(out.steps);
  return out;
}

#define NONZERO_INSTANTIATE(V)                                                                  \
  template heat_result<V> solve_heat(const cell_grid&, std::span<const V>, const heat_options&, \
                                     const heat_look<V>&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
