#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/core/memory.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/io/generate_internal.hpp>

#include "tests/io/generate_checks.hpp"

namespace {

namespace gen = nz::generate;
using generate_checks::expect_proper;
using generate_checks::message_of;
using generate_checks::most;
using generate_checks::same;
using nz::index;
using nz::offset;

TEST(Generate, DrawsThePublishedSplitmixNumbers) {
  // The first outputs of splitmix64 from state 0.
  EXPECT_EQ(nz::hash(0, 0), 0xe220a8397b1dcdaf);
  EXPECT_EQ(nz::hash(0, 1), 0x6e789e6aa1b965f4);
  EXPECT_EQ(nz::hash(0, 2), 0x06c45d188009454f);
}

TEST(Generate, ScalesHashesToNumbersWithoutRounding) {
  EXPECT_EQ(gen::below(10, 0), 0);
  EXPECT_EQ(gen::below(10, ~0ull), 9);
  EXPECT_EQ(gen::below(most, ~0ull), most - 1);
  EXPECT_EQ(gen::below(1, ~0ull), 0);
  EXPECT_EQ(gen::below(4, 0x7fffffffffffffff), 1);
  EXPECT_EQ(gen::below(4, 0x8000000000000000), 2);
  EXPECT_EQ(gen::between_minus_one_and_one<double>(0), -1 + 0x1p-52);
  EXPECT_EQ(gen::between_minus_one_and_one<double>(~0ull), 1 - 0x1p-52);
  EXPECT_EQ(gen::between_minus_one_and_one<double>(1ull << 63), 0x1p-52);
  EXPECT_EQ(gen::between_minus_one_and_one<float>(0), -1 + 0x1p-23f);
  EXPECT_EQ(gen::between_minus_one_and_one<float>(~0ull), 1 - 0x1p-23f);
}

TEST(Generate, GivesEachUniformRowItsNumberOfDifferentColumns) {
  // Both ways of choosing columns, both sides of the switch between them, and rows longer than 64.
  for (const index cols : {1, 2, 3, 7, 64, 79, 80, 81, 500, 3000})
    for (const index per_row : {0, 1, 2, 16, 33, 64, 65, 250, 251, 499, 500}) {
      const auto a = gen::uniform<double>(50, cols, per_row);
      expect_proper(a);
      EXPECT_EQ(a.cols, cols);
      for (index i = 0; i < a.rows; ++i)
        ASSERT_EQ(a.row_length(i), std::min(cols, per_row)) << per_row << " of " << cols;
    }
}

TEST(Generate, FillsUniformRowsThatAskForEveryColumn) {
  const auto a = gen::uniform<double>(20, 100, most);
  for (index i = 0; i < 20; ++i)
    for (index j = 0; j < 100; ++j) ASSERT_EQ(a.col[a.row_begin[i] + j], j);
}

TEST(Generate, HitsAllColumnsOfAUniformMatrixEquallyOften) {
  // 16 of 1000: drawn. 300 of 1000: selected. Counts are binomial; 6 standard deviations either way.
  for (const index per_row : {16, 300}) {
    constexpr index rows = 20000, cols = 1000;
    const auto a = gen::uniform<float>(rows, cols, per_row);
    std::vector<int> hits(cols);
    for (const index j : a.col) ++hits[j];
    const double p = double(per_row) / cols, mean = rows * p, deviation = std::sqrt(rows * p * (1 - p));
    const auto [fewest, mostly] = std::minmax_element(hits.begin(), hits.end());
    EXPECT_GT(*fewest, mean - 6 * deviation);
    EXPECT_LT(*mostly, mean + 6 * deviation);
    EXPECT_NE(*fewest, *mostly);
  }
}

TEST(Generate, ReachesTheLastColumnsOfTheWidestMatrix) {
  const auto a = gen::uniform<float>(100, most, 100);
  expect_proper(a);
  EXPECT_GT(*std::max_element(a.col.begin(), a.col.end()), most / 100 * 99);
}

TEST(Generate, SpreadsRandomValuesEvenlyAndNeverMakesAZero) {
  const auto a = gen::uniform<float>(10000, 10000, 100);
  double sum = 0, squares = 0;
  for (const float v : a.val) {
    ASSERT_NE(v, 0);
    ASSERT_LT(std::abs(v), 1);
    sum += v;
    squares += double(v) * v;
  }
  const auto n = static_cast<double>(a.nnz());
  EXPECT_NEAR(sum / n, 0, 6 / std::sqrt(3 * n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 6 / std::sqrt(n));
}

TEST(Generate, SumsRmatEdgesThatFallTogether) {
  const auto a = gen::rmat<double>(10, 16);
  expect_proper(a);
  EXPECT_EQ(a.rows, 1024);
  double edges = 0;
  for (const double v : a.val) edges += v;
  EXPECT_EQ(edges, 1024 * 16);
  EXPECT_LT(a.nnz(), 1024 * 16);
}

TEST(Generate, SkewsTheDegreesOfAnRmatGraph) {
  const auto a = gen::rmat<float>(14, 16);
  EXPECT_GT(nz::longest_row(a), 30 * 16);
  EXPECT_GT(nz::longest_row(nz::transpose(a)), 30 * 16);
  offset lonely = 0;
  for (index i = 0; i < a.rows; ++i) lonely += a.row_length(i) == 0;
  EXPECT_GT(lonely, a.rows / 10);
}

TEST(Generate, ChoosesRmatQuadrantsWithTheirChancesAtEveryLevel) {
  // Scales that use some of the four levels of a word, all of them, and several words.
  for (const int scale : {1, 3, 4, 5, 9}) {
    const index per_vertex = 200000 >> scale;
    const auto a = gen::rmat<double>(scale, per_vertex);
    const double edges = static_cast<double>(per_vertex) * (1 << scale);
    for (int level = 0; level < scale; ++level) {
      double chance[2][2] = {};
      for (index i = 0; i < a.rows; ++i)
        for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
          chance[i >> level & 1][a.col[k] >> level & 1] += a.val[k] / edges;
      EXPECT_NEAR(chance[0][0], 0.57, 0.007) << "scale " << scale << " bit " << level;
      EXPECT_NEAR(chance[0][1], 0.19, 0.006) << "scale " << scale << " bit " << level;
      EXPECT_NEAR(chance[1][0], 0.19, 0.006) << "scale " << scale << " bit " << level;
      EXPECT_NEAR(chance[1][1], 0.05, 0.004) << "scale " << scale << " bit " << level;
    }
  }
}

TEST(Generate, SpacesDenseRowsEvenly) {
  const auto a = gen::dense_rows<double>(100, 3, 4);
  expect_proper(a);
  for (index i = 0; i < 100; ++i) EXPECT_EQ(a.row_length(i), i % 25 == 0 ? 100 : 3) << i;
  const auto uneven = gen::dense_rows<double>(10, 0, 3);
  EXPECT_TRUE(same(uneven.row_begin, {0, 10, 10, 10, 10, 20, 20, 20, 30, 30, 30}));
  EXPECT_EQ(gen::dense_rows<double>(5, 1, 9).nnz(), 25);
  EXPECT_EQ(gen::dense_rows<double>(5, 1, 0).nnz(), 5);
}

TEST(Generate, LeavesAllButEveryTenthRowEmpty) {
  const auto a = gen::empty_rows<double>(95, 16, 10);
  expect_proper(a);
  for (index i = 0; i < 95; ++i) EXPECT_EQ(a.row_length(i), i % 10 == 0 ? 16 : 0) << i;
}

TEST(Generate, GivesRowsTheLengthsAsked) {
  const std::vector<index> lengths{0, 5, 1, 0, 9, 10};
  const auto a = gen::row_lengths<double>(10, lengths);
  expect_proper(a);
  EXPECT_EQ(a.rows, 6);
  EXPECT_EQ(a.cols, 10);
  EXPECT_TRUE(same(a.row_begin, {0, 0, 5, 6, 6, 15, 25}));
}

TEST(Generate, RefusesRowsLongerThanTheMatrixIsWide) {
  const std::vector<index> lengths{1, 11};
  EXPECT_EQ(message_of<nz::shape_error>([&] { gen::row_lengths<double>(10, lengths); }),
            "row_lengths: row 2, counted from 1, cannot have 11 entries among 10 columns");
}

TEST(Generate, RefusesAnRmatScalePastThirty) {
  EXPECT_THROW(gen::rmat<double>(31, 1), nz::shape_error);
  EXPECT_THROW(gen::rmat<double>(64, 1), nz::shape_error);
}

/// Terabytes, of each generator, or of its sizes where they overflow 32 bits.
TEST(Generate, RefusesWhatMemoryDoesNotHoldBeforeItAllocates) {
  const auto expect_refusal = [](const auto& make) { EXPECT_THROW(make(), nz::not_enough_memory); };
  constexpr index many = 2'000'000'000;
  expect_refusal([] { gen::uniform<double>(many, many, 10'000); });
  expect_refusal([] { gen::dense_rows<double>(many, 4, 10'000); });
  expect_refusal([] { gen::empty_rows<double>(many, 100'000, 10); });
  expect_refusal([] { gen::banded<double>(many, 10'000); });
  expect_refusal([] { gen::fem_blocks<double>(800, 800, 1000); });
  expect_refusal([] { gen::rmat<double>(30, 10'000); });
  try {
    gen::from_spec<float>("uniform:2000000000:10000");
    FAIL();
  } catch (const std::bad_alloc& e) {
    EXPECT_TRUE(
        std::string(e.what()).starts_with("uniform:2000000000:10000: out of memory: a matrix of 2000000000 "
                                          "rows and 20000000000000 entries takes"))
        << e.what();
  }
}

TEST(Generate, RefusesMoreEntriesThanAnyMemoryHolds) {
  EXPECT_EQ(message_of<nz::shape_error>([] { gen::uniform<double>(1 << 18, most, most); }),
            "562949953159168 entries are more than any memory holds");
}

}  // namespace
