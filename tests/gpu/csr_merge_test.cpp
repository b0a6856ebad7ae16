#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/plan/kernels.hpp>
// After the language that it is written in: sorted so by its name.
#include <nonzero/gpu/csr_merge.cuh>

#include "tests/gpu/card.hpp"

// Where csr_merge cuts rows. What it does on all kinds of matrices, tests/plan/kernels_test.cpp knows.
namespace {

using nz::device_kind;
using nz::index;
using nz::offset;

constexpr index share = nz::gpu::items_per_share;
constexpr index shares_per_block = nz::gpu::threads_per_block;  // of the launch that finishes rows

// Small whole numbers, so that every sum is exact in whatever order it is made.
int val_of(std::size_t k) { return static_cast<int>(k % 5) - 1; }
int x_of(index j) { return 1 + j % 3; }
int y_of(index i) { return i % 7 - 3; }

/// Rows of these lengths, each with the first columns.
nz::csr<double> rows_of(const std::vector<index>& lengths) {
  nz::csr<double> a;
  a.rows = static_cast<index>(lengths.size());
  a.cols = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  for (const index length : lengths) {
    for (index j = 0; j < length; ++j) {
      a.val.push_back(val_of(a.val.size()));
      a.col.push_back(j);
    }
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  return a;
}

class CsrMerge : public testing::TestWithParam<device_kind> {
 protected:
  void SetUp() override {
    if (GetParam() == device_kind::cuda) require_card();
  }

  /// y = 2 A x - y: an epilogue that is left out, or comes twice, shows in y.
  static void check(const std::vector<index>& lengths) {
    const nz::csr<double> a = rows_of(lengths);
    nz::validate(a);
    std::vector<double> x(a.cols), y0(a.rows), expected(a.rows);
    for (index j = 0; j < a.cols; ++j) x[j] = x_of(j);
    for (index i = 0; i < a.rows; ++i) {
      y0[i] = y_of(i);
      double sum = 0;
      for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) sum += a.val[k] * x[a.col[k]];
      expected[i] = 2 * sum - y0[i];
    }
    for (const bool wide : {false, true}) {
      const auto ready = nz::find_kernel("csr_merge", GetParam()).prepare(a, {.wide_offsets = wide});
      for (int run = 0; run < 2; ++run) {
        std::vector<double> y = y0;
        ready->multiply(2.0, x, -1.0, y);
        const auto wrong = std::mismatch(y.begin(), y.end(), expected.begin());
        if (wrong.first == y.end()) continue;
        ADD_FAILURE() << "row " << wrong.first - y.begin() << ": " << *wrong.first << ", not "
                      << *wrong.second << (wide ? ", wide offsets" : "");
      }
    }
  }
};

TEST_P(CsrMerge, FinishesRowsThatEndOnTheEdgeOfAShare) {
  for (index beyond = -3; beyond <= 3; ++beyond) {
    SCOPED_TRACE(beyond);
    // With its end a row of share - 1 fills a share; here and in the later ones the edge moves through the
    // row.
    check({share - 1 + beyond});
    check({share - 1 + beyond, 0, 0, 2, 1, 0});
    check({share - 1 + beyond, share - 1, share - 1, share - 1 - beyond, 1});
    check({5, 0, share - 8 + beyond, 0, 4, share - 1, 0, 0, 0});
  }
}

TEST_P(CsrMerge, FinishesRowsThatSpanSeveralShares) {
  check({3, 5 * share + 3, 2 * share, 1, 0, 0, 7, share + 1, 2 * share - 1, 3 * share, 2, 0});
  check({0, 3 * share - 1, 3 * share - 1, 0});
}

TEST_P(CsrMerge, FinishesEmptyRowsThatFillShares) {
  for (const index rows : {1, share - 1, share, share + 1, 3 * share, 4 * share + 5})
    check(std::vector<index>(static_cast<std::size_t>(rows), 0));
  std::vector<index> lengths(static_cast<std::size_t>(5) * share, 0);
  lengths[share / 2] = 2 * share;
  lengths[3 * share] = 1;
  lengths.back() = share + 9;
  check(lengths);
}

TEST_P(CsrMerge, FinishesAGiantRow) {
  check({3 * share + 17});
  check({300 * share});
}

// The launch that finishes rows has blocks of so many shares: this row leaves the second nothing to do,
// begins within the first and ends within the third.
TEST_P(CsrMerge, FinishesARowThatCoversAllSharesOfABlock) {
  std::vector<index> lengths(200, share / 2);
  lengths.push_back(2 * shares_per_block * share);
  lengths.insert(lengths.end(), 20, share / 2);
  check(lengths);
}

TEST_P(CsrMerge, TakesHardlyMoreThanTheMatrix) {
  const nz::csr<double> a = rows_of(std::vector<index>(5 * share, 2));
  const auto ready = nz::find_kernel("csr_merge", GetParam()).prepare(a, {.wide_offsets = true});
  const auto bytes = static_cast<double>(footprint_of(a).bytes);
  EXPECT_LT(static_cast<double>(ready->storage().bytes), 1.01 * bytes);
}

INSTANTIATE_TEST_SUITE_P(On, CsrMerge, testing::Values(device_kind::emulator, device_kind::cuda),
                         [](const auto& one) { return std::string(nz::name_of(one.param)); });

}  // namespace
