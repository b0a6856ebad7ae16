#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include <nonzero/algorithms/heat.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/plan/kernels.hpp>

#include "tests/battery/battery.hpp"

namespace {

using nz::cell_grid;
using nz::grid_edge;
using nz::heat_method;
using nz::heat_options;

constexpr double eps = std::numeric_limits<double>::epsilon();

/// A way to make steps, on a device.
struct way {
  std::string device;
  heat_method method = heat_method::fused;
  std::string kernel = {};

  heat_options options() const {
    heat_options out;
    out.on = nz::find_device(device);
    out.method = method;
    out.kernel = kernel;
    return out;
  }
  std::string text() const {
    return device + (method == heat_method::ell_blas ? ", ell+blas" : ", fused") + " " + kernel;
  }
};

const std::vector<way>& ways() {
  static const std::vector<way> all{{"cpu"},
                                    {"cpu", heat_method::ell_blas},
                                    {"cpu", heat_method::fused, "csr_balanced"},
                                    {"cpu", heat_method::fused, "packed_slices"},
                                    {"emulator"},
                                    {"emulator", heat_method::ell_blas},
                                    {"emulator", heat_method::fused, "csr_vector"}};
  return all;
}

heat_options steps_only(heat_options options, std::int64_t steps) {
  options.epsilon = 0;
  options.max_steps = steps;
  return options;
}

/// A wave of which A makes a multiple of itself, with so many half periods in x, y and z.
struct wave {
  cell_grid grid;
  int half_periods[3];

  double in_direction(int d, std::int64_t place) const {
    const double at = static_cast<double>(place);
    if (grid.edge == grid_edge::mirror)
      return std::cos(std::numbers::pi * half_periods[d] * (at + 0.5) / grid.side);
    return std::sin(std::numbers::pi * half_periods[d] * (at + 1) / (grid.side + 1.0));
  }
  std::vector<double> values() const {
    std::vector<double> out;
    for (std::int64_t cell = 0; cell < grid.cells(); ++cell) {
      double product = 1;
      std::int64_t rest = cell;
      for (int d = 0; d < grid.dim; ++d, rest /= grid.side) product *= in_direction(d, rest % grid.side);
      out.push_back(product);
    }
    return out;
  }
  /// What a step with q += factor A q multiplies it by.
  long double decay(long double factor) const {
    const long double cells = grid.edge == grid_edge::mirror ? grid.side : grid.side + 1.0L;
    long double sum = 0;
    for (int d = 0; d < grid.dim; ++d) {
      const long double s = std::sin(std::numbers::pi_v<long double> * half_periods[d] / (2 * cells));
      sum += 4 * s * s;
    }
    return 1 - factor * sum;
  }
};

/// The largest difference between q and `times` the wave.
double largest_difference(const std::vector<double>& q, const std::vector<double>& wave, long double times) {
  double out = 0;
  for (std::size_t i = 0; i < q.size(); ++i)
    out = std::max(out, static_cast<double>(std::abs(q[i] - times * wave[i])));
  return out;
}

TEST(Heat, AWaveDecaysByItsEigenvalueInEveryStepOfThousands) {
  for (const wave& w : {wave{{1, 60, grid_edge::zero}, {1}}, wave{{2, 40, grid_edge::zero}, {1, 1}},
                        wave{{3, 14, grid_edge::zero}, {1, 1, 1}}}) {
    SCOPED_TRACE(testing::Message() << w.grid.dim << " dimensions");
    constexpr std::int64_t steps = 3000;
    const std::vector<double> start = w.values();
    const auto found = nz::solve_heat<double>(w.grid, start, steps_only({}, steps));
    ASSERT_EQ(found.steps, steps);
    // No other wave decays more slowly, so that rounding errors shrink as it does: a few roundings a step,
    // relative to what is left.
    const long double left = std::pow(w.decay(1.0L / (2 * w.grid.dim)), static_cast<long double>(steps));
    const double bound = 4 * static_cast<double>(steps) * eps * static_cast<double>(left);
    EXPECT_LE(largest_difference(found.q, start, left), bound);
    EXPECT_GT(static_cast<double>(left), 100 * bound);  // it is the wave that was looked at
  }
}

TEST(Heat, EveryWaveDecaysByItsEigenvalueByEveryMethod) {
  for (const wave& w : {wave{{1, 33, grid_edge::zero}, {3}}, wave{{1, 32, grid_edge::mirror}, {2}},
                        wave{{2, 12, grid_edge::zero}, {2, 1}}, wave{{2, 11, grid_edge::mirror}, {1, 3}},
                        wave{{3, 6, grid_edge::zero}, {1, 2, 1}}, wave{{3, 5, grid_edge::mirror}, {1, 0, 2}}})
    for (const way& by : ways()) {
      SCOPED_TRACE(testing::Message() << by.text() << ", " << w.grid.dim << " dimensions");
      const std::int64_t steps = by.device == "emulator" ? 20 : 500;
      heat_options options = steps_only(by.options(), steps);
      options.conductivity = 2.5;
      options.time_step = 0.4 * nz::largest_time_step(w.grid, 2.5);
      const std::vector<double> start = w.values();
      const auto found = nz::solve_heat<double>(w.grid, start, options);
      const long double left = std::pow(w.decay(0.4L / (2 * w.grid.dim)), static_cast<long double>(steps));
      EXPECT_LE(largest_difference(found.q, start, left), 8 * static_cast<double>(steps) * eps);
      EXPECT_DOUBLE_EQ(found.time_step, options.time_step);
    }
}

TEST(Heat, EnergyIsConservedWhenInsulated) {
  for (const cell_grid& grid : {cell_grid{1, 100, grid_edge::mirror}, cell_grid{2, 13, grid_edge::mirror},
                                cell_grid{3, 6, grid_edge::mirror}})
    for (const way& by : ways()) {
      SCOPED_TRACE(testing::Message() << by.text() << ", " << grid.dim << " dimensions");
      const std::int64_t steps = by.device == "emulator" ? 20 : 1000;
      const auto start = battery::numbers<double>(static_cast<std::size_t>(grid.cells()), 8);
      const auto found = nz::solve_heat<double>(grid, start, steps_only(by.options(), steps));
      double before = 0, after = 0, magnitude = 0;
      for (const double value : start) before += value, magnitude += std::abs(value);
      for (const double value : found.q) after += value;
      EXPECT_NEAR(after, before, 4 * static_cast<double>(steps) * eps * magnitude);
    }
}

TEST(Heat, AllMethodsAgree) {
  for (const cell_grid& grid : {cell_grid{1, 30, grid_edge::zero}, cell_grid{1, 25, grid_edge::mirror},
                                cell_grid{2, 9, grid_edge::mirror}, cell_grid{3, 5, grid_edge::zero}}) {
    const auto start = battery::numbers<double>(static_cast<std::size_t>(grid.cells()), 9);
    heat_options first = ways()[0].options();
    first.epsilon = 1e-2;
    const auto expected = nz::solve_heat<double>(grid, start, first);
    EXPECT_TRUE(expected.is_converged);
    for (const way& by : ways()) {
      SCOPED_TRACE(testing::Message() << by.text() << ", " << grid.dim << " dimensions");
      heat_options options = by.options();
      options.epsilon = first.epsilon;
      const auto found = nz::solve_heat<double>(grid, start, options);
      EXPECT_TRUE(found.is_converged);
      ASSERT_EQ(found.steps, expected.steps);
      EXPECT_NEAR(found.norm, expected.norm, 1e-9 * expected.norm);
      EXPECT_LE(largest_difference(found.q, expected.q, 1), 16 * static_cast<double>(found.steps) * eps);
      EXPECT_EQ(found.kernel, by.method == heat_method::ell_blas ? (by.device == "cpu" ? "ell_blocks" : "ell")
                              : by.kernel.empty()                ? "stencil"
                                                                 : by.kernel);
    }
  }
}

TEST(Heat, NothingGetsHotterOrColderThanItWasAnywhere) {
  for (const grid_edge edge : {grid_edge::zero, grid_edge::mirror})
    for (const way& by : ways()) {
      SCOPED_TRACE(by.text());
      const cell_grid grid{2, 14, edge};
      const auto start = battery::numbers<float>(static_cast<std::size_t>(grid.cells()), 10);
      const auto [low, high] = std::minmax_element(start.begin(), start.end());
      double lowest = *low, highest = *high;
      if (edge == grid_edge::zero) lowest = std::min(lowest, 0.0), highest = std::max(highest, 0.0);
      const double rounding = 8 * std::numeric_limits<float>::epsilon() * std::max(-lowest, highest);
      // By the largest stable step, where a mistake in it would show first.
      heat_options options = steps_only(by.options(), 1);
      std::vector<float> q = start;
      for (int s = 0; s < 12; ++s) {
        q = nz::solve_heat<float>(grid, q, options).q;
        for (const float value : q) {
          ASSERT_GE(value, lowest - rounding);
          ASSERT_LE(value, highest + rounding);
        }
      }
    }
}

TEST(Heat, StopsAtTheFirstStepBelowEpsilonHoweverSeldomItLooks) {
  for (const std::string device : {"cpu", "emulator"})
    for (const cell_grid& grid : {cell_grid{1, 40, grid_edge::zero}, cell_grid{2, 9, grid_edge::mirror},
                                  cell_grid{3, 5, grid_edge::zero}}) {
      SCOPED_TRACE(testing::Message() << device << ", " << grid.dim << " dimensions");
      const auto start = battery::numbers<double>(static_cast<std::size_t>(grid.cells()), 11);
      heat_options options = way{device}.options();
      options.epsilon = 0.05;
      const auto expected = nz::solve_heat<double>(grid, start, options);
      EXPECT_TRUE(expected.is_converged);
      EXPECT_LT(expected.norm, options.epsilon);
      ASSERT_GT(expected.steps, 1);
      for (const int most : {1, 2, 7}) {
        options.steps_per_pass = most;
        const auto found = nz::solve_heat<double>(grid, start, options);
        EXPECT_LE(found.steps_per_pass, most);
        EXPECT_EQ(found.steps, expected.steps);
        EXPECT_EQ(found.q, expected.q);
        EXPECT_EQ(found.norm, expected.norm);
      }
      options.max_steps = expected.steps - 1;
      const auto before = nz::solve_heat<double>(grid, start, options);
      EXPECT_FALSE(before.is_converged);
      EXPECT_GE(before.norm, options.epsilon);
      EXPECT_EQ(before.steps, options.max_steps);
    }
}

TEST(Heat, HasTheSameBitsForAnyNumberOfThreads) {
  const cell_grid grid{2, 300, grid_edge::zero};
  const auto start = nz::heat_initial<double>(grid, nz::heat_start::hot_centre);
  for (const way& by : ways()) {
    if (by.device != "cpu") continue;
    SCOPED_TRACE(by.text());
    std::vector<std::vector<double>> found;
    for (const int threads : {1, 2, 5}) {
      const nz::thread_limit scope(threads);
      found.push_back(nz::solve_heat<double>(grid, start, steps_only(by.options(), 20)).q);
      EXPECT_EQ(found.back(), found.front()) << threads;
    }
  }
}

TEST(Heat, LetsOneLookWhenOneAskedFor) {
  const cell_grid grid{1, 30, grid_edge::zero};
  const auto start = nz::heat_initial<double>(grid, nz::heat_start::step);
  std::vector<std::int64_t> steps;
  const auto result = nz::solve_heat<double>(
      grid, start, steps_only({}, 100), [&](std::int64_t at, std::span<const double> q) {
        steps.push_back(at);
        const auto until = nz::solve_heat<double>(grid, start, steps_only({}, at)).q;
        EXPECT_TRUE(std::equal(q.begin(), q.end(), until.begin(), until.end())) << at;
        return at == 0 ? 7 : 3 * at;
      });
  EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 7, 21, 63, 100}));
  EXPECT_EQ(result.steps, 100);
}

TEST(Heat, WithoutAStepIsWhatItStartedWith) {
  const cell_grid grid{1, 5, grid_edge::zero};
  const std::vector<double> start{1, 2, 3, 4, 5};
  const auto found = nz::solve_heat<double>(grid, start, steps_only({}, 0));
  EXPECT_EQ(found.q, start);
  EXPECT_EQ(found.steps, 0);
  EXPECT_TRUE(std::isnan(found.norm));
}

TEST(Heat, OfOneCellAndOfNoHeatEnds) {
  for (const grid_edge edge : {grid_edge::zero, grid_edge::mirror})
    for (const int dim : {1, 2, 3}) {
      const cell_grid one{dim, 1, edge}, cold{dim, 4, edge};
      EXPECT_TRUE(nz::solve_heat<double>(one, std::vector<double>{1}).is_converged);
      const std::vector<double> nothing(static_cast<std::size_t>(cold.cells()), 0);
      const auto found = nz::solve_heat<double>(cold, nothing);
      EXPECT_EQ(found.steps, 1);
      EXPECT_EQ(found.q, nothing);
    }
}

TEST(Heat, SaysWhereRoundingKeepsItFromGettingThere) {
  const cell_grid grid{1, 50, grid_edge::mirror};
  heat_options options;
  options.epsilon = 1e-12;
  const auto start = nz::heat_initial<float>(grid, nz::heat_start::hot_centre);
  const auto found = nz::solve_heat<float>(grid, start, options);
  EXPECT_TRUE(found.is_stuck || found.norm == 0);
  // In double the same is no trouble.
  const auto exact =
      nz::solve_heat<double>(grid, nz::heat_initial<double>(grid, nz::heat_start::hot_centre), options);
  EXPECT_TRUE(exact.is_converged);
  EXPECT_FALSE(exact.is_stuck);
}

}  // namespace
