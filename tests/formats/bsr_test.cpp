#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/formats/bsr.hpp>

#include "tests/battery/battery.hpp"
#include "tests/formats/block_matrices.hpp"
#include "tests/formats/identical.hpp"

namespace {

using nz::array;
using nz::bsr;
using nz::csr;
using nz::index;
using nz::offset;

// 1 2 . . 3
// 4 5 . 6 .
// . . 7 8 .
// . 9 1 2 .
// 3 4 . . .
const csr<double> example{5,
                          5,
                          {0, 3, 6, 8, 11, 13},
                          {0, 1, 4, 0, 1, 3, 2, 3, 1, 2, 3, 0, 1},
                          {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4}};

TEST(Bsr, HoldsFullBlocksColumnByColumnAndTheOthersInTheRest) {
  const auto a = to_bsr(example, {.block_size = 2});
  validate(a);
  EXPECT_EQ(a.block_rows(), 3);
  EXPECT_EQ(a.block_begin, (array<offset>{0, 1, 2, 2}));  // the last row is no whole block row
  EXPECT_EQ(a.block_col, (array<index>{0, 1}));
  EXPECT_EQ(a.val, (array<double>{1, 4, 2, 5, 7, 1, 8, 2}));
  EXPECT_EQ(a.rest.row_begin, (array<offset>{0, 1, 2, 2, 3, 5}));
  EXPECT_EQ(a.rest.col, (array<index>{4, 3, 1, 0, 1}));
  EXPECT_EQ(a.rest.val, (array<double>{3, 6, 9, 3, 4}));
  EXPECT_EQ(a.nnz(), 13);
  expect_identical(to_csr(a), example);
}

template <class V> class BsrConversions : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(BsrConversions, precisions);

TYPED_TEST(BsrConversions, ThereAndBackLoseNothing) {
  auto matrices = battery::matrices<TypeParam>();
  for (auto& m : block_matrices<TypeParam>()) matrices.push_back(std::move(m));
  for (const auto& [name, a] : matrices)
    for (const index size : nz::block_sizes) {
      SCOPED_TRACE(testing::Message() << name << ", blocks of " << size);
      const auto there = to_bsr(a, {.block_size = size, .min_fill = 0});
      validate(there);
      EXPECT_EQ(footprint_of(there), bsr_footprint(a, size));
      expect_identical(to_csr(there), a);
    }
}

TYPED_TEST(BsrConversions, DoNotDependOnTheRangesTheyAreDoneIn) {
  for (const auto& [name, a] : block_matrices<TypeParam>()) {
    SCOPED_TRACE(name);
    nz::bsr_options options{.block_size = 3, .min_fill = 0};
    const auto whole = to_bsr(a, options);
    options.run = [](index block_rows, const auto& body) {
      for (index i = block_rows; i > 0; --i) body(i - 1, i);
    };
    const auto in_ranges = to_bsr(a, options);
    EXPECT_EQ(in_ranges.block_begin, whole.block_begin);
    EXPECT_EQ(in_ranges.block_col, whole.block_col);
    EXPECT_EQ(in_ranges.val, whole.val);
    EXPECT_EQ(in_ranges.rest, whole.rest);
  }
}

TEST(Bsr, FindsEveryFullBlock) {
  for (const index size : nz::block_sizes) {
    const auto a = block_matrix<double>({.size = size, .block_rows = 50, .per_row = 4});
    const auto there = to_bsr(a, {.block_size = size});
    EXPECT_EQ(there.rest.nnz(), 0);
    EXPECT_EQ(there.blocks() * size * size, a.nnz());
  }
}

TEST(Bsr, FindsTheBlockSize) {
  for (const index size : nz::block_sizes) {
    const block_matrix_options whole{.size = size, .block_rows = 500, .per_row = 4};
    EXPECT_EQ(find_block_size(block_matrix<float>(whole)), size);
    auto broken = whole;
    broken.one_in_is_broken = 7;
    // Of a block of 8 x 8 that misses an entry, three of four blocks of 4 x 4 are full.
    EXPECT_EQ(find_block_size(block_matrix<float>(broken)), size == 8 ? 4 : size);
  }
  EXPECT_EQ(find_block_size(csr<float>()), 1);
  EXPECT_EQ(find_block_size(example), 2);  // 8 of the 11 entries of whole block rows
}

TEST(Bsr, RefusesAMatrixWithFewFullBlocks) {
  const auto refusal = [](const csr<double>& a, const nz::bsr_options& options) -> std::string {
    try {
      to_bsr(a, options);
      return "accepted";
    } catch (const nz::unsupported& e) {
      return e.what();
    }
  };
  const csr<double> diagonal{4, 4, {0, 1, 2, 3, 4}, {0, 1, 2, 3}, {1, 1, 1, 1}};
  EXPECT_NE(refusal(diagonal, {}).find("no size of block"), std::string::npos);
  EXPECT_NE(refusal(diagonal, {.block_size = 2}).find("full blocks of 2 x 2 hold 0 % of the 4 entries"),
            std::string::npos);
  EXPECT_EQ(refusal(example, {.min_fill = 0.6}), "accepted");  // 8 of 13
  EXPECT_NE(refusal(example, {.min_fill = 0.7}).find("hold 62 % of the 13"), std::string::npos);
  EXPECT_NE(refusal(example, {.block_size = 7}).find("no blocks of size 7"), std::string::npos);
}

TEST(Bsr, LeavesLongUnsortedAndRepeatingRowsToTheRest) {
  const auto blocks_of = [](const csr<double>& a, offset longest = 100) {
    return to_bsr(a, {.block_size = 2, .min_fill = 0, .longest_row = longest}).blocks();
  };
  const csr<double> full{2, 4, {0, 4, 8}, {0, 1, 2, 3, 0, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_EQ(blocks_of(full), 2);
  EXPECT_EQ(blocks_of(full, 4), 2);
  EXPECT_EQ(blocks_of(full, 3), 0);
  csr<double> unsorted = full;
  unsorted.col = {2, 3, 0, 1, 2, 3, 0, 1};
  EXPECT_EQ(blocks_of(unsorted), 0);
  csr<double> repeating = full;
  repeating.col = {0, 1, 0, 1, 0, 1, 0, 1};
  EXPECT_EQ(blocks_of(repeating), 0);
  csr<double> shifted = full;
  shifted.col = {0, 1, 1, 2, 0, 1, 1, 2};
  EXPECT_EQ(blocks_of(shifted), 0);
}

TEST(Bsr, HoldsValuesInSinglePrecisionOnlyWhereNoneChanges) {
  EXPECT_TRUE(to_bsr_of_floats(example).has_value());
  EXPECT_EQ(to_bsr_of_floats(example)->val, (array<float>{1, 4, 2, 5, 7, 1, 8, 2}));
  for (const double value : {0.1, 1e300, 1e-300, std::numeric_limits<double>::quiet_NaN()})
    for (const std::size_t at : {0, 2, 12}) {  // in a block, in its block row's rest, in the last row
      csr<double> a = example;
      a.val[at] = value;
      EXPECT_FALSE(to_bsr_of_floats(a).has_value()) << value << " at " << at;
    }
  // Where the few values that are looked at first are all floats.
  csr<double> a = block_matrix<double>({.size = 2, .block_rows = 2000, .per_row = 4});
  for (double& value : a.val) value = 0.5;
  EXPECT_TRUE(to_bsr_of_floats(a).has_value());
  a.val[a.val.size() - 2] = 0.1;
  EXPECT_FALSE(to_bsr_of_floats(a).has_value());
}

TEST(Bsr, ValidateNamesTheInvariantThatIsBroken) {
  const auto break_it = [](const auto& how, std::string_view reason) {
    bsr<double> a = to_bsr(example, {.block_size = 2});
    how(a);
    try {
      validate(a);
      ADD_FAILURE() << "accepted: " << reason;
    } catch (const nz::shape_error& e) {
      EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
    }
  };
  using matrix = bsr<double>;
  break_it([](matrix& a) { a.cols = -1; }, "negative");
  break_it([](matrix& a) { a.block_size = 7; }, "block_size is 7");
  break_it([](matrix& a) { a.block_size = 0; }, "block_size is 0");
  break_it([](matrix& a) { a.block_begin.pop_back(); }, "block_begin is 3 long instead of 4");
  break_it([](matrix& a) { a.block_begin[0] = 1; }, "does not start at 0");
  break_it([](matrix& a) { a.block_begin[1] = 3; }, "block_begin falls");
  break_it([](matrix& a) { a.block_begin[3] = 3; }, "ends at 3 instead of the 2");
  break_it([](matrix& a) { a.block_begin[2] = 1; }, "too few rows");
  break_it([](matrix& a) { a.block_col[1] = 2; },
           "block_col is 2 at position 2 (counted from 1), outside 0 to 1");
  break_it([](matrix& a) { a.block_col[0] = -1; }, "block_col is -1 at position 1 (counted from 1)");
  break_it(
      [](matrix& a) {
        a.block_begin = {0, 2, 2, 2};
        a.block_col = {1, 1};
      },
      "does not rise from 1 to 1");
  break_it([](matrix& a) { a.val.pop_back(); }, "val is 7 long instead of 8");
  break_it([](matrix& a) { a.rest.col[0] = 5; }, "csr: col is 5 at position 1");
  break_it([](matrix& a) { a.rest.cols = 6; }, "5 x 5 but its rest 5 x 6");
}

}  // namespace
