#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nonzero/core/device.hpp>
#include <nonzero/formats/csr.hpp>
#include <nonzero/kernel/grid_steps.hpp>

// The heat equation q_t = c * (q_xx + …) on (0, 1)^d by explicit Euler steps, after O. Meister, Solving the
// heat equation with CUDA (TU München, 2013).
namespace nz {

/// How a step is made.
enum class heat_method : std::uint8_t {
  fused,  // without a stored matrix, several steps in a pass over memory; or a named kernel, a pass per step
  ell_blas,  // A in ELL, then a norm and an axpy: cuBLAS's on a GPU, elsewhere ours
  cusparse,  // for comparison, on a GPU: the fastest product of cuSPARSE, then cuBLAS's norm and axpy
};

struct heat_options {
  double conductivity = 1;
  double time_step = 0;   // 0: the largest that is stable
  double epsilon = 1e-4;  // stop when ||A q|| is less; 0: only after max_steps
  std::int64_t max_steps = std::numeric_limits<std::int64_t>::max();
  heat_method method = heat_method::fused;
  std::shared_ptr<device> on = nullptr;  // none: the CPU
  /// For `fused`: this kernel of the table, and one pass over its matrix per step; for `cusparse`: this one
  /// of cuSPARSE's.
  std::string kernel = {};
  int steps_per_pass = 0;  // at most, for `fused`; 0: as many as suit. The result's bits do not depend on it
  /// Called now and then with the number of steps so far, and ||A q|| in the last.
  std::function<void(std::int64_t steps, double norm)> progress = nullptr;
};

/// Throws `unsupported` for options that are out of range or contradict each other, and for a time step that
/// is not stable, with the bound.
void require_heat_options(const cell_grid& grid, const heat_options& options);

/// Called with the temperatures before the first step, after as many steps as the call before has returned,
/// and at the end. Each call copies them from the device.
template <class V> using heat_look = std::function<std::int64_t(std::int64_t steps, std::span<const V> q)>;

template <class V> struct heat_result {
  std::vector<V> q;
  std::int64_t steps = 0;
  double norm =
      std::numeric_limits<double>::quiet_NaN();  // ||A q|| in the last step; NaN where there was none
  bool is_converged = false;
  /// Rounding keeps ||A q|| above epsilon: there were more steps than the slowest wave needs.
  bool is_stuck = false;
  double spacing = 0, time_step = 0;
  std::string kernel;  // "stencil" where no matrix is stored
  int steps_per_pass = 1;
  double step_seconds = 0;  // of a step; without the first batch of steps, if there are more
};

/// From one cell to the next: 1 / (side + 1) where the outside is 0, 1 / side where it mirrors the cells.
double heat_spacing(const cell_grid& grid);
/// dx^2 / (2 d c). With larger time steps waves grow from step to step.
double largest_time_step(const cell_grid& grid, double conductivity);

/// The grid's matrix: 1 for each neighbour, and on the diagonal -2 d, or minus the number of neighbours where
/// the outside mirrors. Throws `shape_error` where it has more rows than an index holds.
template <class V> csr<V> heat_matrix(const cell_grid& grid);

enum class heat_start : std::uint8_t {
  hot_centre,  // 1 within a fifth of the middle, 0 elsewhere
  step,        // 1 in the half where x is small, 0 in the other
  sine,        // the wave that decays most slowly, between 0 and 1
};
template <class V> std::vector<V> heat_initial(const cell_grid& grid, heat_start start);

/// y = A q,  q += c dt / dx^2 y,  until ||y|| < epsilon or there were max_steps. The result has the same bits
/// for any number of threads and of steps per pass, from kernels that are repeatable. Everything stays on the
/// device; the host reads the norm every few steps.
/// Throws `shape_error` unless `initial` fits and is within 1e140 (in float 1e36), and what
/// require_heat_options throws.
template <class V>
heat_result<V> solve_heat(const cell_grid& grid, std::span<const V> initial, const heat_options& options = {},
                          const heat_look<V>& look = nullptr);

}  // namespace nz
