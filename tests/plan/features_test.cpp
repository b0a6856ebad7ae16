#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/plan/features.hpp>

namespace {

nz::csr<double> make(nz::index rows, nz::index cols, std::vector<nz::offset> begin,
                     std::vector<nz::index> col, std::vector<double> val) {
  nz::csr<double> a{
      rows, cols, {begin.begin(), begin.end()}, {col.begin(), col.end()}, {val.begin(), val.end()}};
  nz::validate(a);
  return a;
}

/// The lecture's matrix: [3 0 1 0; 0 0 0 0; 0 2 4 1; 1 0 0 1].
nz::csr<double> lecture() {
  return make(4, 4, {0, 2, 2, 5, 7}, {0, 2, 1, 2, 3, 0, 3}, {3, 1, 2, 4, 1, 1, 1});
}

TEST(Features, DescribeTheLecturesMatrix) {
  const auto f = nz::find_features(lecture());
  EXPECT_EQ(f.rows, 4);
  EXPECT_EQ(f.cols, 4);
  EXPECT_EQ(f.entries, 7);
  EXPECT_EQ(f.explicit_zeros, 0);
  EXPECT_EQ(f.row_length.shortest, 0);
  EXPECT_EQ(f.row_length.longest, 3);
  EXPECT_DOUBLE_EQ(f.row_length.mean, 1.75);
  EXPECT_DOUBLE_EQ(f.row_length.median, 2);
  EXPECT_DOUBLE_EQ(f.row_length.deviation, std::sqrt((3.0625 + 0.0625 + 0.0625 + 1.5625) / 4));
  EXPECT_EQ(f.row_length.empty, 1);
  EXPECT_EQ(f.row_length.histogram, (std::vector<nz::index>{1, 0, 3}));
  EXPECT_EQ(f.empty_cols, 0);
  EXPECT_EQ(f.diagonal_entries, 3);
  EXPECT_EQ(f.lower_bandwidth, 3);
  EXPECT_EQ(f.upper_bandwidth, 2);
  EXPECT_EQ(f.bandwidth(), 3);
  EXPECT_FALSE(f.has_symmetric_pattern);
}

TEST(Features, OfNothingAreNothing) {
  const auto f = nz::find_features(nz::csr<float>{});
  EXPECT_EQ(f.entries, 0);
  EXPECT_TRUE(f.row_length.histogram.empty());
  EXPECT_TRUE(f.is_symmetric);
}

TEST(Features, CountEmptyColumnsAndExplicitZeros) {
  const auto f = nz::find_features(make(1, 5, {0, 2}, {1, 3}, {0, -0.0}));
  EXPECT_EQ(f.empty_cols, 3);
  EXPECT_EQ(f.explicit_zeros, 2);
  EXPECT_EQ(f.diagonal_entries, 0);
  EXPECT_FALSE(f.has_symmetric_pattern);
}

TEST(Features, CountWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto f = nz::find_features(make(1, 5, {0, 5}, {0, 1, 2, 3, 4}, {nan, 1, -inf, inf, nan}));
  EXPECT_EQ(f.nans, 2);
  EXPECT_EQ(f.infinities, 2);
}

TEST(Features, TellTheSymmetriesApart) {
  const auto with = [](double low, double high) {
    return nz::find_features(make(2, 2, {0, 2, 3}, {0, 1, 0}, {0, high, low}));
  };
  EXPECT_TRUE(with(5, 5).is_symmetric);
  EXPECT_FALSE(with(5, 5).is_skew_symmetric);
  EXPECT_TRUE(with(-5, 5).is_skew_symmetric);
  EXPECT_FALSE(with(-5, 5).is_symmetric);
  EXPECT_TRUE(with(4, 5).has_symmetric_pattern);
  EXPECT_FALSE(with(4, 5).is_symmetric || with(4, 5).is_skew_symmetric);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(with(nan, nan).is_symmetric);
  EXPECT_FALSE(with(nan, 5).is_symmetric);
}

TEST(Features, SeeThatAPatternIsNotSymmetricThoughRowsAndColumnsAreEquallyLong) {
  const auto cycle = make(3, 3, {0, 1, 2, 3}, {1, 2, 0}, {1, 1, 1});
  EXPECT_FALSE(nz::find_features(cycle).has_symmetric_pattern);
}

TEST(Features, SeeSymmetryInUnsortedRows) {
  const auto f = nz::find_features(make(2, 2, {0, 2, 4}, {1, 0, 1, 0}, {7, 1, 2, 7}));
  EXPECT_TRUE(f.is_symmetric);
}

TEST(Features, CountARepeatedColumnAsOneDiagonalEntry) {
  const auto f = nz::find_features(make(1, 1, {0, 2}, {0, 0}, {1, 2}));
  EXPECT_EQ(f.entries, 2);
  EXPECT_EQ(f.diagonal_entries, 1);
}

}  // namespace
