#include <limits>

#include <gtest/gtest.h>

#include <nonzero/formats/coo.hpp>
#include <nonzero/formats/ell.hpp>
#include <nonzero/formats/hyb.hpp>
#include <nonzero/formats/jds.hpp>
#include <nonzero/formats/sell.hpp>
#include <nonzero/formats/tjds.hpp>

#include "tests/battery/battery.hpp"
#include "tests/formats/identical.hpp"

namespace {

using nz::csr;
using nz::footprint;
using nz::index;
using nz::offset;

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

template <class V> class Conversions : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Conversions, precisions);

TYPED_TEST(Conversions, ThereAndBackLoseNothing) {
  for (const auto& [name, a] : battery::matrices<TypeParam>()) {
    SCOPED_TRACE(name);
    validate(a);
    const auto there_and_back = [&original = a](const auto& converted, footprint predicted) {
      validate(converted);
      EXPECT_EQ(footprint_of(converted), predicted);
      expect_identical(to_csr(converted), original);
    };
    there_and_back(to_coo(a), coo_footprint(a));
    there_and_back(to_ell(a, no_limit), ell_footprint(a));
    there_and_back(to_jds(a), jds_footprint(a));
    there_and_back(to_tjds(a), tjds_footprint(a));
    for (const offset width : {-1, 0, 1, 3, 1000})
      there_and_back(to_hyb(a, width, no_limit), hyb_footprint(a, width));
    for (const nz::sell_options options : {nz::sell_options{}, {1, 1}, {3, 5}, {32, 64}, {4, 1 << 30}})
      there_and_back(to_sell(a, options, no_limit), sell_footprint(a, options));
  }
}

TYPED_TEST(Conversions, TransposingTwiceSortsEachRow) {
  for (const auto& [name, a] : battery::matrices<TypeParam>()) {
    SCOPED_TRACE(name);
    const auto t = transpose(a);
    validate(t);
    EXPECT_EQ(t.nnz(), a.nnz());
    const auto back = transpose(t);
    EXPECT_EQ(back.row_begin, a.row_begin);
    for (index i = 0; i < back.rows; ++i)
      EXPECT_TRUE(
          std::is_sorted(back.col.begin() + back.row_begin[i], back.col.begin() + back.row_begin[i + 1]));
  }
}

TEST(HybWidth, IsTheLargestThatAThirdOfTheRowsFill) {
  const auto width_for = [](const std::vector<index>& lengths) {
    csr<float> a{static_cast<index>(lengths.size()), 100, {0}, {}, {}};
    for (const index length : lengths) {
      for (index j = 0; j < length; ++j) a.col.push_back(j);
      a.row_begin.push_back(static_cast<offset>(a.col.size()));
    }
    a.val.assign(a.col.size(), 1);
    return default_hyb_width(a);
  };
  EXPECT_EQ(width_for({}), 0);
  EXPECT_EQ(width_for({0, 0, 0}), 0);
  EXPECT_EQ(width_for({7}), 7);
  EXPECT_EQ(width_for({7, 3}), 7);               // one row of two is more than a third
  EXPECT_EQ(width_for({1, 9, 2}), 9);            // one of three is a third
  EXPECT_EQ(width_for({1, 9, 2, 4}), 4);         // one of four is not: two are needed
  EXPECT_EQ(width_for({5, 5, 5, 5, 5, 90}), 5);  // a giant row does not widen the others
  EXPECT_EQ(width_for({0, 0, 0, 0, 3, 8}), 3);
}

TEST(PaddingBudget, RefusesToMakeASparseMatrixDense) {
  // One full row among 100,000 of one entry: 100,000 x 100,000 places in ELL.
  const index n = 100000;
  csr<double> a{n, n, {0}, {}, {}};
  for (index j = 0; j < n; ++j) a.col.push_back(j);
  for (index i = 0; i < n; ++i) {
    if (i > 0) a.col.push_back(i);
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  a.val.assign(a.col.size(), 1);
  validate(a);
  try {
    to_ell(a);
    FAIL();
  } catch (const nz::unsupported& e) {
    EXPECT_NE(std::string(e.what()).find("112 GiB"), std::string::npos) << e.what();  // 12e10 bytes
  }
  EXPECT_EQ(to_hyb(a).regular.width, 1);
}

TEST(PaddingBudget, IsSettableAndCountsPaddingAgainstCsrBytes) {
  // 4 rows; CSR bytes 5*8 + 5*12 = 100. ELL of width 2: 8 places, 3 of padding, 36 bytes of it.
  const csr<double> a{4, 2, {0, 2, 3, 4, 5}, {0, 1, 0, 0, 0}, {1, 1, 1, 1, 1}};
  EXPECT_EQ(footprint_of(a), (footprint{100, 0}));
  EXPECT_EQ(ell_footprint(a), (footprint{96, 36}));
  EXPECT_NO_THROW(to_ell(a, {0.36}));
  EXPECT_THROW(to_ell(a, {0.35}), nz::unsupported);
  EXPECT_THROW(to_hyb(a, 2, {0.35}), nz::unsupported);
  EXPECT_NO_THROW(to_hyb(a, 1, {0.0}));
}

TEST(PaddingBudget, HoldsForSlices) {
  // CSR as above: 100 bytes. One slice of 8 places, 2 wide: 11 of 16 are padding, 132 bytes.
  const csr<double> a{4, 2, {0, 2, 3, 4, 5}, {0, 1, 0, 0, 0}, {1, 1, 1, 1, 1}};
  EXPECT_EQ(sell_footprint(a, {8, 8}), (footprint{16 * 12 + 2 * 4 + 4 * 4 + 2 * 8, 132}));
  EXPECT_NO_THROW(to_sell(a, {8, 8}, {1.32}));
  EXPECT_THROW(to_sell(a, {8, 8}, {1.31}), nz::unsupported);
}

TEST(Sell, RefusesSlicesAndWindowsWithoutRows) {
  const csr<float> a{1, 1, {0, 1}, {0}, {1}};
  EXPECT_THROW(to_sell(a, {.height = 0}), nz::shape_error);
  EXPECT_THROW(to_sell(a, {.height = -8}), nz::shape_error);
  EXPECT_THROW(to_sell(a, {.sigma = 0}), nz::shape_error);
  EXPECT_THROW(sell_footprint(a, {.sigma = -1}), nz::shape_error);
}

TEST(Sell, LeavesRowsOutThatAreTooLong) {
  const csr<float> a{3, 4, {0, 1, 4, 6}, {2, 0, 1, 2, 1, 3}, {1, 2, 3, 4, 5, 6}};
  const auto in_order = [](index windows, const std::function<void(index)>& task) {
    for (index w = 0; w < windows; ++w) task(w);
  };
  const auto b = to_sell_by_steps<float>(a, {2, {0, 2, 3}, 2, in_order}, no_limit);
  validate(b);
  expect_identical(to_csr(b), csr<float>{3, 4, {0, 1, 1, 3}, {2, 1, 3}, {1, 5, 6}});
}

// Sizes past 2^31 and 2^63, where only the index arithmetic runs: no such matrix is allocated.
TEST(HugeMatrices, FootprintsDoNotOverflow) {
  // One row that claims 2^40 entries among 2^20 rows: CSR's begins alone, without columns and values.
  csr<double> begins;
  begins.rows = index{1} << 20;
  begins.cols = std::numeric_limits<index>::max();
  begins.row_begin.assign(static_cast<std::size_t>(begins.rows) + 1, offset{1} << 40);
  begins.row_begin[0] = 0;
  EXPECT_EQ(begins.nnz(), offset{1} << 40);
  const auto a = nz::trusted(begins);
  EXPECT_EQ(longest_row(a), offset{1} << 40);
  EXPECT_EQ(coo_footprint(a).bytes, (std::uint64_t{1} << 40) * 16);
  // 2^60 places of 12 bytes: 12 * 2^60 fits in 64 bits.
  EXPECT_EQ(ell_footprint(a).bytes, (std::uint64_t{1} << 60) * 12);
  EXPECT_EQ(ell_footprint(a).padding_bytes, ((std::uint64_t{1} << 60) - (std::uint64_t{1} << 40)) * 12);
  EXPECT_EQ(tjds_footprint(a).bytes, (std::uint64_t{1} << 20) * 4 + ((std::uint64_t{1} << 40) + 1) * 8 +
                                         (std::uint64_t{1} << 40) * 12);
  EXPECT_THROW(to_ell(a), nz::unsupported);
  EXPECT_EQ(sell_footprint(a, {8, 1024}).padding_bytes, 7 * (std::uint64_t{1} << 40) * 12);
  EXPECT_EQ(sell_footprint(a, {std::numeric_limits<index>::max(), 1024}).bytes, ~std::uint64_t{0});
  EXPECT_THROW(to_sell(a), nz::unsupported);
  EXPECT_EQ(default_hyb_width(a), 0);
  EXPECT_EQ(hyb_footprint(a).bytes, (std::uint64_t{1} << 40) * 16);

  // 2^31 rows of that width would make 2^71 places: sizes saturate instead of wrapping round.
  EXPECT_EQ(nz::saturating_bytes(std::uint64_t{1} << 40, std::uint64_t{1} << 31), ~std::uint64_t{0});
}

TEST(Validate, AcceptsOffsetsPastThirtyTwoBitsOnlyIfTheArraysAreThere) {
  csr<float> a;
  a.rows = 1;
  a.cols = 4;
  a.row_begin = {0, offset{3} << 31};
  EXPECT_THROW(validate(a), nz::shape_error);
}

template <class Format> void expect_broken(const Format& a, std::string_view reason) {
  try {
    validate(a);
    ADD_FAILURE() << "accepted: " << reason;
  } catch (const nz::shape_error& e) {
    EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
  }
}

TEST(Validate, NamesTheInvariantThatIsBroken) {
  const csr<double> a{3, 4, {0, 2, 2, 3}, {0, 3, 1}, {1, 2, 3}};
  const auto break_it = [](auto matrix, const auto& how, std::string_view reason) {
    validate(matrix);
    how(matrix);
    expect_broken(matrix, reason);
  };
  break_it(
      a, [](auto& m) { m.rows = -1; }, "negative");
  break_it(
      a, [](auto& m) { m.row_begin.pop_back(); }, "row_begin is 3 long instead of 4");
  break_it(
      a, [](auto& m) { m.row_begin[0] = 1; }, "does not start at 0");
  break_it(
      a, [](auto& m) { m.row_begin[1] = 3; }, "row_begin falls from 3 to 2 at position 3 (counted from 1)");
  break_it(
      a, [](auto& m) { m.row_begin[3] = 2; }, "ends at 2 instead of the 3 entries");
  break_it(
      a, [](auto& m) { m.col[1] = 4; },
      "col is 4 at position 2, in row 1 (both counted from 1), outside 0 to 3");
  break_it(
      a, [](auto& m) { m.col[2] = -1; },
      "col is -1 at position 3, in row 3 (both counted from 1), outside 0 to 3");
  break_it(
      a, [](auto& m) { m.val.pop_back(); }, "val is 2 long instead of 3");

  break_it(
      to_coo(a), [](auto& m) { m.row[0] = 2; }, "row falls from 2 to 0");
  break_it(
      to_coo(a), [](auto& m) { m.row[2] = 3; }, "row is 3 at position 3 (counted from 1), outside 0 to 2");
  break_it(
      to_coo(a), [](auto& m) { m.col[2] = 4; }, "col is 4 at position 3 (counted from 1)");
  break_it(
      to_coo(a), [](auto& m) { m.row.pop_back(); }, "row is 2 long");

  break_it(
      to_ell(a), [](auto& m) { m.width = -1; }, "negative");
  break_it(
      to_ell(a), [](auto& m) { m.width = offset{1} << 62; }, "pass 2^63");
  break_it(
      to_ell(a), [](auto& m) { m.col[0] = 4; }, "col is 4 at position 1 (counted from 1)");
  break_it(
      to_ell(a),
      [](auto& m) {
        m.col[0] = nz::padding_column;
        m.val[0] = 0;
      },
      "after its padding");
  break_it(
      to_ell(a), [](auto& m) { m.val[1] = 1; }, "the padding at position 2 (counted from 1) holds a value");
  break_it(
      to_ell(a), [](auto& m) { m.val.pop_back(); }, "val is 5 long");

  break_it(
      to_hyb(a, 1), [](auto& m) { m.rest.cols = 9; }, "regular is 3 x 4 but rest 3 x 9");
  break_it(
      to_hyb(a, 1), [](auto& m) { m.rest.row[0] = 1; },
      "row 2 (counted from 1) has entries in rest but padding in regular");

  break_it(
      to_jds(a), [](auto& m) { m.row[0] = 1; }, "names 1 twice");
  break_it(
      to_jds(a), [](auto& m) { m.row_begin[1] = 1; }, "longer than the one before it");
  break_it(
      to_jds(a),
      [](auto& m) {
        m.row_begin = {0, 3, 3, 3};
      },
      "out of order");
  break_it(
      to_jds(a), [](auto& m) { m.col[0] = -5; }, "col is -5 at position 1");

  break_it(
      to_tjds(a), [](auto& m) { m.row[0] = 3; }, "row is 3 at position 1");
  break_it(
      to_tjds(a),
      [](auto& m) {
        m.diagonal_begin = {0, 1, 3};
      },
      "diagonal 2 (counted from 1) is 2 long, outside 1 to 1");
  break_it(
      to_tjds(a),
      [](auto& m) {
        m.diagonal_begin = {0, 3, 3};
      },
      "diagonal 2 (counted from 1) is 0 long");
  break_it(
      to_tjds(a),
      [](auto& m) {
        m.diagonal_begin = {0, 3};
        m.row = {0, 2, 1};
      },
      "equally long but out of order");

  const auto slices = to_sell(a, {2, 2});  // rows 0 and 1, then row 2 and a place without a row
  break_it(
      slices, [](auto& m) { m.height = 0; }, "height of 0 is below 1");
  break_it(
      slices, [](auto& m) { m.window_begin.pop_back(); }, "window_begin does not go from 0 to the 3 rows");
  break_it(
      slices,
      [](auto& m) {
        m.window_begin = {0, 2, 2, 3};
      },
      "window 2 (counted from 1) has no rows");
  break_it(
      slices, [](auto& m) { m.row.pop_back(); }, "row is 2 long instead of 3");
  break_it(
      slices, [](auto& m) { m.row[1] = 0; }, "names 0 twice");
  break_it(
      slices, [](auto& m) { std::swap(m.row[0], m.row[2]); },
      "place 1 of window 1 holds row 3 (counted from 1)");
  break_it(
      slices, [](auto& m) { m.slice_begin.pop_back(); }, "slice_begin is 2 long instead of 3");
  break_it(
      slices, [](auto& m) { m.slice_begin[1] = 9; }, "slice_begin falls from 9 to 6");
  break_it(
      slices, [](auto& m) { m.slice_begin[1] = 3; }, "slice 1 (counted from 1) is no multiple of 2 long");
  break_it(
      slices, [](auto& m) { m.val.pop_back(); }, "val is 5 long");
  break_it(
      slices, [](auto& m) { m.col[0] = 4; }, "col is 4 at position 1 (counted from 1)");
  break_it(
      slices, [](auto& m) { m.val[1] = 1; }, "the padding at position 2 (counted from 1) holds a value");
  break_it(
      slices,
      [](auto& m) {
        m.col[0] = nz::padding_column;
        m.val[0] = 0;
      },
      "place 1 of slice 1 (counted from 1) has an entry after its padding");
  break_it(
      slices,
      [](auto& m) {
        m.col[2] = nz::padding_column;
        m.val[2] = 0;
      },
      "slice 1 (counted from 1) is wider than its longest row");
  break_it(
      slices, [](auto& m) { m.col[5] = 0; }, "place 2 of slice 2 (counted from 1) has entries but no row");
  break_it(
      slices,
      [](auto& m) {
        m.col[1] = 0;
        m.col[3] = 0;
        m.row = {1, 0, 2};
      },
      "equally long but out of order");
  break_it(
      to_sell(a, {1, 3}),  // rows 0, 2, 1, a slice each
      [](auto& m) {
        m.slice_begin = {0, 1, 3, 3};
      },
      "place 2 (counted from 1) is longer than the one before it");
}

}  // namespace
