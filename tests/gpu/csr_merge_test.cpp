#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/plan/kernels.hpp>
// After the language that it is written in: sorted so by its name.
#include <nonzero/gpu/kernels/csr_merge.cuh>

#include "tests/gpu/exact_rows.hpp"

// Where csr_merge cuts rows. What it does on all kinds of matrices, tests/plan/kernels_test.cpp knows.
namespace {

using nz::index;

constexpr index tile = nz::gpu::items_per_tile;
constexpr index tiles_per_block = nz::gpu::threads_per_block;  // of the launch that finishes rows

class CsrMerge : public ExactRows {
 protected:
  static void check(const std::vector<index>& lengths) { check_rows("csr_merge", lengths); }
};

TEST_P(CsrMerge, FinishesRowsThatEndOnTheEdgeOfAShare) {
  for (index beyond = -3; beyond <= 3; ++beyond) {
    SCOPED_TRACE(beyond);
    // With its end a row of tile - 1 fills a tile; here and in the later ones the edge moves through the
    // row.
    check({tile - 1 + beyond});
    check({tile - 1 + beyond, 0, 0, 2, 1, 0});
    check({tile - 1 + beyond, tile - 1, tile - 1, tile - 1 - beyond, 1});
    check({5, 0, tile - 8 + beyond, 0, 4, tile - 1, 0, 0, 0});
  }
}

TEST_P(CsrMerge, FinishesRowsThatSpanSeveralShares) {
  check({3, 5 * tile + 3, 2 * tile, 1, 0, 0, 7, tile + 1, 2 * tile - 1, 3 * tile, 2, 0});
  check({0, 3 * tile - 1, 3 * tile - 1, 0});
}

TEST_P(CsrMerge, FinishesEmptyRowsThatFillShares) {
  for (const index rows : {1, tile - 1, tile, tile + 1, 3 * tile, 4 * tile + 5})
    check(std::vector<index>(static_cast<std::size_t>(rows), 0));
  std::vector<index> lengths(static_cast<std::size_t>(5) * tile, 0);
  lengths[tile / 2] = 2 * tile;
  lengths[3 * tile] = 1;
  lengths.back() = tile + 9;
  check(lengths);
}

TEST_P(CsrMerge, FinishesAGiantRow) {
  check({3 * tile + 17});
  check({300 * tile});
}

// The launch that finishes rows has blocks of so many tiles: this row leaves the second nothing to do,
// begins within the first and ends within the third.
TEST_P(CsrMerge, FinishesARowThatCoversAllSharesOfABlock) {
  std::vector<index> lengths(200, tile / 2);
  lengths.push_back(2 * tiles_per_block * tile);
  lengths.insert(lengths.end(), 20, tile / 2);
  check(lengths);
}

// Where few rows are split, the last block that has entries of one finishes it; and again in the next
// multiply.
TEST_P(CsrMerge, FinishesAFewLongRowsAmongManyShortOnes) {
  constexpr std::size_t many = 2000;
  std::vector<index> lengths;
  for (const index length : {tile, 3 * tile + 17, nz::gpu::longest_whole + 1, 2 * tile - 1}) {
    lengths.insert(lengths.end(), many, 10);
    lengths.push_back(length);
  }
  check(lengths);
  lengths.insert(lengths.begin(), tile / 3, 1);
  lengths.push_back(tile + 5);
  check(lengths);
}

// Large, with giant rows: blocks take tiles from many places at once, and there are more of them than
// tiles.
TEST_P(CsrMerge, FinishesGiantRowsAmongMillionsOfItems) {
  std::vector<index> lengths(100001, 50);
  lengths[3] = lengths[70000] = 300 * tile + 11;
  lengths[5] = 20;
  check(lengths);
}

TEST_P(CsrMerge, LeavesRowsWholeThatAreNotLong) {
  for (index beyond = -1; beyond <= 1; ++beyond)
    check(std::vector<index>(200, nz::gpu::longest_whole + beyond));
  std::vector<index> lengths(5000);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<index>(i * 7919 % 513);
  check(lengths);
}

TEST_P(CsrMerge, TakesHardlyMoreThanTheMatrix) {
  const nz::csr<double> a = rows_of(std::vector<index>(5 * tile, 2));
  const auto ready = nz::find_kernel("csr_merge", GetParam()).prepare(a, {.wide_offsets = true});
  const auto bytes = static_cast<double>(footprint_of(a).bytes);
  EXPECT_LT(static_cast<double>(ready->storage().bytes), 1.03 * bytes);  // with four scratch sets
}

INSTANTIATE_TEST_SUITE_P(On, CsrMerge, on_emulator_and_card, name_of_device);

}  // namespace
