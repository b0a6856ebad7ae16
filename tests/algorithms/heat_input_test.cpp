#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include <nonzero/algorithms/heat.hpp>
#include <nonzero/core/errors.hpp>
#include <nonzero/io/generate.hpp>

// What the heat equation is given, and what is made of it before the first step.
namespace {

using nz::cell_grid;
using nz::grid_edge;
using nz::heat_method;
using nz::heat_options;

TEST(Heat, RefusesWhatIsNotStableAndNamesTheBound) {
  const cell_grid grid{2, 9, grid_edge::zero};  // dx = 0.1
  const std::vector<double> start(81, 1);
  heat_options options;
  options.conductivity = 2;
  options.time_step = 0.0013;
  try {
    nz::solve_heat<double>(grid, start, options);
    FAIL() << "it was taken";
  } catch (const nz::unsupported& e) {
    EXPECT_NE(std::string(e.what()).find("0.00125"), std::string::npos) << e.what();
  }
  options.time_step = 0.00125;  // which rounding makes a bit more or less than dx^2 / (2 d c)
  EXPECT_NO_THROW(nz::solve_heat<double>(grid, start, options));
}

TEST(Heat, RefusesWhatMakesNoSense) {
  const cell_grid grid{1, 4, grid_edge::zero};
  const std::vector<double> start(4, 1), few(3, 1), strange{1, std::nan(""), 1, 1};
  EXPECT_THROW(nz::solve_heat<double>(grid, few), nz::shape_error);
  EXPECT_THROW(nz::solve_heat<double>(grid, strange), nz::shape_error);
  // Whose squares no number holds.
  EXPECT_THROW(nz::solve_heat<double>(grid, std::vector<double>(4, 1e200)), nz::shape_error);
  EXPECT_THROW(nz::solve_heat<float>(grid, std::vector<float>(4, 3e38F)), nz::shape_error);
  EXPECT_THROW(nz::solve_heat<double>({4, 1, grid_edge::zero}, few), nz::shape_error);
  const auto refuses = [&](const auto& change) {
    heat_options options;
    change(options);
    EXPECT_THROW(nz::solve_heat<double>(grid, start, options), nz::unsupported);
  };
  refuses([](heat_options& o) { o.conductivity = 0; });
  refuses([](heat_options& o) { o.conductivity = std::nan(""); });
  refuses([](heat_options& o) { o.conductivity = 1e-320; });  // the time step is infinite
  refuses([](heat_options& o) { o.conductivity = 1e308; });   // and 0
  refuses([](heat_options& o) { o.epsilon = std::nan(""); });
  refuses([](heat_options& o) { o.epsilon = HUGE_VAL; });
  refuses([](heat_options& o) { o.time_step = std::nan(""); });
  refuses([](heat_options& o) { o.steps_per_pass = -1; });
  refuses([](heat_options& o) { o.epsilon = 0; });  // and no end of steps
  refuses([](heat_options& o) { o.time_step = -1; });
  refuses([](heat_options& o) { o.max_steps = -1; });
  refuses([](heat_options& o) { o.kernel = "csr_balanced", o.steps_per_pass = 2; });
  refuses([](heat_options& o) { o.method = heat_method::ell_blas, o.steps_per_pass = 2; });
  refuses([](heat_options& o) { o.method = heat_method::ell_blas, o.kernel = "csr_balanced"; });
  refuses([](heat_options& o) { o.method = heat_method::cusparse, o.kernel = "csr_vector"; });
  refuses([](heat_options& o) { o.method = heat_method::cusparse; });  // on the CPU
  refuses([](heat_options& o) { o.kernel = "csr_magic"; });
}

/// The matrix with every value's sign turned.
nz::csr<double> negative(nz::csr<double> a) {
  for (double& value : a.val) value = -value;
  return a;
}

void expect_same(const nz::csr<double>& a, const nz::csr<double>& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_TRUE(a.row_begin == b.row_begin);
  EXPECT_TRUE(a.col == b.col);
  EXPECT_TRUE(a.val == b.val);
}

TEST(HeatMatrix, IsTheLecturesWhereTheOutsideIsZero) {
  expect_same(nz::heat_matrix<double>({1, 9, grid_edge::zero}), nz::generate::heat<double>(9));
  expect_same(nz::heat_matrix<double>({2, 7, grid_edge::zero}),
              negative(nz::generate::poisson_2d<double>(7, 7)));
  expect_same(nz::heat_matrix<double>({3, 4, grid_edge::zero}),
              negative(nz::generate::poisson_3d<double>(4, 4, 4)));
}

TEST(HeatMatrix, HasRowsThatAddUpToNothingWhenInsulated) {
  expect_same(nz::heat_matrix<double>({1, 3, grid_edge::mirror}),
              {3, 3, {0, 2, 5, 7}, {0, 1, 0, 1, 2, 1, 2}, {-1, 1, 1, -2, 1, 1, -1}});
  for (const int dim : {1, 2, 3}) {
    const auto a = nz::heat_matrix<double>({dim, 5, grid_edge::mirror});
    nz::validate(a);
    for (nz::index row = 0; row < a.rows; ++row)
      EXPECT_EQ(std::accumulate(a.val.begin() + a.row_begin[row], a.val.begin() + a.row_begin[row + 1], 0.0),
                0);
  }
  EXPECT_THROW(nz::heat_matrix<double>({2, 50'000, grid_edge::zero}), nz::shape_error);
}

TEST(HeatInitial, IsBetweenZeroAndOneAndSymmetric) {
  for (const grid_edge edge : {grid_edge::zero, grid_edge::mirror})
    for (const int dim : {1, 2, 3})
      for (const auto start : {nz::heat_start::hot_centre, nz::heat_start::step, nz::heat_start::sine}) {
        const auto q = nz::heat_initial<double>({dim, 20, edge}, start);
        const auto [low, high] = std::minmax_element(q.begin(), q.end());
        EXPECT_GE(*low, 0);
        EXPECT_LE(*high, 1);
        EXPECT_GT(*high, 0.9);
        EXPECT_LT(*low, 0.2);
        // Turned around, a hot centre is itself, and a step its opposite.
        for (std::size_t i = 0; i < q.size(); ++i) {
          const double other = q[q.size() - 1 - i];
          EXPECT_TRUE(start != nz::heat_start::hot_centre || q[i] == other) << i;
          EXPECT_TRUE(start != nz::heat_start::step || q[i] == 1 - other) << i;
        }
      }
}

}  // namespace
