#include <limits>

#include <gtest/gtest.h>

#include <nonzero/gpu/cuda/sliced_ell_internal.hpp>

#include "tests/battery/battery.hpp"

namespace {

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

/// Entry by entry, back to what it was made from.
template <class V> void expect_same_entries(const nz::csr<V>& a, const nz::sliced_ell<V>& made) {
  constexpr nz::index height = nz::sliced_ell<V>::rows_per_slice;
  nz::offset entries = 0;
  for (nz::index i = 0; i < a.rows; ++i) {
    const nz::offset begin = made.slice_begin[i / height], end = made.slice_begin[i / height + 1];
    ASSERT_EQ((end - begin) % height, 0);
    for (nz::offset k = 0; k < (end - begin) / height; ++k) {
      const nz::offset at = begin + k * height + i % height;
      if (k >= a.row_length(i)) {
        ASSERT_EQ(made.col[at], nz::padding_column);
        ASSERT_EQ(made.val[at], V{0});
        continue;
      }
      const nz::offset from = a.row_begin[i] + k;
      ASSERT_EQ(made.col[at], a.col[from]);
      ASSERT_TRUE(made.val[at] == a.val[from] || a.val[from] != a.val[from]);
      ++entries;
    }
  }
  EXPECT_EQ(entries, a.nnz());
}

TEST(SlicedEll, HoldsTheEntriesOfEveryMatrixOfTheBattery) {
  for (const auto& [name, a] : battery::matrices<double>()) {
    SCOPED_TRACE(name);
    const auto made = nz::to_sliced_ell<double>(a, no_limit);
    EXPECT_EQ(static_cast<nz::offset>(made.slice_begin.size()), (nz::offset{a.rows} + 31) / 32 + 1);
    EXPECT_EQ(static_cast<nz::offset>(made.col.size()), made.slice_begin.back());
    EXPECT_EQ(made.nnz, a.nnz());
    expect_same_entries(a, made);
  }
}

TEST(SlicedEll, PadsEachSliceToItsOwnLongestRow) {
  // Row 0 has two entries, row 32 one, the other 31 of each slice none.
  nz::csr<float> a{33, 4, nz::array<nz::offset>(34, 2), {1, 3, 0}, {5, 6, 7}};
  a.row_begin[0] = 0;
  a.row_begin[33] = 3;
  const auto made = nz::to_sliced_ell<float>(a, no_limit);
  EXPECT_EQ(made.slice_begin, (nz::array<nz::offset>{0, 64, 96}));
  EXPECT_EQ(made.col[0], 1);
  EXPECT_EQ(made.col[32], 3);
  EXPECT_EQ(made.col[64], 0);
  EXPECT_EQ(made.size().padding_bytes, 93U * 8);
}

TEST(SlicedEll, RefusesPaddingPastTheBudget) {
  nz::csr<float> a{32, 1000, nz::array<nz::offset>(33, 1000), nz::array<nz::index>(1000, 7),
                   nz::array<float>(1000, 1)};
  a.row_begin[0] = 0;
  EXPECT_THROW(nz::to_sliced_ell<float>(a, {}), nz::unsupported);
  EXPECT_EQ(nz::to_sliced_ell<float>(a, no_limit).col.size(), 32000U);
}

}  // namespace
