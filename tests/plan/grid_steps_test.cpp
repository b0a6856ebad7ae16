#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/plan/back_ends.hpp>
#include <nonzero/plan/kernels.hpp>

#include "tests/battery/battery.hpp"
#include "tests/gpu/require_gpu.hpp"
#include "tests/plan/on_every_device.hpp"

// Steps on grids without a stored matrix, on every device.
namespace {

using nz::cell_grid;
using nz::device_kind;
using nz::grid_edge;

template <class On> class GridSteps : public testing::Test {
 protected:
  void SetUp() override {
    if (On::kind == device_kind::cuda) require_gpu();
    if (!IsSkipped() && !HasFatalFailure()) device = nz::find_device(nz::name_of(On::kind));
  }
  std::shared_ptr<nz::device> device;
};

TYPED_TEST_SUITE(GridSteps, on_every_device, device_names);

/// One cell, cells at both edges only, and lines, squares and cubes of one tile and of more. In the emulator
/// those of more are as small as can be.
std::vector<cell_grid> grids(bool is_emulated) {
  std::vector<cell_grid> out;
  for (const grid_edge edge : {grid_edge::zero, grid_edge::mirror}) {
    for (const nz::index side : {1, 2, 3, 481, 1000}) out.push_back({1, side, edge});
    for (const nz::index side : {1, 2, 17}) out.push_back({2, side, edge});
    for (const nz::index side : {1, 2, 7}) out.push_back({3, side, edge});
    if (is_emulated) continue;
    out.push_back({1, 4500, edge});
    out.push_back({2, 530, edge});
    out.push_back({3, 40, edge});
    out.push_back({3, 134, edge});
  }
  if (is_emulated) out.insert(out.end(), {{2, 243, grid_edge::zero}, {3, 15, grid_edge::mirror}});
  return out;
}

std::string text_of(const cell_grid& grid) {
  return std::to_string(grid.side) + "^" + std::to_string(grid.dim) +
         (grid.edge == grid_edge::mirror ? ", mirrored" : "");
}

/// (A q) of each cell, as the words say it, in double.
std::vector<double> changes(const cell_grid& grid, const std::vector<double>& q) {
  std::vector<double> out(q.size());
  const std::int64_t n = grid.side;
  for (std::int64_t i = 0; i < grid.cells(); ++i) {
    std::int64_t stride = 1;
    for (int d = 0; d < grid.dim; ++d, stride *= n) {
      const std::int64_t place = i / stride % n;
      const double outside = grid.edge == grid_edge::mirror ? q[i] : 0.0;
      out[i] += (place > 0 ? q[i - stride] : outside) - q[i];
      out[i] += (place < n - 1 ? q[i + stride] : outside) - q[i];
    }
  }
  return out;
}

double norm_of(const std::vector<double>& y) {
  double sum = 0;
  for (const double value : y) sum += value * value;
  return std::sqrt(sum);
}

template <class V> struct stepped {
  std::vector<V> q;
  double norm = 0;  // squared
};

/// So many steps in passes of at most `most`, from numbers around 1.
template <class V>
stepped<V> run_steps(const cell_grid& grid, V factor, const std::shared_ptr<nz::device>& device, int steps,
                     int most) {
  const auto made = nz::functions_on<V>(*device).make_grid_steps(grid, factor, device);
  const auto cells = static_cast<std::size_t>(grid.cells());
  nz::vector<V> from(device, battery::numbers<V>(cells, 3));
  // NaN, which must not be read.
  nz::vector<V> to(device, std::vector<V>(cells, std::numeric_limits<V>::quiet_NaN()));
  nz::vector<double> norm(device, std::vector<double>{-1});
  while (steps > 0) {
    const int now = made->steps_in_pass(std::min(steps, most));
    made->run(now, from, to, steps == now ? &norm : nullptr);
    std::swap(from, to);
    steps -= now;
  }
  return {from.to_host(), norm.to_host()[0]};
}

/// So many steps are what the formula gives.
template <class V>
void expect_formula(const cell_grid& grid, const std::shared_ptr<nz::device>& device, int steps) {
  SCOPED_TRACE(text_of(grid));
  const V factor = V{1} / static_cast<V>(2 * grid.dim);
  const stepped<V> found = run_steps<V>(grid, factor, device, steps, 1000);
  const auto start = battery::numbers<V>(static_cast<std::size_t>(grid.cells()), 3);
  std::vector<double> q(start.begin(), start.end()), y;
  double largest = 0;
  for (const double value : q) largest = std::max(largest, std::abs(value));
  for (int s = 0; s < steps; ++s) {
    y = changes(grid, q);
    for (std::size_t i = 0; i < q.size(); ++i) q[i] += static_cast<double>(factor) * y[i];
  }
  // A step takes a mean, so that no error grows; each adds a few roundings of sums of 2*dim numbers.
  const double bound = steps * 8.0 * (grid.dim + 1) * std::numeric_limits<V>::epsilon() * largest;
  for (std::size_t i = 0; i < q.size(); ++i) ASSERT_LE(std::abs(found.q[i] - q[i]), bound) << "cell " << i;
  EXPECT_LE(std::abs(std::sqrt(found.norm) - norm_of(y)),
            4 * grid.dim * bound * std::sqrt(static_cast<double>(q.size())));
}

TYPED_TEST(GridSteps, AreTheFormula) {
  for (const cell_grid& grid : grids(TypeParam::kind == device_kind::emulator))
    expect_formula<typename TypeParam::V>(grid, this->device, 9);
}

// Blocks that touch no edge have a loop of their own.
TEST(GridStepsInTheEmulator, AreTheFormulaAwayFromTheEdges) {
  expect_formula<double>({2, 725, grid_edge::mirror}, nz::find_device("emulator"), 8);
  expect_formula<double>({3, 88, grid_edge::mirror}, nz::find_device("emulator"), 2);
}

TYPED_TEST(GridSteps, HaveTheSameBitsForAnyNumberInAPass) {
  using V = typename TypeParam::V;
  for (const cell_grid& grid : grids(TypeParam::kind == device_kind::emulator)) {
    if (grid.cells() > 1'000'000) continue;  // which takes long under sanitizers
    SCOPED_TRACE(text_of(grid));
    const V factor = V{0.15};
    const bool is_slow = TypeParam::kind == device_kind::emulator;
    const int steps = is_slow && grid.side > 200 && grid.dim > 1 ? 9 : 19;
    const stepped<V> one_by_one = run_steps<V>(grid, factor, this->device, steps, 1);
    for (const int most : {2, 3, 5, 8, 16, 32}) {
      if (is_slow && most != 8 && most != 16) continue;
      const stepped<V> found = run_steps<V>(grid, factor, this->device, steps, most);
      EXPECT_EQ(std::memcmp(found.q.data(), one_by_one.q.data(), found.q.size() * sizeof(V)), 0) << most;
      EXPECT_EQ(found.norm, one_by_one.norm) << most;
    }
  }
}

TYPED_TEST(GridSteps, KeepAnInfinityToItsNeighbourhood) {
  using V = typename TypeParam::V;
  const cell_grid grid{1, 2000, grid_edge::zero};
  const auto made = nz::functions_on<V>(*this->device).make_grid_steps(grid, V{0.25}, this->device);
  std::vector<V> start(2000, 1);
  start[600] = std::numeric_limits<V>::infinity();
  const nz::vector<V> from(this->device, start);
  nz::vector<V> to(this->device, 2000);
  const int steps = made->steps_in_pass(7);
  made->run(steps, from, to);
  const std::vector<V> found = to.to_host();
  for (int i = 0; i < 2000; ++i)
    EXPECT_EQ(std::isfinite(found[static_cast<std::size_t>(i)]), std::abs(i - 600) > steps) << i;
}

TYPED_TEST(GridSteps, RefuseWhatDoesNotFit) {
  using V = typename TypeParam::V;
  const auto made =
      nz::functions_on<V>(*this->device).make_grid_steps({2, 5, grid_edge::zero}, V{0.1}, this->device);
  const auto make = [&](std::size_t size) { return nz::vector<V>(this->device, std::vector<V>(size, 1)); };
  nz::vector<V> from = make(25), to = make(25), wrong = make(24);
  nz::vector<double> none(this->device, 0);
  EXPECT_NO_THROW(made->run(1, from, to));
  EXPECT_THROW(made->run(1, wrong, to), nz::shape_error);
  EXPECT_THROW(made->run(1, from, wrong), nz::shape_error);
  EXPECT_THROW(made->run(1, from, from), nz::shape_error);
  EXPECT_THROW(made->run(0, from, to), nz::shape_error);
  EXPECT_THROW(made->run(1000, from, to), nz::shape_error);
  EXPECT_THROW(made->run(1, from, to, &none), nz::shape_error);
  const auto elsewhere = nz::find_device(TypeParam::kind == device_kind::cpu ? "emulator" : "cpu");
  nz::vector<V> far(elsewhere, 25);
  EXPECT_THROW(made->run(1, from, far), nz::device_error);
  for (const cell_grid bad : {cell_grid{0, 5, grid_edge::zero}, cell_grid{4, 5, grid_edge::zero},
                              cell_grid{2, 0, grid_edge::zero}, cell_grid{3, 100'000, grid_edge::zero}})
    EXPECT_THROW(nz::functions_on<V>(*this->device).make_grid_steps(bad, V{0.1}, this->device),
                 nz::shape_error)
        << text_of(bad);
}

TEST(GridStepsOnTheCpu, HaveTheSameBitsForAnyNumberOfThreads) {
  for (const cell_grid& grid : {cell_grid{1, 20'000, grid_edge::zero}, cell_grid{2, 600, grid_edge::mirror},
                                cell_grid{3, 60, grid_edge::zero}}) {
    SCOPED_TRACE(text_of(grid));
    std::vector<stepped<double>> found;
    for (const int threads : {1, 2, 5}) {
      const nz::thread_limit scope(threads);
      found.push_back(run_steps<double>(grid, 0.1, nz::cpu_device(), 9, 100));
      EXPECT_EQ(found.back().q, found.front().q) << threads;
      EXPECT_EQ(found.back().norm, found.front().norm) << threads;
    }
  }
}

}  // namespace
