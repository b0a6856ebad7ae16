// The examples of the lectures, exact to the array.

#include <gtest/gtest.h>

#include <nonzero/formats/coo.hpp>
#include <nonzero/formats/ell.hpp>
#include <nonzero/formats/hyb.hpp>
#include <nonzero/formats/jds.hpp>
#include <nonzero/formats/sell.hpp>
#include <nonzero/formats/tjds.hpp>

namespace {

using nz::array;
using nz::index;
using nz::offset;

constexpr index none = nz::padding_column;

// ECE 408, L18: 3 0 1 0 / 0 0 0 0 / 0 2 4 1 / 1 0 0 1
const nz::csr<float> hwu{4, 4, {0, 2, 2, 5, 7}, {0, 2, 1, 2, 3, 0, 3}, {3, 1, 2, 4, 1, 1, 1}};

TEST(LectureHwu, Coo) {
  const auto a = to_coo(hwu);
  validate(a);
  EXPECT_EQ(a.row, (array<index>{0, 0, 2, 2, 2, 3, 3}));
  EXPECT_EQ(a.col, hwu.col);
  EXPECT_EQ(a.val, hwu.val);
}

TEST(LectureHwu, Ell) {
  const auto a = to_ell(hwu);
  validate(a);
  EXPECT_EQ(a.width, 3);
  EXPECT_EQ(a.val, (array<float>{3, 0, 2, 1, 1, 0, 4, 1, 0, 0, 1, 0}));
  EXPECT_EQ(a.col, (array<index>{0, none, 1, 0, 2, none, 2, 3, none, none, 3, none}));
}

TEST(LectureHwu, HybOfWidthTwo) {
  const auto a = to_hyb(hwu, 2);
  validate(a);
  EXPECT_EQ(a.regular.val, (array<float>{3, 0, 2, 1, 1, 0, 4, 1}));
  EXPECT_EQ(a.regular.col, (array<index>{0, none, 1, 0, 2, none, 2, 3}));
  EXPECT_EQ(a.rest.row, (array<index>{2}));
  EXPECT_EQ(a.rest.col, (array<index>{3}));
  EXPECT_EQ(a.rest.val, (array<float>{1}));
}

TEST(LectureHwu, Jds) {
  const auto a = to_jds(hwu);
  validate(a);
  EXPECT_EQ(a.val, (array<float>{2, 4, 1, 3, 1, 1, 1}));
  EXPECT_EQ(a.col, (array<index>{1, 2, 3, 0, 2, 0, 3}));
  EXPECT_EQ(a.row, (array<index>{2, 0, 3, 1}));
  EXPECT_EQ(a.row_begin, (array<offset>{0, 3, 5, 7, 7}));
}

TEST(LectureHwu, Tjds) {
  const auto a = to_tjds(hwu);
  validate(a);
  EXPECT_EQ(a.val, (array<float>{2, 3, 1, 4, 1, 1, 1}));
  EXPECT_EQ(a.col, (array<index>{1, 0, 0, 2, 2, 3, 3}));
  EXPECT_EQ(a.row, (array<index>{2, 0, 3, 1}));
  EXPECT_EQ(a.diagonal_begin, (array<offset>{0, 3, 6, 7}));
}

// Slices of two rows, sorted among three: rows 2, 0, 1, then row 3, which begins a window and so a slice.
TEST(LectureHwu, Sell) {
  const auto a = to_sell(hwu, {.height = 2, .sigma = 3});
  validate(a);
  EXPECT_EQ(a.window_begin, (array<index>{0, 3, 4}));
  EXPECT_EQ(a.row, (array<index>{2, 0, 1, 3}));
  EXPECT_EQ(a.slice_begin, (array<offset>{0, 6, 6, 10}));
  EXPECT_EQ(a.val, (array<float>{2, 3, 4, 1, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(a.col, (array<index>{1, 0, 2, 2, 3, none, 0, none, 3, none}));
}

// The other 4 x 4 matrix: 1 7 0 0 / 0 2 8 0 / 5 0 3 9 / 0 6 0 4
const nz::csr<double> bell{4, 4, {0, 2, 4, 7, 9}, {0, 1, 1, 2, 0, 2, 3, 1, 3}, {1, 7, 2, 8, 5, 3, 9, 6, 4}};

TEST(LectureBell, Csr) {
  const nz::coo<double> entries{
      4, 4, {0, 0, 1, 1, 2, 2, 2, 3, 3}, {0, 1, 1, 2, 0, 2, 3, 1, 3}, {1, 7, 2, 8, 5, 3, 9, 6, 4}};
  validate(entries);
  EXPECT_EQ(to_csr(entries), bell);
  EXPECT_EQ(to_csr(entries).row_begin, (array<offset>{0, 2, 4, 7, 9}));
}

TEST(LectureBell, Ell) {
  const auto a = to_ell(bell);
  validate(a);
  EXPECT_EQ(a.val, (array<double>{1, 2, 5, 6, 7, 8, 3, 4, 0, 0, 9, 0}));
  EXPECT_EQ(a.col, (array<index>{0, 1, 0, 1, 1, 2, 2, 3, none, none, 3, none}));
}

}  // namespace
