#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <nonzero/algorithms/heat.hpp>
#include <nonzero/algorithms/heat_steps_internal.hpp>
#include <nonzero/core/errors.hpp>

namespace nz {
namespace {

void require_each_alone(const heat_options& options) {
  const bool has_kernel = !options.kernel.empty();
  if (!(options.conductivity > 0) || !std::isfinite(options.conductivity))
    throw unsupported(fmt::format("the conductivity must be positive, not {:g}", options.conductivity));
  if (!(options.epsilon >= 0)) throw unsupported(fmt::format("epsilon must not be {:g}", options.epsilon));
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

/// Up to rounding in whoever computed it, the largest stable one is allowed.
double time_step_of(const cell_grid& grid, const heat_options& options) {
  const double largest = largest_time_step(grid, options.conductivity);
  if (!(largest > 0) || !std::isfinite(largest))
    throw unsupported(fmt::format(
        "with a conductivity of {:g} the largest stable time step is {:g}: no number to go on with",
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

/// Temperatures never grow beyond what they were, and so neither the squares of A q nor their sum leave the
/// range of numbers.
template <class V> constexpr V largest_temperature = sizeof(V) == sizeof(float) ? V(1e36) : V(1e140);

template <class V> void require_initial(const cell_grid& grid, std::span<const V> initial) {
  require_grid(grid);
  if (static_cast<std::int64_t>(initial.size()) != grid.cells())
    throw shape_error(
        fmt::format("a grid of {} cells cannot start with {} temperatures", grid.cells(), initial.size()));
  for (std::size_t i = 0; i < initial.size(); ++i)
    if (!std::isfinite(initial[i]))
      throw shape_error(fmt::format("temperature {} of {} is not finite", i + 1, initial.size()));
    else if (std::abs(initial[i]) > largest_temperature<V>)
      throw shape_error(fmt::format("temperature {} of {} is {:g}, beyond {:g}: scale them", i + 1,
                                    initial.size(), initial[i], largest_temperature<V>));
}

/// By how much, at the least, ||A q|| shrinks in a step: as -log of the factor. A wave of wave number k
/// decays by |1 - factor * 4 sin^2(k h / 2)| for each direction; the smoothest and the roughest are slowest.
double slowest_decay(const cell_grid& grid, double factor) {
  const bool mirrors = grid.edge == grid_edge::mirror;
  const double cells = mirrors ? grid.side : grid.side + 1.0;
  const double sine = std::sin(std::numbers::pi / (2 * cells)), square = sine * sine;
  const double smoothest = 4 * factor * square * (mirrors ? 1 : grid.dim);
  const double roughest = 2 * (1 - 2 * factor * grid.dim) + 4 * factor * grid.dim * square;  // above -1
  return -std::log1p(-std::min({smoothest, roughest, 0.999}));
}

/// Whether there were so many more steps than even the slowest wave needs that rounding must be the reason.
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

/// Calls `look` when it asked for, and at the end if it has not just looked.
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

/// Goes on by a block; by fewer steps where one of them was the last. Returns how many.
template <class V>
std::int64_t run_block(heat_steps<V>& state, std::int64_t steps, double epsilon, heat_result<V>& out) {
  const auto start = std::chrono::steady_clock::now();
  state.remember();
  state.advance(steps);
  out.norm = state.norm();
  out.step_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
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
  std::int64_t timed_steps = 0;
  double seconds = 0;
  for (std::int64_t blocks = 0; out.steps < options.max_steps && !out.is_converged && !out.is_stuck;
       ++blocks) {
    const std::int64_t planned =
        std::min({state->block, options.max_steps - out.steps, looking.next() - out.steps});
    out.steps += run_block(*state, planned, options.epsilon, out);
    if (blocks == 1) seconds = 0, timed_steps = 0;  // the first block also loads the kernels' code
    seconds += out.step_seconds;
    timed_steps += planned;
    out.is_stuck = !out.is_converged && waiting.is_over(out.steps, out.norm);
    if (options.progress) options.progress(out.steps, out.norm);
    if (out.steps == looking.next()) looking.look_at(out.steps);
  }
  out.step_seconds = timed_steps == 0 ? 0 : seconds / static_cast<double>(timed_steps);
  out.q = state->q().to_host();
  looking.look_at(out.steps);
  return out;
}

template heat_result<float> solve_heat(const cell_grid&, std::span<const float>, const heat_options&,
                                       const heat_look<float>&);
template heat_result<double> solve_heat(const cell_grid&, std::span<const double>, const heat_options&,
                                        const heat_look<double>&);

}  // namespace nz
