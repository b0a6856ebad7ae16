#include <algorithm>

#include <cli/heat_report.hpp>
#include <gtest/gtest.h>

namespace {

using nz::cell_grid;
using nz::grid_edge;
using nz::cli::small_field;

TEST(HeatPicture, AveragesCellsThatFallTogether) {
  const std::vector<double> line{1, 3, 5, 7};
  const small_field half = nz::cli::shrink<double>(line, {1, 4, grid_edge::zero}, 2, 9);
  EXPECT_EQ(half.rows, 1);
  EXPECT_EQ(half.value, (std::vector<double>{2, 6}));
  const std::vector<double> square{1, 2, 3, 4};
  EXPECT_EQ(nz::cli::shrink<double>(square, {2, 2, grid_edge::zero}, 1, 2).value,
            (std::vector<double>{1.5, 3.5}));
  EXPECT_EQ(nz::cli::shrink<double>(square, {2, 2, grid_edge::zero}, 50, 50).value, square);
  const std::vector<double> cube{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(nz::cli::shrink<double>(cube, {3, 2, grid_edge::zero}, 2, 2).value,
            (std::vector<double>{5, 6, 7, 8}));
}

TEST(HeatHistory, KeepsARowForEverySoManySteps) {
  nz::cli::heat_history history(10);
  const cell_grid grid{1, 2, grid_edge::zero};
  std::int64_t next = 0;
  for (int row = 0; row < 4; ++row) {
    EXPECT_EQ(next, 10 * row);
    const std::vector<double> q{1.0 * row, -1.0 * row};
    next = history.add<double>(next, q, grid);
  }
  EXPECT_EQ(history.last_step(), 30);
  EXPECT_EQ(history.field().value, (std::vector<double>{0, 0, 1, -1, 2, -2, 3, -3}));
}

TEST(HeatHistory, EndsWithTheLastStepAlsoBetweenTwoRows) {
  nz::cli::heat_history history(10);
  const cell_grid grid{1, 1, grid_edge::zero};
  for (const int step : {0, 10, 20, 25}) {
    const std::vector<double> q{1.0 * step};
    history.add<double>(step, q, grid);
  }
  EXPECT_EQ(history.last_step(), 25);
  const small_field field = history.field();
  // Each row takes the fraction of the time in which it is nearest: 5, 10, 7.5 and 2.5 of 25.
  const auto fraction = [&](double value) {
    return static_cast<double>(std::count(field.value.begin(), field.value.end(), value)) / field.rows;
  };
  EXPECT_NEAR(fraction(0), 0.2, 0.01);
  EXPECT_NEAR(fraction(10), 0.4, 0.01);
  EXPECT_NEAR(fraction(20), 0.3, 0.01);
  EXPECT_NEAR(fraction(25), 0.1, 0.01);
  EXPECT_EQ(field.value.back(), 25);
}

TEST(HeatHistory, ThinsOutWhatIsTooMuch) {
  nz::cli::heat_history history(0);
  const cell_grid grid{1, 1, grid_edge::zero};
  std::int64_t step = 0, rows = 0;
  for (; step < 100'000; ++rows) {
    const std::vector<double> q{static_cast<double>(step)};
    step = history.add<double>(step, q, grid);
  }
  EXPECT_LT(rows, 8000);
  const small_field field = history.field();
  EXPECT_GE(field.rows, 400);
  EXPECT_LE(field.rows, 800);
  // Evenly spaced from the first on.
  for (int r = 0; r < field.rows; ++r)
    EXPECT_EQ(field.value[static_cast<std::size_t>(r)], r * field.value[1]) << r;
  EXPECT_EQ(static_cast<double>(history.last_step()), field.value.back());
}

TEST(HeatPicture, IsHotterInDarkerLetters) {
  EXPECT_EQ(nz::cli::draw_heat({3, 2, {0, 0, 0, 0, 0.55, 1}}, false), "┌───┐\n│ +@│\n│   │\n└───┘\n");
  EXPECT_EQ(nz::cli::draw_heat({1, 1, {7}}, false), "┌─┐\n│ │\n└─┘\n");
  // Two rows in a line of colours.
  const std::string coloured = nz::cli::draw_heat({1, 3, {0, 1, 2}}, true);
  EXPECT_EQ(std::count(coloured.begin(), coloured.end(), '\n'), 4);
}

}  // namespace
