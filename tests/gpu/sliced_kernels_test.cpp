#include <limits>

#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/formats/block_matrices.hpp"

// sell_slices and bsr_rows in the emulator, where the battery does not reach.
namespace {

using nz::csr;
using nz::index;

const nz::kernel_row& bsr_rows() { return nz::find_kernel("bsr_rows", nz::device_kind::emulator); }
const nz::kernel_row& sell_slices() { return nz::find_kernel("sell_slices", nz::device_kind::emulator); }

/// With x that has infinities where no entry is and NaN where one is: padding that is multiplied would show.
template <class V> void expect_right(const nz::kernel_row& kernel, const csr<V>& a, bool wide_offsets) {
  std::vector<V> x = battery::numbers<V>(static_cast<std::size_t>(a.cols), 1);
  std::vector<bool> is_used(x.size());
  for (const index j : a.col) is_used[static_cast<std::size_t>(j)] = true;
  for (std::size_t j = 0; j < x.size(); ++j)
    if (!is_used[j]) x[j] = std::numeric_limits<V>::infinity();
  x[static_cast<std::size_t>(a.col.front())] = std::numeric_limits<V>::quiet_NaN();
  const std::vector<V> y0 = battery::numbers<V>(static_cast<std::size_t>(a.rows), 2);
  const auto exact = nz::reference::multiply_exactly<V>(V{2}, a, x, V{-1}, y0);
  const auto ready = kernel.prepare(a, {.wide_offsets = wide_offsets});
  for (int run = 0; run < 2; ++run) {  // the second must not find anything of the first
    std::vector<V> y = y0;
    ready->multiply(V{2}, x, V{-1}, y);
    EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L) << "run " << run;
  }
}

template <class V> csr<V> with_float_values(csr<V> a) {
  for (V& v : a.val) v = static_cast<V>(static_cast<float>(v));
  return a;
}

/// Blocks of 3 x 3, and one block row of 3,000 columns.
template <class V> csr<V> with_long_block_row() {
  const index at = 40, size = 3;
  const csr<V> from = block_matrix<V>({.size = size, .block_rows = 400, .per_row = 3});
  csr<V> a;
  a.rows = from.rows;
  a.cols = from.cols;
  for (index i = 0; i < from.rows; ++i) {
    const bool is_long = i / size == at;
    const nz::offset length = is_long ? 3000 : from.row_length(i);
    for (nz::offset k = 0; k < length; ++k) {
      a.col.push_back(is_long ? static_cast<index>(k) : from.col[from.row_begin[i] + k]);
      a.val.push_back(is_long ? static_cast<V>(k % 7) / V{7} : from.val[from.row_begin[i] + k]);
    }
    a.row_begin.push_back(static_cast<nz::offset>(a.col.size()));
  }
  return a;
}

template <class V> class SlicedKernels : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(SlicedKernels, precisions);

TYPED_TEST(SlicedKernels, AreRightForBlocksOfEverySize) {
  bool wide_offsets = false;
  for (const auto& [name, a] : block_matrices<TypeParam>()) {
    SCOPED_TRACE(name);
    expect_right(bsr_rows(), a, wide_offsets);
    expect_right(bsr_rows(), with_float_values(a), !wide_offsets);
    expect_right(sell_slices(), a, wide_offsets);
    wide_offsets = !wide_offsets;
  }
}

TYPED_TEST(SlicedKernels, LeaveALongBlockRowToTheRest) {
  const auto a = with_long_block_row<TypeParam>();
  expect_right(bsr_rows(), a, false);
  // Not to the slices, where it would pad 31 others to a thousand blocks.
  EXPECT_LT(bsr_rows().prepare(a)->storage().padding_bytes, nz::footprint_of(a).bytes / 10);
}

TEST(BsrRowsOnGpu, TakesHalfTheBytesWhereDoublesAreFloats) {
  const auto a = block_matrix<double>({.block_rows = 32, .per_row = 1});  // no padding
  const auto floats = with_float_values(a);
  EXPECT_EQ(bsr_rows().prepare(a)->storage().padding_bytes, 0U);
  EXPECT_EQ(bsr_rows().prepare(a)->storage().bytes - bsr_rows().prepare(floats)->storage().bytes,
            4 * static_cast<std::uint64_t>(a.nnz()));
}

TEST(BsrRowsOnGpu, RefusesAMatrixWithoutBlocks) {
  const csr<double> a{3, 3, {0, 1, 2, 3}, {0, 1, 2}, {1, 1, 1}};
  EXPECT_THROW(bsr_rows().prepare(a), nz::unsupported);
  EXPECT_THROW(bsr_rows().prepare(csr<double>{}), nz::unsupported);
}

TEST(SellSlicesOnGpu, TakesNoMoreThanCsrForARegularMatrix) {
  const auto a = nz::generate::poisson_2d<double>(300, 300);
  EXPECT_LE(sell_slices().prepare(a)->storage().bytes, nz::footprint_of(a).bytes);
}

TEST(SellSlicesOnGpu, TakesNoMoreThanCsrForGiantRows) {
  const auto a = nz::generate::dense_rows<float>(3000, 3, 2);
  EXPECT_LE(sell_slices().prepare(a)->storage().bytes, nz::footprint_of(a).bytes);
}

TEST(SellSlicesOnGpu, HoldsNoValuesWhereTheyAreTheSame) {
  auto a = nz::generate::poisson_2d<double>(300, 300);
  const auto with_values = sell_slices().prepare(a)->storage().bytes;
  a.val.assign(a.val.size(), -0.5);
  EXPECT_LE(sell_slices().prepare(a)->storage().bytes, with_values / 3 + 64 * 1024);
}

TYPED_TEST(SlicedKernels, MultiplyInfinitiesByEntriesAlone) {
  auto a = nz::generate::rmat<TypeParam>(12, 6);
  a.val.assign(a.val.size(), std::numeric_limits<TypeParam>::infinity());
  expect_right(sell_slices(), a, false);
}

}  // namespace
