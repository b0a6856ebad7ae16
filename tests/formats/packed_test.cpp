#include <bit>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/formats/packed.hpp>
#include <nonzero/io/generate.hpp>

#include "tests/formats/hostile.hpp"
#include "tests/formats/identical.hpp"
#include "tests/formats/packing_matrices.hpp"

namespace {

using nz::array;
using nz::csr;
using nz::index;
using nz::offset;
using nz::packed;
using nz::packed_columns;
using nz::packed_values;

double neither(index row, index k) { return row + k / 3.0; }
double by_diagonal(index, index k) { return k / 3.0; }

// Rows 1 to 38 are -1 2 -1 around the diagonal; the first and the last miss one of them.
TEST(Packed, HoldsA1DPoissonMatrixAsOneRunBetweenTwoRows) {
  const auto a = to_packed(nz::generate::poisson_1d<double>(40));
  validate(a);
  ASSERT_EQ(a.slices.size(), 2U);
  ASSERT_EQ(a.runs.size(), 1U);
  EXPECT_EQ(a.runs[0].first_row, 1);
  EXPECT_EQ(a.runs[0].rows, 38);
  EXPECT_EQ(a.runs[0].width, 3);
  EXPECT_EQ(a.runs[0].values, packed_values::one);
  EXPECT_EQ(a.diagonal, (array<index>{-1, 0, 1}));
  EXPECT_EQ(a.constant, (array<double>{-1, 2, -1}));
  EXPECT_EQ(a.rest_row, (array<std::uint16_t>{0, 39}));
  EXPECT_EQ(a.rest_length, (array<index>{2, 2}));
  EXPECT_EQ(a.slices[0].columns, packed_columns::near);
  EXPECT_EQ(a.slices[0].first_column, 0);
  EXPECT_EQ(a.near_column, (array<std::uint16_t>{0, 1, 38, 39}));
  EXPECT_EQ(a.slices[0].values, packed_values::single);
  EXPECT_EQ(a.single_value, (array<float>{2, -1, -1, 2}));
  EXPECT_TRUE(a.far_column.empty());
  EXPECT_TRUE(a.full_value.empty());
}

TEST(Packed, HoldsTheRestByEightsLongestFirstAndThenWhatIsLeftOfEachRow) {
  // Rows of 1, 2, 1, …, 1 entries; no two have the same pattern: column row² and, in row 1, column 50 too.
  csr<double> a{9, 70, {0}, {}, {}};
  for (index i = 0; i < 9; ++i) {
    a.col.push_back(i * i);
    if (i == 1) a.col.push_back(50);
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  a.val.assign(10, 4);
  const auto b = to_packed(a);
  validate(b);
  EXPECT_TRUE(b.runs.empty());
  EXPECT_EQ(b.rest_row, (array<std::uint16_t>{1, 0, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(b.rest_length, (array<index>{2, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(b.near_column, (array<std::uint16_t>{1, 0, 4, 9, 16, 25, 36, 49, 50, 64}));
  EXPECT_EQ(b.slices[0].values, packed_values::one);
  EXPECT_EQ(b.constant, (array<double>{4}));
}

/// Rows of these columns; entry k of the matrix is k + 1/3.
csr<double> rows_of(index cols, const std::vector<std::vector<index>>& columns) {
  csr<double> a{static_cast<index>(columns.size()), cols, {0}, {}, {}};
  for (const auto& row : columns) {
    a.col.insert(a.col.end(), row.begin(), row.end());
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  for (std::size_t k = 0; k < a.col.size(); ++k) a.val.push_back(static_cast<double>(k) + 1 / 3.0);
  return a;
}

// Row 0 has a quad and column 9, row 1 none, row 2 two quads and nothing else, row 3 nothing.
TEST(Packed, HoldsFourEntriesInConsecutiveColumnsAsAQuad) {
  const csr<double> a = rows_of(20, {{2, 3, 4, 5, 9}, {7, 9}, {1, 2, 3, 4, 5, 6, 7, 8}, {}});
  const auto b = to_packed(a);
  validate(b);
  EXPECT_EQ(b.rest_row, (array<std::uint16_t>{1, 0, 2, 3}));
  EXPECT_EQ(b.rest_length, (array<index>{2, 1, 0, 0}));
  EXPECT_EQ(b.quad_row, (array<std::uint16_t>{2, 0}));
  EXPECT_EQ(b.quad_length, (array<index>{2, 1}));
  EXPECT_EQ(b.slices[0].first_column, 1);
  EXPECT_EQ(b.near_column, (array<std::uint16_t>{6, 8, 8, 0, 4, 1}));  // from column 1 on
  array<double> wanted;
  for (const int k : {5, 6, 4, 7, 8, 9, 10, 11, 12, 13, 14, 0, 1, 2, 3}) wanted.push_back(k + 1 / 3.0);
  EXPECT_EQ(b.full_value, wanted);
  expect_identical(to_csr(b), a);
}

TEST(Packed, HoldsTheQuadsOfEightRowsColumnByColumn) {
  std::vector<std::vector<index>> columns;
  for (index i = 0; i < 9; ++i) {
    columns.push_back({i * i, i * i + 1, i * i + 2, i * i + 3});
    if (i < 8)
      for (index e = 0; e < 4; ++e) columns.back().push_back(100 + 2 * i * i + e);
  }
  const auto b = to_packed(rows_of(300, columns));
  validate(b);
  EXPECT_EQ(b.quad_length, (array<index>{2, 2, 2, 2, 2, 2, 2, 2, 1}));
  EXPECT_EQ(b.near_column, (array<std::uint16_t>{0, 1, 4, 9, 16, 25, 36, 49,  //
                                                 100, 102, 108, 118, 132, 150, 172, 198, 64}));
}

TEST(Packed, HasQuadsWhereTheyHoldAQuarterOfARestWhoseColumnsRise) {
  const auto quads_in = [](const std::vector<std::vector<index>>& columns) {
    const csr<double> a = rows_of(100, columns);
    const auto b = to_packed(a);
    validate(b);
    expect_identical(to_csr(b), a);
    return b.quad_row.size();
  };
  const std::vector<index> four{1, 2, 3, 4}, six{10, 20, 30, 40, 50, 60};
  EXPECT_EQ(quads_in({four, six, six}), 1U);
  EXPECT_EQ(quads_in({four, six, six, {70}}), 0U);
  EXPECT_EQ(quads_in({{1, 3, 2, 4}}), 0U);
  EXPECT_EQ(quads_in({{1, 2, 2, 4}}), 0U);
  EXPECT_EQ(quads_in({{9, 1, 2, 3, 4}}), 0U);
  EXPECT_EQ(quads_in({{1, 2, 3, 5, 6, 7, 8}}), 1U);
}

TEST(Packed, HoldsTheValuesOfARunInBlocksOf16RowsColumnByColumn) {
  const auto a = to_packed(band<double>(17, 30, {0, 2}, neither));
  validate(a);
  ASSERT_EQ(a.runs.size(), 1U);
  EXPECT_EQ(a.runs[0].values, packed_values::full);
  array<double> wanted;
  for (index k = 0; k < 2; ++k)
    for (index i = 0; i < 16; ++i) wanted.push_back(neither(i, k));
  for (index k = 0; k < 2; ++k) wanted.push_back(neither(16, k));
  EXPECT_EQ(a.full_value, wanted);
  EXPECT_TRUE(a.rest_row.empty());
}

TEST(Packed, NeedsSixteenRowsForARun) {
  for (const index rows : {15, 16, 17}) {
    const auto a = to_packed(band<double>(rows, 100, {0, 7}, by_diagonal));
    validate(a);
    EXPECT_EQ(a.runs.size(), rows < 16 ? 0U : 1U) << rows;
    EXPECT_EQ(a.rest_row.size(), rows < 16 ? 15U : 0U) << rows;
  }
}

TEST(Packed, EndsRunsWithTheirSlice) {
  const csr<double> a = band<double>(2048, 2100, {0, 7}, by_diagonal);
  const auto b = to_packed(a);
  validate(b);
  ASSERT_EQ(b.runs.size(), 2U);
  EXPECT_EQ(b.runs[1].first_row, 1024);
  const index cut[] = {0, 10, 30, 45, 2048};  // 10 and 15 rows are too few
  const auto c = to_packed(a, cut, [](offset count, const auto& body) {
    for (offset i = count; i > 0; --i) body(i - 1);
  });
  validate(c);
  EXPECT_EQ(c.runs.size(), 2U);
  EXPECT_EQ(c.rest_row.size(), 25U);
  expect_identical(to_csr(c), a);
}

TEST(Packed, PassesOverAFewStrangersAndPutsThemIntoTheRest) {
  const csr<double> a = band<double>(100, 150, {0, 7}, by_diagonal);
  const auto runs_with = [&](const std::vector<index>& strangers) {
    const auto b = to_packed(with_strangers(a, strangers, {140, 3}));
    validate(b);
    EXPECT_EQ(b.rest_row, array<std::uint16_t>(strangers.begin(), strangers.end()));
    std::vector<std::pair<index, index>> out;
    for (const auto& run : b.runs) out.emplace_back(run.first_row, run.rows);
    return out;
  };
  using runs = std::vector<std::pair<index, index>>;
  EXPECT_EQ(runs_with({}), (runs{{0, 100}}));
  EXPECT_EQ(runs_with({50}), (runs{{0, 100}}));
  EXPECT_EQ(runs_with({50, 51, 52, 53}), (runs{{0, 100}}));
  EXPECT_EQ(runs_with({50, 51, 52, 53, 54}), (runs{{0, 50}, {55, 45}}));
  // Outside the first and last row, where its columns may be outside the matrix.
  EXPECT_EQ(runs_with({0, 99}), (runs{{1, 98}}));
}

// Of each 13 rows, three lack an entry, each on another diagonal.
TEST(Packed, HoldsRowsThatLackAFewEntriesAsARunWithHoles) {
  const auto a = to_packed(with_holes(band<double>(40, 60, {0, 2, 11}, neither)));
  validate(a);
  ASSERT_EQ(a.runs.size(), 1U);
  const nz::packed_run& run = a.runs[0];
  EXPECT_EQ(run.rows, 40);
  EXPECT_EQ(run.width, 3);
  EXPECT_EQ(a.diagonal, (array<index>{0, 2, 11}));
  EXPECT_EQ(run.values, packed_values::full);
  ASSERT_EQ(a.mask.size(), 9U);  // 40 rows are two blocks of 16 and the rest
  for (index i = 0; i < 40; ++i)
    for (index k = 0; k < 3; ++k) {
      const bool is_there = (i + a.diagonal[k]) % 13 != 5;
      EXPECT_EQ(a.mask[run.mask_of(i) + k] >> i % 16 & 1, is_there) << i << ' ' << k;
      EXPECT_EQ(a.full_value[run.places_of(i)[k]], is_there ? neither(i, k) : 0.0) << i << ' ' << k;
    }
  EXPECT_TRUE(a.rest_row.empty());
}

TEST(Packed, HoldsValuesThatAreTheSameOnADiagonalOnceInARunWithHoles) {
  const auto a = to_packed(with_holes(band<double>(40, 60, {0, 2, 11}, by_diagonal)));
  validate(a);
  ASSERT_EQ(a.runs.size(), 1U);
  EXPECT_EQ(a.runs[0].values, packed_values::one);
  EXPECT_EQ(a.constant, (array<double>{by_diagonal(0, 0), by_diagonal(0, 1), by_diagonal(0, 2)}));
  EXPECT_EQ(a.mask.size(), 9U);
}

// Of two diagonals, one row has the one, the next the other: the run would be half holes.
TEST(Packed, HasNoRunThatIsMostlyHoles) {
  csr<double> a{40, 60, {0}, {}, {}};
  for (index i = 0; i < 40; ++i) {
    a.col.push_back(i + (i % 2 == 0 ? 0 : 7));
    a.val.push_back(i);
    a.row_begin.push_back(i + 1);
  }
  const auto b = to_packed(a);
  validate(b);
  EXPECT_TRUE(b.runs.empty());
  EXPECT_TRUE(b.mask.empty());
}

TEST(Packed, ChoosesTheShortestKindOfValuesThatIsExact) {
  const auto kinds_of = [](const auto& value) {
    const auto run = to_packed(band<double>(20, 100, {0, 7}, value));
    const auto rest = to_packed(band<double>(5, 100, {0, 7}, value));
    validate(run);
    validate(rest);
    return std::pair(run.runs.at(0).values, rest.slices[0].values);
  };
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto nan_with = [](std::uint64_t payload) {
    return std::bit_cast<double>(std::uint64_t{0x7ff8} << 48 | payload);
  };
  const auto once = [](double first, double other) {
    return [=](index row, index k) { return row == 0 && k == 0 ? first : other; };
  };
  constexpr auto one = packed_values::one, single = packed_values::single, full = packed_values::full;
  EXPECT_EQ(kinds_of(once(0.1, 0.1)), std::pair(one, one));
  EXPECT_EQ(kinds_of([](index, index k) { return k / 3.0; }), std::pair(one, full));
  EXPECT_EQ(kinds_of(once(1, 2)), std::pair(single, single));
  EXPECT_EQ(kinds_of(once(0.0, -0.0)), std::pair(single, single));
  EXPECT_EQ(kinds_of(once(inf, -inf)), std::pair(single, single));
  EXPECT_EQ(kinds_of(once(0.1, 1)), std::pair(full, full));
  EXPECT_EQ(kinds_of(once(1e300, 1)), std::pair(full, full));
  EXPECT_EQ(kinds_of(once(5e-324, 1)), std::pair(full, full));
  EXPECT_EQ(kinds_of(once(nan_with(0), 1)), std::pair(single, single));
  EXPECT_EQ(kinds_of(once(nan_with(1), 1)), std::pair(full, full));  // a payload that floats have no room for
  EXPECT_EQ(kinds_of(once(nan_with(1), nan_with(1))), std::pair(one, one));
}

TEST(Packed, HoldsColumnsIn16BitsUpTo65535FromTheFirst) {
  const auto columns_of = [](index apart) {
    const csr<double> a{2, apart + 6, {0, 1, 2}, {5, 5 + apart}, {1, 1}};
    const auto b = to_packed(a);
    validate(b);
    expect_identical(to_csr(b), a);
    EXPECT_EQ(b.slices[0].first_column, 5);
    EXPECT_EQ(b.near_column.size() + b.far_column.size(), 2U);
    return b.slices[0].columns;
  };
  EXPECT_EQ(columns_of(65535), packed_columns::near);
  EXPECT_EQ(columns_of(65536), packed_columns::far);
  EXPECT_EQ(columns_of(std::numeric_limits<index>::max() - 6), packed_columns::far);
}

TEST(Packed, HasNoConstantWhereASliceHasNoEntries) {
  const auto a = to_packed(csr<float>{3, 3, {0, 0, 0, 0}, {}, {}});
  validate(a);
  EXPECT_EQ(a.rest_row.size(), 3U);
  EXPECT_NE(a.slices[0].values, packed_values::one);
  validate(packed<float>());
  validate(to_packed(csr<float>()));
}

template <class V> class PackedConversions : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(PackedConversions, precisions);

TYPED_TEST(PackedConversions, ThereAndBackLoseNothing) {
  auto matrices = battery::matrices<TypeParam>();
  for (auto& m : packing_matrices<TypeParam>()) matrices.push_back(std::move(m));
  for (const auto& [name, a] : matrices) {
    SCOPED_TRACE(name);
    validate(a);
    const auto there = to_packed(a);
    validate(there);
    EXPECT_EQ(footprint_of(there), packed_footprint(a));
    expect_identical(to_csr(there), a);
  }
}

// One slice: row 0 and row 39 are the rest, the others a run of constants; in single precision.
const packed<double> example = to_packed(nz::generate::poisson_1d<double>(40));

TEST(Packed, ValidateNamesTheInvariantThatIsBroken) {
  const auto break_it = [](auto a, const auto& how, const std::string& reason) {
    validate(a);
    how(a);
    expect_refused(a, "packed: " + reason);
  };
  using matrix = packed<double>;
  const auto of_example = [&](const auto& how, const std::string& reason) { break_it(example, how, reason); };
  of_example([](matrix& a) { a.rows = -1; }, "a size of -1 x 40 is negative");
  of_example([](matrix& a) { a.rest_length.pop_back(); }, "rest_length is 1 long instead of 2");
  of_example([](matrix& a) { a.slices.clear(); }, "slices is empty");
  of_example([](matrix& a) { a.slices[0].first_row = 1; }, "slice 0 does not start at 0");
  of_example([](matrix& a) { a.slices[0].run = 1; }, "slice 0 does not start at 0");
  of_example([](matrix& a) { a.slices[1].rest = -1; }, "slice 1 starts before the one before it");
  of_example([](matrix& a) { a.slices[1].rest = 3; },
             "slices end at row 40, run 1, rest 3 and quads 0 instead of 40");
  of_example([](matrix& a) { a.rows = 41; }, "slices end at row 40");
  of_example([](matrix& a) { a.slices[1].first_row = a.rows = 70000; }, "slice 0 has 70000 rows");
  of_example([](matrix& a) { a.slices[0].first_column = -1; }, "first_column of slice 0 is -1");
  of_example([](matrix& a) { a.slices[0].columns = packed_columns{2}; },
             "slice 0 has an unknown kind of columns");
  of_example([](matrix& a) { a.slices[0].values = packed_values{3}; },
             "slice 0 has an unknown kind of columns");
  of_example([](matrix& a) { a.runs[0].rows = 0; }, "run 0 has 0 rows of 3 entries");
  of_example([](matrix& a) { a.runs[0].width = -1; }, "run 0 has 38 rows of -1 entries");
  of_example([](matrix& a) { a.runs[0].first_row = -1; }, "run 0 has 38 rows from -1 on, where 0 to 39");
  of_example([](matrix& a) { a.runs[0].rows = 40; }, "run 0 has 40 rows from 1 on");
  of_example([](matrix& a) { a.runs[0].values = packed_values{9}; }, "run 0 has an unknown kind of values");
  of_example([](matrix& a) { a.runs[0].diagonal = 1; }, "run 0 starts at diagonal[1] instead of [0]");
  of_example([](matrix& a) { a.runs[0].width = 4; },
             "run 0 takes 4 elements from diagonal[0] on, which is 3");
  of_example([](matrix& a) { a.diagonal[0] = -2; }, "run 0 has the columns -1 to 36, outside 0 to 39");
  of_example([](matrix& a) { a.diagonal[2] = 2; }, "run 0 has the columns 3 to 40, outside 0 to 39");
  of_example([](matrix& a) { a.runs[0].value = -1; }, "run 0 starts at constant[-1] instead of [0]");
  of_example([](matrix& a) { a.constant.pop_back(); }, "run 0 takes 3 elements from constant[0] on");
  of_example([](matrix& a) { a.runs[0].values = packed_values::full; },
             "run 0 takes 114 elements from full_value[0] on, which is 0 long");
  of_example([](matrix& a) { a.rest_row[1] = 40; }, "rest_row[1] is 40, outside 0 to 39");
  of_example([](matrix& a) { a.rest_row[1] = 0; }, "rest_row[1] names row 0 of its slice twice");
  of_example([](matrix& a) { a.rest_row[1] = 5; }, "row 39 is in no run, nor in the rest");
  of_example([](matrix& a) { a.rest_length[1] = -1; }, "rest_length[1] is -1");
  of_example([](matrix& a) { a.rest_length[1] = 3; }, "rest_length[1] is 3");
  of_example([](matrix& a) { a.rest_length[0] = 3; }, "slice 0 takes 5 elements from near_column[0] on");
  of_example([](matrix& a) { a.rest_length[1] = 1; }, "near_column is 4 long instead of 3");
  of_example([](matrix& a) { a.slices[0].column = 1; }, "slice 0 starts at near_column[1] instead of [0]");
  of_example([](matrix& a) { a.near_column[3] = 40; },
             "near_column[3] is 40 from column 0 on, outside 0 to 39");
  of_example([](matrix& a) { a.slices[0].first_column = 1; }, "near_column[3] is 39 from column 1 on");
  of_example([](matrix& a) { a.slices[0].value = 1; }, "slice 0 starts at single_value[1] instead of [0]");
  of_example([](matrix& a) { a.single_value.pop_back(); },
             "slice 0 takes 4 elements from single_value[0] on");
  of_example([](matrix& a) { a.full_value.push_back(1); }, "full_value is 1 long instead of 0");
  of_example([](matrix& a) { a.diagonal.push_back(0); }, "diagonal is 4 long instead of 3");

  const auto holes = to_packed(with_holes(band<double>(40, 60, {0, 2, 11}, neither)));
  break_it(
      holes, [](matrix& a) { a.runs[0].mask = 1; }, "run 0 starts at mask[1] instead of [0]");
  break_it(
      holes, [](matrix& a) { a.mask.pop_back(); }, "run 0 takes 9 elements from mask[0] on, which is 8 long");
  break_it(
      holes, [](matrix& a) { a.runs[0].mask = nz::packed_run::none; }, "mask is 9 long instead of 0");
  const auto far = to_packed(csr<double>{2, 100000, {0, 1, 2}, {0, 99999}, {1, 1}});
  break_it(
      far, [](matrix& a) { a.far_column[0] = -1; }, "far_column[0] is -1 from column 0 on");
  break_it(
      far, [](matrix& a) { a.far_column[1] = 100000; }, "far_column[1] is 100000 from column 0 on");
  const auto quads = to_packed(rows_of(20, {{2, 3, 4, 5, 9}, {7, 9}, {1, 2, 3, 4, 5, 6, 7, 19}, {}}));
  const auto of_quads = [&](const auto& how, const std::string& reason) { break_it(quads, how, reason); };
  of_quads([](matrix& a) { a.quad_length.pop_back(); }, "quad_length is 1 long instead of 2");
  of_quads([](matrix& a) { a.slices[0].quads = 1; }, "slice 0 does not start at 0");
  of_quads([](matrix& a) { a.slices[1].quads = -1; }, "slice 1 starts before the one before it");
  of_quads([](matrix& a) { a.slices[1].quads = 1; },
           "slices end at row 4, run 0, rest 4 and quads 1 instead");
  of_quads([](matrix& a) { a.quad_row[0] = 4; }, "quad_row[0] is 4, outside 0 to 3");
  of_quads([](matrix& a) { a.quad_row[1] = a.quad_row[0]; },
           "quad_row[1] is row 0 of its slice, which is not");
  of_quads([](matrix& a) { a.quad_length[1] = 0; }, "quad_length[1] is 0: less than 1");
  of_quads([](matrix& a) { a.quad_length[1] = 2; }, "quad_length[1] is 2: less than 1, or more than");
  of_quads([](matrix& a) { a.near_column.back() = 16; },
           "near_column[8] is 16 from column 1 on, outside 0 to 16");
  of_quads([](matrix& a) { a.near_column.pop_back(); }, "slice 0 takes 9 elements from near_column[0] on");
  of_quads([](matrix& a) { a.full_value.pop_back(); }, "slice 0 takes 15 elements from full_value[0] on");
  const auto in_run = [](matrix& a) {  // a quad of a row that is in a run
    a.quad_row = {5};
    a.quad_length = {1};
    a.slices[1].quads = 1;
  };
  of_example(in_run, "quad_row[0] is row 5 of its slice, which is not in the rest");
  const auto empty = to_packed(csr<double>{2, 2, {0, 0, 0}, {}, {}});
  break_it(
      empty, [](matrix& a) { a.slices[0].values = packed_values::one; }, "slice 0 has one value but no");
}

TEST(Packed, IsRefusedOrHarmlessWhateverItsNumbersAre) {
  // Runs of all kinds, strangers in and beside them, near and far columns, several slices.
  const csr<double> numbers = band<double>(60, 70000, {0, 3}, neither);
  const index cut[] = {0, 20, 40, 60};
  for (const csr<double>& a :
       {nz::generate::poisson_1d<double>(60), with_strangers(numbers, {5, 30}, {69999}), with_holes(numbers),
        rows_of(80, std::vector<std::vector<index>>(60, {1, 2, 3, 4, 60, 61, 62, 63, 70}))}) {
    packed<double> b = to_packed(a, cut, nz::run_in_order);
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
    for (auto& slice : b.slices) {
      try_hostile(slice.first_row, is_harmless);
      try_hostile(slice.first_column, is_harmless);
      try_hostile(slice.run, is_harmless);
      try_hostile(slice.rest, is_harmless);
      try_hostile(slice.quads, is_harmless);
      try_hostile(slice.column, is_harmless);
      try_hostile(slice.value, is_harmless);
    }
    for (auto& run : b.runs) {
      try_hostile(run.first_row, is_harmless);
      try_hostile(run.rows, is_harmless);
      try_hostile(run.width, is_harmless);
      try_hostile(run.diagonal, is_harmless);
      try_hostile(run.value, is_harmless);
      try_hostile(run.mask, is_harmless);
    }
    for (auto& row : b.rest_row) try_hostile(row, is_harmless);
    for (auto& length : b.rest_length) try_hostile(length, is_harmless);
    for (auto& row : b.quad_row) try_hostile(row, is_harmless);
    for (auto& length : b.quad_length) try_hostile(length, is_harmless);
    for (auto& diagonal : b.diagonal) try_hostile(diagonal, is_harmless);
    for (auto& mask : b.mask) try_hostile(mask, is_harmless);
    for (auto& column : b.near_column) try_hostile(column, is_harmless);
    for (auto& column : b.far_column) try_hostile(column, is_harmless);
  }
}

}  // namespace
