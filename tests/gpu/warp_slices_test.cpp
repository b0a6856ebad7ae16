#include "tests/gpu/warp_slices.hpp"

#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/formats/block_matrices.hpp"
#include "tests/formats/identical.hpp"

namespace {

using nz::array;
using nz::bsr;
using nz::csr;
using nz::index;
using nz::offset;
using nz::gpu::slice_height;

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

template <class V> class WarpSlices : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(WarpSlices, precisions);

array<index> places_of(const nz::gpu::slice_rows& rows, std::size_t count) {
  array<index> out;
  for (const index first : rows.first)
    for (index l = 0; l < slice_height && out.size() < count; ++l)
      out.push_back(first >= 0 ? first + l : rows.listed[(-1 - first) * slice_height + l]);
  return out;
}

TYPED_TEST(WarpSlices, HoldTheEntriesOfEveryMatrixOfTheBattery) {
  for (const auto& [name, a] : battery::matrices<TypeParam>()) {
    SCOPED_TRACE(name);
    const auto made = nz::gpu::to_warp_slices<TypeParam>(a, no_limit);
    validate(made);
    EXPECT_EQ(made.slices(), (offset{a.rows} + slice_height - 1) / slice_height);
    expect_identical(to_csr(made), a);
    const auto rows = nz::gpu::rows_of_slices(made.row);
    EXPECT_EQ(static_cast<offset>(rows.first.size()), made.slices());
    EXPECT_EQ(places_of(rows, made.row.size()), made.row);
  }
}

TEST(SliceRows, AreListedOnlyWhereTheyAreNoNeighbours) {
  EXPECT_TRUE(nz::gpu::rows_of_slices({}).first.empty());
  array<index> row(100);
  std::iota(row.begin(), row.end(), 0);
  EXPECT_EQ(nz::gpu::rows_of_slices(row).first, (array<index>{0, 32, 64, 96}));
  EXPECT_TRUE(nz::gpu::rows_of_slices(row).listed.empty());
  std::swap(row[40], row[41]);
  std::swap(row[97], row[98]);
  const auto rows = nz::gpu::rows_of_slices(row);
  EXPECT_EQ(rows.first, (array<index>{0, -1, 64, -2}));
  ASSERT_EQ(rows.listed.size(), 64U);
  EXPECT_EQ(rows.listed[8], 41);
  EXPECT_EQ(rows.listed[33], 98);
  EXPECT_EQ(rows.listed[36], -1);  // there is no row 100
  EXPECT_EQ(places_of(rows, row.size()), row);
}

/// The blocks where they were before.
template <class V> bsr<V> deinterleave(const nz::gpu::interleaved_blocks<V>& a, const bsr<V>& like) {
  bsr<V> out = like;
  const index size = a.block_size;
  std::fill(out.block_col.begin(), out.block_col.end(), -1);
  std::fill(out.val.begin(), out.val.end(), V{-1});
  for (std::size_t place = 0; place < a.block_row.size(); ++place) {
    const auto slice = static_cast<offset>(place) / slice_height,
               l = static_cast<offset>(place) % slice_height;
    offset block = like.block_begin[a.block_row[place]];
    for (offset at = a.slice_begin[slice] + l; at < a.slice_begin[slice + 1]; at += slice_height, ++block) {
      if (a.block_col[at] == nz::padding_column) break;
      out.block_col[block] = a.block_col[at];
      for (index r = 0; r < size; ++r)
        for (index c = 0; c < size; ++c)
          out.val[(block * size + c) * size + r] =
              a.val[(((at - l) / slice_height * size + r) * size + c) * slice_height + l];
    }
  }
  return out;
}

TYPED_TEST(WarpSlices, HoldTheBlocksOfEveryMatrixThatHasSome) {
  auto matrices = battery::matrices<TypeParam>();
  for (auto& m : block_matrices<TypeParam>()) matrices.push_back(std::move(m));
  for (const auto& [name, a] : matrices) {
    SCOPED_TRACE(name);
    const auto blocks = to_bsr(a, {.min_fill = 0});
    const auto made = nz::gpu::interleave(blocks, no_limit);
    EXPECT_EQ(made.val.size(),
              made.block_col.size() * static_cast<std::size_t>(blocks.block_size * blocks.block_size));
    const auto padding =
        static_cast<offset>(std::count(made.block_col.begin(), made.block_col.end(), nz::padding_column));
    EXPECT_EQ(static_cast<offset>(made.block_col.size()) - padding, blocks.blocks());
    expect_identical(to_csr(deinterleave(made, blocks)), a);
  }
}

TEST(InterleavedBlocks, LieSideBySideWithZerosBesideShorterRows) {
  // Block row 1 has two blocks, block row 0 one: block row 1 comes first.
  const csr<double> a{
      4, 4, {0, 2, 4, 8, 12}, {0, 1, 0, 1, 0, 1, 2, 3, 0, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  const auto made = nz::gpu::interleave(to_bsr(a, {.block_size = 2}), no_limit);
  EXPECT_EQ(made.block_row, (array<index>{1, 0}));
  EXPECT_EQ(made.slice_begin, (array<offset>{0, 64}));
  ASSERT_EQ(made.val.size(), 256U);
  const auto at = [&](std::size_t step, std::size_t value, std::size_t lane) {
    return made.val[(step * 4 + value) * 32 + lane];
  };
  for (std::size_t q = 0; q < 4; ++q) {
    EXPECT_EQ(at(0, q, 0), (array<double>{5, 6, 9, 10})[q]);
    EXPECT_EQ(at(1, q, 0), (array<double>{7, 8, 11, 12})[q]);
    EXPECT_EQ(at(0, q, 1), (array<double>{1, 2, 3, 4})[q]);
    EXPECT_EQ(at(1, q, 1), 0);
    EXPECT_EQ(at(0, q, 2), 0);
  }
  EXPECT_EQ(made.block_col[0], 0);
  EXPECT_EQ(made.block_col[32], 1);
  EXPECT_EQ(made.block_col[33], nz::padding_column);
}

TEST(InterleavedBlocks, AreRefusedWherePaddingBreaksTheBudget) {
  // A block row of a thousand blocks and 31 without any.
  const index size = 2, blocks = 1000;
  csr<float> a{32 * size, blocks * size, array<offset>(32 * size + 1, 2 * blocks * size), {}, {}};
  a.row_begin[0] = 0;
  a.row_begin[1] = blocks * size;
  for (index r = 0; r < size; ++r)
    for (index j = 0; j < blocks * size; ++j) a.col.push_back(j);
  a.val.assign(a.col.size(), 1.0F);
  const auto converted = to_bsr(a, {.block_size = size});
  EXPECT_NO_THROW(nz::gpu::interleave(converted, {20}));
  try {
    nz::gpu::interleave(converted, {});
    FAIL();
  } catch (const nz::unsupported& e) {
    EXPECT_NE(std::string(e.what()).find("bsr by slices would take"), std::string::npos) << e.what();
  }
}

}  // namespace
