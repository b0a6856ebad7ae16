#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/formats/sbsr.hpp>

#include "tests/formats/block_matrices.hpp"
#include "tests/formats/hostile.hpp"
#include "tests/formats/identical.hpp"
#include "tests/formats/symmetric_matrices.hpp"

namespace {

using nz::array;
using nz::csr;
using nz::index;
using nz::offset;
using nz::sbsr;

// 1 2 . . 5 7
// 2 3 . . 6 8
// . . 1 4 . .
// . . 4 2 . .
// 5 6 . . 9 1
// 7 8 . . 1 9
const csr<double> example{6,
                          6,
                          {0, 4, 8, 10, 12, 16, 20},
                          {0, 1, 4, 5, 0, 1, 4, 5, 2, 3, 2, 3, 0, 1, 4, 5, 0, 1, 4, 5},
                          {1, 2, 5, 7, 2, 3, 6, 8, 1, 4, 4, 2, 5, 6, 9, 1, 7, 8, 1, 9}};

TEST(Sbsr, HoldsTheBlocksOfTheLowerTriangleRowByRow) {
  const auto a = to_sbsr(example);
  validate(a);
  EXPECT_EQ(a.block_size, 2);
  EXPECT_EQ(a.block_begin, (array<offset>{0, 1, 2, 4}));
  EXPECT_EQ(a.block_col, (array<index>{0, 1, 0, 2}));
  EXPECT_EQ(a.val, (array<double>{1, 2, 2, 3, 1, 4, 4, 2, 5, 6, 7, 8, 9, 1, 1, 9}));
  EXPECT_EQ(a.nnz(), 20);
  expect_identical(to_csr(a), example);
}

TEST(Sbsr, HoldsPanelsOfColumnsOneAfterTheOther) {
  const csr<float> block{3, 3, {0, 3, 6, 9}, {0, 1, 2, 0, 1, 2, 0, 1, 2}, {1, 2, 3, 2, 4, 5, 3, 5, 6}};
  EXPECT_EQ(to_sbsr(block, {.block_size = 3}).val, (array<float>{1, 2, 3, 2, 4, 5, 3, 5, 6}));
  EXPECT_EQ(to_sbsr(block, {.block_size = 3, .group_cols = 2}).val,
            (array<float>{1, 2, 2, 4, 3, 5, 3, 5, 6}));
}

template <class V> class SbsrConversions : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(SbsrConversions, precisions);

TYPED_TEST(SbsrConversions, ThereAndBackLoseNothing) {
  using limits = std::numeric_limits<TypeParam>;
  for (auto& [name, a] : symmetric_matrices<TypeParam>()) {
    SCOPED_TRACE(name);
    a.val.front() = limits::quiet_NaN();  // on the diagonal
    a.val.back() = -TypeParam{0};
    const auto there = to_sbsr(a);
    validate(there);
    EXPECT_EQ(there.nnz(), a.nnz());
    EXPECT_EQ(footprint_of(there), sbsr_footprint(a));
    expect_identical(to_csr(there), a);
    for (index group_cols = 1; group_cols <= there.block_size; ++group_cols)
      expect_identical(to_csr(to_sbsr(a, {.group_cols = group_cols})), a);
  }
}

TYPED_TEST(SbsrConversions, DoNotDependOnTheRangesTheyAreDoneIn) {
  for (const auto& [name, a] : symmetric_matrices<TypeParam>()) {
    SCOPED_TRACE(name);
    const auto whole = to_sbsr(a);
    const index all = whole.block_rows();
    const index ranges[] = {0, all / 3, all / 3, all / 2, std::max(all - 1, all / 2), all};
    nz::sbsr_options options{.first_block_row = ranges};
    options.for_each = [](offset count, const auto& body) {
      for (offset i = count; i > 0; --i) body(i - 1);
    };
    const auto in_ranges = to_sbsr(a, options);
    EXPECT_EQ(in_ranges.block_begin, whole.block_begin);
    EXPECT_EQ(in_ranges.block_col, whole.block_col);
    EXPECT_EQ(in_ranges.val, whole.val);
  }
}

std::string refusal(const csr<double>& a, const nz::sbsr_options& options = {}) {
  try {
    to_sbsr(a, options);
    return "accepted";
  } catch (const nz::unsupported& e) {
    return e.what();
  }
}

TEST(Sbsr, RefusesWhatIsNotSquareSymmetricOrOfFullBlocks) {
  const auto expect_refusal = [](const csr<double>& a, std::string_view reason,
                                 const nz::sbsr_options& options = {}) {
    EXPECT_NE(refusal(a, options).find(reason), std::string::npos) << refusal(a, options);
  };
  EXPECT_EQ(refusal(example), "accepted");
  csr<double> a = example;
  a.cols = 7;
  expect_refusal(a, "6 x 7, not square");
  a = example;
  a.val[2] = std::nextafter(5.0, 6.0);
  expect_refusal(a, "not symmetric: row 1, column 5 and row 5, column 1 (counted from 1) differ");
  expect_refusal(a, "not symmetric bit by bit", {.block_size = 2});
  a = example;
  a.val[1] = 2.5;  // in a block on the diagonal
  expect_refusal(a, "not symmetric bit by bit", {.block_size = 2});
  a.val[1] = -0.0, a.val[4] = 0.0;  // equal, but not the same bits
  expect_refusal(a, "not symmetric bit by bit", {.block_size = 2});
  expect_refusal(example, "not all full blocks of 3 x 3", {.block_size = 3});
  expect_refusal(example, "the rows from 5 on (counted from 1) are not all full blocks of 4 x 4",
                 {.block_size = 4});
  expect_refusal(example, "no blocks of size 5; choose 2, 3 or 4", {.block_size = 5});
  expect_refusal({3, 3, {0, 1, 2, 3}, {0, 1, 2}, {1, 1, 1}}, "not all entries are in full blocks");
  expect_refusal({}, "not all entries are in full blocks");
  // Blocks on both sides of the diagonal, but none on it.
  expect_refusal({4, 4, {0, 2, 4, 6, 8}, {2, 3, 2, 3, 0, 1, 0, 1}, {1, 2, 3, 4, 1, 3, 2, 4}},
                 "one of them on the diagonal");
  // As many blocks above as below, but not the mirror images.
  expect_refusal({6,
                  6,
                  {0, 4, 8, 12, 16, 18, 20},
                  {0, 1, 4, 5, 0, 1, 4, 5, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 4, 5},
                  array<double>(20, 1)},
                 "not symmetric bit by bit", {.block_size = 2});
  // A block more above than below.
  expect_refusal({4, 4, {0, 4, 8, 10, 12}, {0, 1, 2, 3, 0, 1, 2, 3, 2, 3, 2, 3}, array<double>(12, 1)},
                 "triangles are of different sizes", {.block_size = 2});
}

TEST(Sbsr, RefusesAMatrixThatDiffersWhereNothingWasLookedAtFirst) {
  const auto whole = symmetric_block_matrix<double>(3, 3000, {1, 2, 3, 40});
  for (const std::size_t at : {std::size_t{100}, whole.val.size() / 2 + 11, whole.val.size() - 5}) {
    csr<double> a = whole;
    a.val[at] += 1;
    const std::string reason = refusal(a);
    // Where it was on the diagonal itself, the matrix is still symmetric.
    EXPECT_TRUE(reason.find("not symmetric") != std::string::npos || nz::transpose(a) == a) << reason;
  }
  csr<double> unsorted = whole;
  std::swap(unsorted.col[30], unsorted.col[31]);
  EXPECT_NE(refusal(unsorted), "accepted");
  for (const auto& [name, a] : block_matrices<double>()) EXPECT_NE(refusal(a), "accepted") << name;
}

TEST(Sbsr, TakesLargerBlocksAsSeveral) {
  EXPECT_EQ(find_symmetric_block_size(symmetric_block_matrix<float>(6, 50, {1, 3})), 3);
  EXPECT_EQ(find_symmetric_block_size(symmetric_block_matrix<float>(8, 50, {1, 3})), 4);
  EXPECT_THROW(find_symmetric_block_size(symmetric_block_matrix<float>(5, 50, {1, 3})), nz::unsupported);
}

TEST(Sbsr, HoldsValuesInSinglePrecisionOnlyWhereNoneChanges) {
  EXPECT_EQ(to_sbsr_of_floats(example)->val, (array<float>{1, 2, 2, 3, 1, 4, 4, 2, 5, 6, 7, 8, 9, 1, 1, 9}));
  for (const double value : {0.1, 1e300, 1e-300})
    for (const std::size_t at : {0, 8, 19}) {  // on the diagonal
      csr<double> a = example;
      a.val[at] = value;
      EXPECT_FALSE(to_sbsr_of_floats(a).has_value()) << value << " at " << at;
    }
  // Where the few values that are looked at first are all floats.
  csr<double> a = symmetric_block_matrix<double>(2, 2000, {1, 2});
  for (double& value : a.val) value = 0.5;
  EXPECT_TRUE(to_sbsr_of_floats(a).has_value());
  a.val.back() = 0.1;
  EXPECT_FALSE(to_sbsr_of_floats(a).has_value());
}

TEST(Sbsr, ValidateNamesTheInvariantThatIsBroken) {
  using matrix = sbsr<double>;
  const auto break_it = [](const auto& how, const std::string& reason) {
    matrix a = to_sbsr(example);
    how(a);
    expect_refused(a, reason);
  };
  break_it([](matrix& a) { a.rows = -1; }, "negative");
  break_it([](matrix& a) { a.cols = 8; }, "6 x 8 is not square");
  break_it([](matrix& a) { a.block_size = 5; }, "block_size is 5");
  break_it([](matrix& a) { a.block_size = 0; }, "block_size is 0");
  break_it([](matrix& a) { a.rows = a.cols = 7; }, "7 rows are no multiple of block_size, 2");
  break_it([](matrix& a) { a.group_cols = 3; }, "group_cols is 3, outside 1 to 2");
  break_it([](matrix& a) { a.group_cols = 0; }, "group_cols is 0");
  break_it([](matrix& a) { a.block_begin.pop_back(); }, "block_begin is 3 long instead of 4");
  break_it([](matrix& a) { a.block_begin[0] = 1; }, "does not start at 0");
  break_it([](matrix& a) { a.block_begin[1] = 3; }, "block_begin falls");
  break_it([](matrix& a) { a.block_begin[3] = 5; }, "ends at 5 instead of the 4");
  break_it([](matrix& a) { a.block_begin[1] = 0; }, "block row 1 (counted from 1) has no block");
  break_it([](matrix& a) { a.block_col[2] = -1; }, "block_col is -1 at position 3");
  break_it([](matrix& a) { a.block_col[2] = 3; },
           "block_col is 3 at position 3 (counted from 1), outside 0 to 2");
  break_it([](matrix& a) { a.block_col[2] = 2; }, "does not rise from 2 to 2");
  break_it([](matrix& a) { a.block_col[3] = 1; },
           "last block of block row 3 is in block column 2 (both counted from 1)");
  break_it([](matrix& a) { a.val.pop_back(); }, "val is 15 long instead of 16");
  break_it([](matrix& a) { a.val[5] = 3; },
           "block 2 is on the diagonal, but not symmetric at (2, 1) (all counted from 1)");
}

TEST(Sbsr, ValidateStopsAnyHostileNumberOrItDoesNoHarm) {
  sbsr<float> a = to_sbsr(symmetric_block_matrix<float>(3, 5, {1, 3}));
  const auto look = [&] {
    try {
      validate(a);
    } catch (const nz::shape_error&) {
      return;
    }
    to_csr(a);  // the sanitizers would see a place outside
  };
  try_hostile(a.rows, look);
  try_hostile(a.block_size, look);
  try_hostile(a.group_cols, look);
  for (offset& begin : a.block_begin) try_hostile(begin, look);
  for (index& col : a.block_col) try_hostile(col, look);
}

}  // namespace
