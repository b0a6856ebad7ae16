#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>

#include "tests/io/generate_checks.hpp"

namespace {

namespace gen = nz::generate;
using generate_checks::expect_proper;
using generate_checks::message_of;
using generate_checks::most;
using generate_checks::same;
using nz::index;
using nz::offset;

TEST(Generate, PutsFivePointsOnAGridOfThreeByThree) {
  const auto a = gen::poisson_2d<double>(3, 3);
  EXPECT_EQ(a.rows, 9);
  EXPECT_EQ(a.cols, 9);
  EXPECT_TRUE(same(a.row_begin, {0, 3, 7, 10, 14, 19, 23, 26, 30, 33}));
  EXPECT_TRUE(same(a.col, {0, 1, 3, 0, 1, 2, 4, 1, 2, 5, 0, 3, 4, 6, 1, 3, 4,
                           5, 7, 2, 4, 5, 8, 3, 6, 7, 4, 6, 7, 8, 5, 7, 8}));
  EXPECT_TRUE(same(a.val, {4,  -1, -1, -1, 4, -1, -1, -1, 4,  -1, -1, 4, -1, -1, -1, -1, 4,
                           -1, -1, -1, -1, 4, -1, -1, 4,  -1, -1, -1, 4, -1, -1, -1, 4}));
}

TEST(Generate, NumbersAGridWithXFastest) {
  const auto a = gen::poisson_2d<float>(2, 3);
  EXPECT_TRUE(same(a.row_begin, {0, 3, 6, 10, 14, 17, 20}));
  EXPECT_TRUE(same(a.col, {0, 1, 2, 0, 1, 3, 0, 2, 3, 4, 1, 2, 3, 5, 2, 4, 5, 3, 4, 5}));
}

TEST(Generate, MakesTheHeatStencil) {
  const auto a = gen::heat<double>(4);
  EXPECT_TRUE(same(a.row_begin, {0, 2, 5, 8, 10}));
  EXPECT_TRUE(same(a.col, {0, 1, 0, 1, 2, 1, 2, 3, 2, 3}));
  EXPECT_TRUE(same(a.val, {-2, 1, 1, -2, 1, 1, -2, 1, 1, -2}));
}

TEST(Generate, MakesDiagonalTridiagonalAndLinePoisson) {
  const auto d = gen::diagonal<double>(3);
  EXPECT_TRUE(same(d.row_begin, {0, 1, 2, 3}));
  EXPECT_TRUE(same(d.col, {0, 1, 2}));
  EXPECT_TRUE(same(d.val, {1, 2, 3}));
  const auto t = gen::tridiagonal<double>(3);
  EXPECT_TRUE(same(t.col, {0, 1, 0, 1, 2, 1, 2}));
  EXPECT_TRUE(same(t.val, {2, -1, -1, 2, -1, -1, 2}));
  EXPECT_EQ(t, gen::poisson_1d<double>(3));
}

TEST(Generate, PutsSevenPointsInsideAndFourAtCornersOfAThreeDimensionalGrid) {
  const auto a = gen::poisson_3d<double>(3, 4, 5);
  expect_proper(a);
  EXPECT_EQ(a.rows, 60);
  // Each of the three directions lacks one link fewer than it has nodes.
  EXPECT_EQ(a.nnz(), 60 + 2 * (2 * 4 * 5 + 3 * 3 * 5 + 3 * 4 * 4));
  const index inside = (2 * 4 + 1) * 3 + 1;
  ASSERT_EQ(a.row_length(inside), 7);
  const std::vector<index> points{inside - 12, inside - 3, inside - 1, inside,
                                  inside + 1,  inside + 3, inside + 12};
  EXPECT_TRUE(std::equal(points.begin(), points.end(), &a.col[a.row_begin[inside]]));
  EXPECT_EQ(a.val[a.row_begin[inside] + 3], 6);
  EXPECT_EQ(a.row_length(0), 4);
  EXPECT_EQ(a.row_length(59), 4);
}

TEST(Generate, SumsTheInnerRowsOfTwentySevenPointsToZero) {
  const auto a = gen::poisson_27<double>(4, 5, 6);
  expect_proper(a);
  int inner = 0;
  for (index i = 0; i < a.rows; ++i) {
    double sum = 0;
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) sum += a.val[k];
    EXPECT_EQ(sum, static_cast<double>(27 - a.row_length(i)));
    inner += a.row_length(i) == 27;
  }
  EXPECT_EQ(inner, 2 * 3 * 4);
  EXPECT_EQ(a.row_length(0), 8);
  // 3 * side - 2 pairs of neighbours along each side, multiplied.
  EXPECT_EQ(a.nnz(), 10 * 13 * 16);
}

TEST(Generate, FillsTheWholeBandAndNoMore) {
  for (const index reach : {0, 1, 7, 99, 100, most}) {
    const auto a = gen::banded<double>(100, reach);
    expect_proper(a);
    for (index i = 0; i < 100; ++i) {
      const offset first = std::max<offset>(0, offset{i} - reach),
                   last = std::min<offset>(99, offset{i} + reach);
      ASSERT_EQ(a.row_length(i), last - first + 1);
      ASSERT_EQ(a.col[a.row_begin[i]], first);
    }
  }
}

TEST(Generate, MakesFemBlocksSymmetricAndDominatedByTheDiagonal) {
  const auto a = gen::fem_blocks<float>(3, 4, 5);
  expect_proper(a);
  EXPECT_EQ(a.rows, 180);
  EXPECT_EQ(a.nnz(), 9 * 7 * 10 * 13);
  EXPECT_EQ(a, nz::transpose(a));
  for (index i = 0; i < a.rows; ++i) {
    float beside = 0;
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
      if (a.col[k] == i) {
        EXPECT_EQ(a.val[k], 128);
        continue;
      }
      EXPECT_LT(std::abs(a.val[k]), 1);
      EXPECT_NE(a.val[k], 0);
      EXPECT_EQ(a.val[k] * 1024, std::round(a.val[k] * 1024));
      beside += std::abs(a.val[k]);
    }
    EXPECT_LT(beside, 128);
    EXPECT_EQ(a.row_length(i), a.row_length(i / 3 * 3));
  }
}

TEST(Generate, MakesTheSameFemBlocksInBothPrecisions) {
  const auto single = gen::fem_blocks<float>(4, 4, 4);
  const auto twice = gen::fem_blocks<double>(4, 4, 4);
  EXPECT_TRUE(std::equal(single.val.begin(), single.val.end(), twice.val.begin(), twice.val.end()));
}

TEST(Generate, RefusesMoreRowsThanAnIndexHolds) {
  EXPECT_EQ(message_of<nz::shape_error>([] { gen::poisson_3d<double>(2000, 2000, 2000); }),
            "poisson_3d: 2000 x 2000 x 2000 nodes make more rows than the 2147483647 an index holds");
  EXPECT_THROW(gen::poisson_2d<double>(46341, 46341), nz::shape_error);
  EXPECT_THROW(gen::poisson_3d<double>(most, most, most), nz::shape_error);
  EXPECT_THROW(gen::poisson_27<double>(1, 2, most), nz::shape_error);
  EXPECT_THROW(gen::fem_blocks<double>(1, 1, most / 3 + 1), nz::shape_error);
}

}  // namespace
