#include <bit>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/formats/warp_packed.hpp>
#include <nonzero/io/generate.hpp>

#include "tests/formats/hostile.hpp"
#include "tests/formats/identical.hpp"
#include "tests/formats/packing_matrices.hpp"

namespace {

using nz::array;
using nz::csr;
using nz::index;
using nz::offset;
using nz::packed_values;
using nz::warp_packed;

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

double neither(index row, index k) { return row + k / 3.0; }
double by_diagonal(index, index k) { return k / 3.0; }

/// Row i has lengths[i] entries; no two rows look the same, nor do two values.
csr<double> without_pattern(const std::vector<index>& lengths, index cols) {
  csr<double> a{static_cast<index>(lengths.size()), cols, {0}, {}, {}};
  for (index i = 0; i < a.rows; ++i) {
    for (index k = 0; k < lengths[static_cast<std::size_t>(i)]; ++k) {
      a.col.push_back(static_cast<index>((offset{i} * i * 31 + offset{k} * 97 + offset{k} * i * 7) % cols));
      a.val.push_back(1.0 / static_cast<double>(a.col.size() + 2));
    }
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  return a;
}

// 100 rows of -1 2 -1: the first misses its first, the last its last, and the last slice has four rows.
TEST(WarpPacked, HoldsA1DPoissonMatrixAsThreePatternsAndNoValues) {
  const auto a = to_warp_packed(nz::generate::poisson_1d<double>(100));
  validate(a);
  EXPECT_TRUE(a.row.empty());
  EXPECT_EQ(a.pattern, (array<index>{0, 1, 1, 2}));
  EXPECT_EQ(a.value, (array<offset>{0, 0, 0, 0}));
  ASSERT_EQ(a.steps.size(), 9U);
  for (std::size_t p = 0; p < 3; ++p) {
    EXPECT_EQ(a.patterns[p].step, static_cast<offset>(3 * p));
    EXPECT_EQ(a.patterns[p].steps, 3);
    EXPECT_EQ(a.patterns[p].width, 0);
    EXPECT_EQ(a.patterns[p].values, packed_values::one);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(a.steps[3 * p + k].column, static_cast<index>(k) - 1);
      EXPECT_EQ(a.steps[3 * p + k].value, k == 1 ? 2 : -1);
    }
  }
  EXPECT_EQ(a.steps[0].mask, 0xfffffffeU);
  EXPECT_EQ(a.steps[1].mask, 0xffffffffU);
  EXPECT_EQ(a.steps[7].mask, 0xfU);
  EXPECT_EQ(a.steps[8].mask, 0x7U);
  EXPECT_TRUE(a.offsets.empty() && a.single_value.empty() && a.full_value.empty());
  EXPECT_EQ(footprint_of(a).padding_bytes, 0U);
}

TEST(WarpPacked, HoldsTheValuesOfABandStepByStep) {
  const auto a = to_warp_packed(band<double>(40, 100, {0, 7}, neither));
  validate(a);
  EXPECT_EQ(a.pattern, (array<index>{0, 1}));
  EXPECT_EQ(a.patterns[0].width, 0);
  EXPECT_EQ(a.patterns[0].values, packed_values::full);
  EXPECT_EQ(a.value, (array<offset>{0, 2}));
  ASSERT_EQ(a.full_value.size(), 4U * 32);
  for (index s = 0; s < 2; ++s)
    for (index k = 0; k < 2; ++k)
      for (index l = 0; l < 32; ++l)
        EXPECT_EQ(a.full_value[(s * 2 + k) * 32 + l], s * 32 + l < 40 ? neither(s * 32 + l, k) : 0);
  EXPECT_EQ(footprint_of(a).padding_bytes, 0U);  // lanes without a row are none
}

TEST(WarpPacked, SharesWhatIsNoDiagonalToo) {
  // Three rows of the same columns, then three of the next: slices of 96 rows are the same again.
  csr<double> a{96 * 3, 96 * 3 + 100, {0}, {}, {}};
  for (index i = 0; i < a.rows; ++i) {
    for (const index k : {0, 1, 2, 30, 31, 32}) a.col.push_back(i / 3 * 3 + k);
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  for (std::size_t k = 0; k < a.col.size(); ++k) a.val.push_back(1.0 / static_cast<double>(k + 2));
  const auto b = to_warp_packed(a);
  validate(b);
  EXPECT_EQ(b.pattern, (array<index>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
  for (const auto& p : b.patterns) {
    EXPECT_EQ(p.steps, 6);
    EXPECT_EQ(p.width, 1);
  }
  EXPECT_EQ(b.offsets.size(), 3U * 6 * 32);
  EXPECT_EQ(b.full_value.size(), a.val.size());
  expect_identical(to_csr(b), a);
}

TEST(WarpPacked, TellsPatternsApartByColumnsMasksValuesAndOffsets) {
  const auto patterns_of = [](const csr<double>& a) {
    const auto b = to_warp_packed(a, no_limit);
    validate(b);
    expect_identical(to_csr(b), a);
    return b.patterns.size();
  };
  csr<double> a = band<double>(64, 100, {0, 7}, by_diagonal);
  EXPECT_EQ(patterns_of(a), 1U);
  for (std::size_t k = 64; k < 128; k += 2) a.val[k] = -0.0;  // of the second slice's first diagonal
  EXPECT_EQ(patterns_of(a), 2U);
  a = band<double>(64, 100, {0, 7}, by_diagonal);
  a.col.back() = 99;
  EXPECT_EQ(patterns_of(a), 2U);
  EXPECT_EQ(patterns_of(with_strangers(band<double>(64, 100, {0, 7}, by_diagonal), {40}, {})), 2U);
}

TEST(WarpPacked, ChoosesTheShortestKindOfValuesThatIsExact) {
  const auto kind_of = [](const auto& value) {
    const auto a = to_warp_packed(band<double>(32, 100, {0, 7}, value));
    validate(a);
    return a.patterns.at(0).values;
  };
  const auto once = [](double first, double other) {
    return [=](index row, index k) { return row == 0 && k == 0 ? first : other; };
  };
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto nan_with = [](std::uint64_t payload) {
    return std::bit_cast<double>(std::uint64_t{0x7ff8} << 48 | payload);
  };
  EXPECT_EQ(kind_of(by_diagonal), packed_values::one);
  EXPECT_EQ(kind_of(once(nan_with(1), nan_with(1))), packed_values::one);
  EXPECT_EQ(kind_of(once(1, 2)), packed_values::single);
  EXPECT_EQ(kind_of(once(0.0, -0.0)), packed_values::single);
  EXPECT_EQ(kind_of(once(inf, -inf)), packed_values::single);
  EXPECT_EQ(kind_of(once(0.1, 1)), packed_values::full);
  EXPECT_EQ(kind_of(once(5e-324, 1)), packed_values::full);
  EXPECT_EQ(kind_of(once(nan_with(1), 1)), packed_values::full);
}

TEST(WarpPacked, HoldsOffsetsInTheFewestBytesThatHoldTheWidestStep) {
  const auto width_of = [](index apart) {
    csr<double> a{32, apart + 40, {0}, {}, {}};
    for (index i = 0; i < 32; ++i) {
      a.col.push_back(i % 2 == 0 ? 5 : 5 + apart);
      a.val.push_back(1.0 / (i + 2));
      a.row_begin.push_back(i + 1);
    }
    const auto b = to_warp_packed(a);
    validate(b);
    expect_identical(to_csr(b), a);
    return b.patterns.at(0).width;
  };
  EXPECT_EQ(width_of(255), 1);
  EXPECT_EQ(width_of(256), 2);
  EXPECT_EQ(width_of(65535), 2);
  EXPECT_EQ(width_of(65536), 4);
  EXPECT_EQ(width_of(std::numeric_limits<index>::max() - 40), 4);
}

TEST(WarpPacked, SortsOnlyWindowsOfUnequalRows) {
  std::vector<index> lengths(3 * 1024, 6);
  for (std::size_t i = 1024; i < 2048; i += 2) lengths[i] = 1;
  const csr<double> a = without_pattern(lengths, 500);
  const auto b = to_warp_packed(a);
  validate(b);
  ASSERT_EQ(b.row.size(), lengths.size());
  for (index p = 0; p < 1024; ++p) {
    EXPECT_EQ(b.row[p], p);
    EXPECT_EQ(b.row[p + 1024], p < 512 ? 1025 + 2 * p : 1024 + 2 * (p - 512));
    EXPECT_EQ(b.row[p + 2048], p + 2048);
  }
  EXPECT_EQ(footprint_of(b).padding_bytes, 0U);
  expect_identical(to_csr(b), a);
  EXPECT_TRUE(to_warp_packed(without_pattern(std::vector<index>(3000, 6), 500)).row.empty());
}

TEST(WarpPacked, RefusesPaddingPastTheBudget) {
  // Two rows of 2,000 entries, on the same diagonals, among 30 empty ones.
  csr<double> a{32, 2100, array<offset>(33, 4000), array<index>(4000), array<double>(4000)};
  a.row_begin[0] = 0;
  a.row_begin[1] = 2000;
  for (index k = 0; k < 4000; ++k) {
    a.col[k] = k < 2000 ? k : k - 1999;
    a.val[k] = 1.0 / (k + 2);
  }
  try {
    to_warp_packed(a);
    FAIL();
  } catch (const nz::unsupported& e) {
    EXPECT_NE(std::string(e.what()).find("warp_packed would take"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("past the padding budget of 4 times csr"), std::string::npos);
  }
  expect_identical(to_csr(to_warp_packed(a, no_limit)), a);
}

TEST(WarpPacked, ShareThePatternsOfALargeStencilWithOddRows) {
  const csr<double> a = with_strangers(nz::generate::poisson_2d<double>(150, 150), {7, 9000, 20000}, {3, 40});
  const auto b = to_warp_packed(a);
  EXPECT_LT(b.patterns.size(), 200U);
  expect_identical(to_csr(b), a);
}

template <class V> class WarpPackedConversion : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(WarpPackedConversion, precisions);

TYPED_TEST(WarpPackedConversion, ThereAndBackLoseNothing) {
  auto matrices = battery::matrices<TypeParam>();
  for (auto& m : packing_matrices<TypeParam>()) matrices.push_back(std::move(m));
  for (const auto& [name, a] : matrices) {
    SCOPED_TRACE(name);
    validate(a);
    const auto there = to_warp_packed(a, no_limit);
    validate(there);
    EXPECT_EQ(footprint_of(there), warp_packed_footprint(a));
    expect_identical(to_csr(there), a);
  }
}

TEST(WarpPacked, ValidateNamesTheInvariantThatIsBroken) {
  using matrix = warp_packed<double>;
  const auto break_it = [](auto a, const auto& how, const std::string& reason) {
    validate(a);
    how(a);
    expect_refused(a, "warp_packed: " + reason);
  };
  // Rows 0 to 39 in two slices and two patterns of two diagonals, with full values.
  const auto of_band = [&](const auto& how, const std::string& reason) {
    break_it(to_warp_packed(band<double>(40, 47, {0, 7}, neither)), how, reason);
  };
  of_band([](matrix& a) { a.rows = -1; }, "a size of -1 x 47 is negative");
  of_band([](matrix& a) { a.row = {0, 1}; }, "row is 2 long instead of 40");
  of_band([](matrix& a) { a.row.assign(40, 0); }, "row");
  of_band([](matrix& a) { a.pattern.pop_back(); }, "pattern is 1 long instead of 2");
  of_band([](matrix& a) { a.value.push_back(0); }, "value is 3 long instead of 2");
  of_band([](matrix& a) { a.pattern[1] = 2; }, "pattern[1] is 2, outside 0 to 1");
  of_band([](matrix& a) { a.pattern[1] = -1; }, "pattern[1] is -1, outside 0 to 1");
  of_band([](matrix& a) { a.pattern[1] = 0; }, "slice 1 has entries in lane 31, which has no row");
  of_band([](matrix& a) { a.patterns[1].width = 3; }, "pattern 1 has offsets of 3 bytes");
  of_band([](matrix& a) { a.patterns[1].values = packed_values{3}; },
          "pattern 1 has an unknown kind of values");
  of_band([](matrix& a) { a.patterns[1].step = 1; },
          "pattern 1 starts at step 1 and offset 0 instead of 2 and 0");
  of_band([](matrix& a) { a.patterns[1].offsets = 1; },
          "pattern 1 starts at step 2 and offset 1 instead of 2 and 0");
  of_band([](matrix& a) { a.patterns[1].steps = 3; }, "pattern 1 has 3 steps from 2 on, of 4");
  of_band([](matrix& a) { a.patterns[1].steps = -1; }, "pattern 1 has -1 steps");
  of_band([](matrix& a) { a.patterns[1].steps = 1; }, "steps is 4 long instead of 3");
  of_band([](matrix& a) { a.patterns[1].width = 1; }, "pattern 1 has more offsets than the 0 that there are");
  of_band([](matrix& a) { a.offsets.assign(32, 0); }, "offsets is 32 long instead of 0");
  of_band([](matrix& a) { a.steps[3].mask = 0; }, "step 3 has no lanes");
  of_band([](matrix& a) { a.steps[3].mask = 0x100; }, "slice 1 has entries in lane 8, which has no row");
  of_band([](matrix& a) { a.steps[0].column = -1; }, "slice 0 has the columns -1 to 38, outside 0 to 46");
  of_band([](matrix& a) { a.steps[3].column = 8; }, "slice 1 has the columns 32 to 47, outside 0 to 46");
  of_band([](matrix& a) { a.value[1] = 1; }, "value[1] is 1 instead of 2");
  of_band([](matrix& a) { a.full_value.pop_back(); }, "full_value is 127 long instead of 32 for each of 4");
  of_band([](matrix& a) { a.single_value.assign(32, 0); },
          "single_value is 32 long instead of 32 for each of 0");
  const auto constants = to_warp_packed(nz::generate::poisson_1d<double>(40));
  break_it(
      constants, [](matrix& a) { a.value[0] = 1; }, "value[0] is 1 instead of 0");
}

TEST(WarpPacked, IsRefusedOrHarmlessWhateverItsNumbersAre) {
  std::vector<index> lengths(70, 3);
  for (std::size_t i = 0; i < lengths.size(); i += 3) lengths[i] = 1;
  for (const csr<double>& a : {nz::generate::poisson_1d<double>(70), band<double>(70, 80, {0, 4}, neither),
                               without_pattern(lengths, 200), without_pattern(lengths, 70000)}) {
    warp_packed<double> b = to_warp_packed(a);
    const auto is_harmless = [&] {
      try {
        validate(b);
      } catch (const nz::shape_error&) {
        return;
      }
      validate(to_csr(b));
    };
    try_hostile(b.rows, is_harmless);
    try_hostile(b.cols, is_harmless);
    for (auto& row : b.row) try_hostile(row, is_harmless);
    for (auto& pattern : b.pattern) try_hostile(pattern, is_harmless);
    for (auto& value : b.value) try_hostile(value, is_harmless);
    for (auto& pattern : b.patterns) {
      try_hostile(pattern.step, is_harmless);
      try_hostile(pattern.steps, is_harmless);
      try_hostile(pattern.offsets, is_harmless);
      try_hostile(pattern.width, is_harmless);
    }
    for (auto& step : b.steps) {
      try_hostile(step.column, is_harmless);
      try_hostile(step.mask, is_harmless);
    }
    for (auto& byte : b.offsets) try_hostile(byte, is_harmless);
  }
}

}  // namespace
