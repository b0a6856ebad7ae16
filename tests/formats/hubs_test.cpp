#include <bit>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <nonzero/formats/hubs.hpp>
#include <nonzero/io/generate.hpp>

#include "tests/formats/hostile.hpp"
#include "tests/formats/identical.hpp"
#include "tests/formats/packing_matrices.hpp"

namespace {

using nz::array;
using nz::csr;
using nz::hubs;
using nz::hubs_values;
using nz::index;
using nz::offset;

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

csr<double> rows_of(index cols, const std::vector<std::vector<index>>& rows) {
  csr<double> a{static_cast<index>(rows.size()), cols, {0}, {}, {}};
  for (const auto& row : rows) {
    for (const index j : row) {
      a.col.push_back(j);
      a.val.push_back(1.0 / static_cast<double>(a.col.size() + 2));
    }
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  return a;
}

/// The matrix with the entries of each row in the order of columns, equal ones as they were.
template <class V> csr<V> with_sorted_rows(csr<V> a) {
  for (index i = 0; i < a.rows; ++i) {
    std::vector<std::pair<index, V>> row;
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) row.emplace_back(a.col[k], a.val[k]);
    std::stable_sort(row.begin(), row.end(), [](const auto& p, const auto& q) { return p.first < q.first; });
    for (std::size_t k = 0; k < row.size(); ++k) {
      a.col[a.row_begin[i] + static_cast<offset>(k)] = row[k].first;
      a.val[a.row_begin[i] + static_cast<offset>(k)] = row[k].second;
    }
  }
  return a;
}

// Columns 3 (three times), then 1 and 4 (twice) are used most; two of them are hubs.
TEST(Hubs, AreTheColumnsUsedMostAndVirtualRowsAreSortedByWhatElseTheyHave) {
  const auto a = rows_of(6, {{1, 3}, {0, 2, 4}, {}, {3}, {1, 3, 4, 5}});
  const auto b = to_hubs(a, {.most_hubs = 2}, no_limit);
  validate(b);
  EXPECT_EQ(b.hub, (array<index>{3, 1}));
  EXPECT_EQ(b.target, (array<index>{1, 4, 0, 3, 2}));
  EXPECT_EQ(b.rest_length, (array<std::uint8_t>{3, 2, 0, 0, 0}));
  EXPECT_EQ(b.hub_length, (array<std::uint8_t>{0, 2, 2, 1, 0}));
  ASSERT_EQ(b.slices.size(), 1U);
  EXPECT_EQ(b.slices[0].hub_steps, 2);
  EXPECT_EQ(b.slices[0].rest_steps, 3);
  EXPECT_EQ(b.slices[0].values, hubs_values::coded);
  EXPECT_EQ(b.hub_number[2], 1);       // row 0: column 1,
  EXPECT_EQ(b.hub_number[32 + 2], 0);  // then column 3
  EXPECT_EQ(b.rest_col[0], 0);
  EXPECT_EQ(b.rest_col[32], 2);
  EXPECT_EQ(b.rest_col[64], 4);
  EXPECT_EQ(b.rest_col[1], 4);
  EXPECT_EQ(b.rest_col[33], 5);
  EXPECT_EQ(b.rest_col[65], 0);  // padding
  expect_identical(to_csr(b), a);
}

TEST(Hubs, AreNoneWhereTheyWouldHoldTooLittle) {
  std::vector<std::vector<index>> rows(64);
  for (index i = 0; i < 64; ++i) rows[static_cast<std::size_t>(i)] = {i, 64 + i, 128 + i, 192 + i};
  const auto a = rows_of(256, rows);
  EXPECT_EQ(to_hubs(a, {.most_hubs = 31}).hub.size(), 0U);
  EXPECT_EQ(to_hubs(a, {.most_hubs = 32}).hub.size(), 32U);
  EXPECT_EQ(to_hubs(a, {.most_hubs = 31, .worth_one_in = 9}).hub.size(), 31U);
  EXPECT_EQ(to_hubs(a, {.most_hubs = 0}).hub.size(), 0U);
  EXPECT_EQ(to_hubs(a, {.most_hubs = 1000}).hub.size(), 256U);
  EXPECT_TRUE(to_hubs(a, {.most_hubs = 1000}).rest_col.empty());
}

TEST(Hubs, NumberHubsIn16Bits) {
  const auto a = nz::generate::diagonal<double>(70000);
  const auto b = to_hubs(a, {.most_hubs = 100000});
  validate(b);
  EXPECT_EQ(b.hub.size(), 65536U);
  expect_identical(to_csr(b), a);
}

TEST(Hubs, CutRowsOfMoreThan128EntriesIntoPiecesThatTakeThemInTurns) {
  const std::vector<index> lengths{128, 129, 3, 300, 0};
  const auto a = nz::generate::row_lengths<double>(1000, lengths, 7);
  const auto b = to_hubs(a, {.most_hubs = 0}, no_limit);
  validate(b);
  EXPECT_EQ(b.split_row, (array<index>{1, 3}));
  EXPECT_EQ(b.segment_begin, (array<offset>{0, 2, 5}));
  EXPECT_EQ(b.target, (array<index>{0, -3, -4, -5, -1, -2, 2, 4}));
  EXPECT_EQ(b.rest_length, (array<std::uint8_t>{128, 100, 100, 100, 65, 64, 3, 0}));
  for (index p = 0; p < 3; ++p) {  // of the row of 300: each has every third entry
    offset k = a.row_begin[3] + p;
    for_each_rest_entry(b, 1 + p, [&](index col, double) {
      EXPECT_EQ(col, a.col[k]);
      k += 3;
    });
  }
  expect_identical(to_csr(b), a);
}

TEST(Hubs, ChooseTheShortestKindOfValuesThatIsExactForEachSlice) {
  // Rows of 2 first, then rows of 1: a slice each. The dictionary is for all of the matrix.
  const auto kinds_of = [](const auto& value, index more_values = 0) {
    csr<double> a{64 + more_values, 40, {0}, {}, {}};
    for (index i = 0; i < a.rows; ++i) {
      for (index k = 0; k < (i < 32 ? 2 : 1); ++k) {
        a.col.push_back(i % 39 + k);
        a.val.push_back(i < 64 ? value(i, k) : 1.0 / (i + 5));
      }
      a.row_begin.push_back(static_cast<offset>(a.col.size()));
    }
    const auto b = to_hubs(a);
    validate(b);
    expect_identical(to_csr(b), a);
    return std::pair(b.slices.at(0).values, b.slices.at(1).values);
  };
  const auto first_is = [](double first, double other) {
    return [=](index i, index) { return i == 0 ? first : other; };
  };
  const auto nan_with = [](std::uint64_t payload) {
    return std::bit_cast<double>(std::uint64_t{0x7ff8} << 48 | payload);
  };
  using kinds = std::pair<hubs_values, hubs_values>;
  constexpr auto one = hubs_values::one, coded = hubs_values::coded, single = hubs_values::single,
                 full = hubs_values::full;
  EXPECT_EQ(kinds_of(first_is(3, 3)), kinds(one, one));
  EXPECT_EQ(kinds_of(first_is(3, 4)), kinds(coded, one));
  EXPECT_EQ(kinds_of(first_is(0.0, -0.0)), kinds(coded, one));
  EXPECT_EQ(kinds_of(first_is(nan_with(1), nan_with(2))), kinds(coded, one));
  EXPECT_EQ(kinds_of(first_is(3, 4), 300), kinds(single, one));
  EXPECT_EQ(kinds_of(first_is(0.1, 4), 300), kinds(full, one));
  EXPECT_EQ(kinds_of(first_is(nan_with(1), 4), 300), kinds(full, one));
  EXPECT_EQ(kinds_of([](index i, index k) { return i + 64.0 * k; }), kinds(coded, coded));
  EXPECT_EQ(kinds_of([](index i, index k) { return i + 64.0 * k; }, 160), kinds(coded, coded));
  EXPECT_EQ(kinds_of([](index i, index k) { return i + 64.0 * k; }, 161), kinds(single, single));
}

TEST(Hubs, RefusePaddingPastTheBudget) {
  csr<double> a = rows_of(200, {{}, {}});
  for (index i = 0; i < 40; ++i) a.row_begin.push_back(0);
  a.rows = 42;
  for (index j = 0; j < 128; ++j) {
    a.col.push_back(j);
    a.val.push_back(1.0 / (j + 2));
  }
  a.row_begin.back() = 128;
  try {
    to_hubs(a, {.most_hubs = 0}, {2.0});
    FAIL();
  } catch (const nz::unsupported& e) {
    EXPECT_NE(std::string(e.what()).find("hubs would take"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("past the padding budget of 2 times csr"), std::string::npos);
  }
  expect_identical(to_csr(to_hubs(a, {}, no_limit)), a);
}

TEST(Hubs, OfAPowerLawHaveLittlePadding) {
  const auto a = nz::generate::rmat<double>(14, 8);
  const auto b = to_hubs(a, {.most_hubs = 500});
  validate(b);
  expect_identical(to_csr(b), with_sorted_rows(a));
  EXPECT_LT(footprint_of(b).padding_bytes * 6, footprint_of(b).bytes);
}

template <class V> class HubsConversions : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(HubsConversions, precisions);

TYPED_TEST(HubsConversions, ThereAndBackLoseNothing) {
  auto matrices = battery::matrices<TypeParam>();
  for (auto& m : packing_matrices<TypeParam>()) matrices.push_back(std::move(m));
  for (const auto& [name, unsorted] : matrices) {
    SCOPED_TRACE(name);
    const auto a = with_sorted_rows(unsorted);
    for (const index most : {24320, 100, 1, 0}) {
      const auto there = to_hubs(a, {.most_hubs = most, .worth_one_in = 1000}, no_limit);
      validate(there);
      expect_identical(to_csr(there), a);
    }
    const auto there = to_hubs(unsorted, {}, no_limit);
    validate(there);
    EXPECT_EQ(footprint_of(there), hubs_footprint(unsorted));
    EXPECT_EQ(to_csr(there).row_begin, a.row_begin);
  }
}

/// Three slices: a long row in segments, rows of rest and hub entries, of hub entries, and empty ones.
csr<double> for_breaking(bool with_few_values) {
  std::vector<std::vector<index>> rows(70);
  for (index j = 0; j < 200; ++j) rows[2].push_back(j);
  for (std::size_t i = 3; i < 60; ++i) {
    rows[i].push_back(1);
    if (i % 3 != 0) rows[i].push_back(static_cast<index>(2 + i));
    if (i % 7 == 0) rows[i].push_back(static_cast<index>(70 + i));
  }
  auto a = rows_of(200, rows);
  for (std::size_t k = 0; k < a.val.size() && with_few_values; ++k) a.val[k] = static_cast<double>(k % 3);
  return a;
}

TEST(Hubs, ValidateNamesTheInvariantThatIsBroken) {
  using matrix = hubs<double>;
  const auto break_it = [](bool with_few_values, const auto& how, const std::string& reason) {
    auto a = to_hubs(for_breaking(with_few_values), {.most_hubs = 3}, no_limit);
    validate(a);
    how(a);
    expect_refused(a, "hubs: " + reason);
  };
  const auto with = [&](const auto& how, const std::string& reason) { break_it(false, how, reason); };
  with([](matrix& a) { a.rows = -1; }, "a size of -1 x 200 is negative");
  with([](matrix& a) { a.hub[1] = 200; }, "hub is 200 at position 2 (counted from 1), outside 0 to 199");
  with([](matrix& a) { a.hub[1] = a.hub[0]; }, "hub names 1 twice");
  with([](matrix& a) { a.hub.resize(65537, 0); }, "65537 hubs are more than 65536");
  with([](matrix& a) { a.hub.pop_back(); }, "hub_number");
  with([](matrix& a) { a.split_row[0] = 70; },
       "split_row is 70 at position 1 (counted from 1), outside 0 to 69");
  with([](matrix& a) { a.split_row = {2, 2}; }, "segment_begin is 2 long instead of 3");
  with([](matrix& a) { a.segment_begin[0] = 1; }, "segment_begin does not start at 0");
  with([](matrix& a) { a.segment_begin[1] = 0; }, "row 2 has no segments");
  with([](matrix& a) { a.segment_begin[1] = 72; }, "72 segments are more than the 71 virtual rows");
  with([](matrix& a) { a.segment_begin[1] = 3; }, "target is 71 long instead of 72");
  with(
      [](matrix& a) {
        a.split_row = {2, 1};
        a.segment_begin = {0, 1, 2};
      },
      "split_row does not rise from 2 to 1 at position 2 (counted from 1)");
  with([](matrix& a) { a.target[5] = 70; }, "target[5] is 70, outside -2 to 69");
  with([](matrix& a) { a.target[5] = -3; }, "target[5] is -3, outside -2 to 69");
  with([](matrix& a) { a.target[5] = a.target[4]; }, "target[5] is ");
  with([](matrix& a) { a.target[5] = 2; }, "target[5] is 2, which has its virtual rows");
  with([](matrix& a) { a.hub_length.pop_back(); }, "hub_length is 70 long instead of 71");
  with([](matrix& a) { a.rest_length.push_back(0); }, "rest_length is 72 long instead of 71");
  with([](matrix& a) { a.hub_length[0] = 60; }, "virtual row 0 has 60 + ");
  with([](matrix& a) { --a.rest_length[0]; }, "segment 0 of row 2 has 99 entries instead of 100");
  with([](matrix& a) { a.slices.pop_back(); }, "slices is 2 long instead of 3");
  with([](matrix& a) { a.rest_length[40] = 9; }, "slice 1 has ");
  with([](matrix& a) { ++a.slices[1].hub_steps; }, "slice 1 has ");
  with([](matrix& a) { ++a.slices[1].hub_step; }, "slice 1 starts at steps ");
  with([](matrix& a) { ++a.slices[1].rest_step; }, "slice 1 starts at steps ");
  with([](matrix& a) { a.slices[1].values = hubs_values{4}; }, "slice 1 has an unknown kind of values");
  with([](matrix& a) { a.slices[2].values = hubs_values::one; }, "slice 2 has a value but no entries");
  with([](matrix& a) { ++a.slices[1].value; }, "slice 1 has its values at ");
  with([](matrix& a) { a.hub_number.pop_back(); }, "hub_number is ");
  with([](matrix& a) { a.rest_col.push_back(0); }, "rest_col is ");
  with([](matrix& a) { a.constant.push_back(0); }, "constant is ");
  with([](matrix& a) { a.coded_value.push_back(0); }, "coded_value is ");
  with([](matrix& a) { a.single_value.push_back(0); }, "single_value is ");
  with([](matrix& a) { a.full_value.push_back(0); }, "full_value is ");
  with([](matrix& a) { a.rest_col.back() = 200; }, "rest_col is 200 at position");
  with([](matrix& a) { a.hub_number[7] = 3; }, "hub_number[7] is 3, but there are 3 hubs");
  break_it(
      true, [](matrix& a) { a.coded_value[9] = 3; }, "coded_value[9] is 3, but the dictionary has 3");
  break_it(
      true, [](matrix& a) { a.dictionary.resize(257); }, "dictionary is 257 long, more than 256");
}

TEST(Hubs, AreRefusedOrHarmlessWhateverTheirNumbersAre) {
  for (const bool with_few_values : {false, true}) {
    auto b = to_hubs(for_breaking(with_few_values), {.most_hubs = 3}, no_limit);
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
    const auto try_all = [&](auto& numbers) {
      for (auto& number : numbers) try_hostile(number, is_harmless);
    };
    try_all(b.hub);
    try_all(b.split_row);
    try_all(b.segment_begin);
    try_all(b.target);
    try_all(b.hub_length);
    try_all(b.rest_length);
    try_all(b.coded_value);
    for (std::size_t k = 0; k < 64; ++k) {
      try_hostile(b.hub_number[k], is_harmless);
      try_hostile(b.rest_col[k], is_harmless);
    }
    for (auto& slice : b.slices) {
      try_hostile(slice.hub_step, is_harmless);
      try_hostile(slice.rest_step, is_harmless);
      try_hostile(slice.value, is_harmless);
      try_hostile(slice.hub_steps, is_harmless);
      try_hostile(slice.rest_steps, is_harmless);
    }
  }
}

}  // namespace
