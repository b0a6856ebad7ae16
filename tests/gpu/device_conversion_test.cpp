#include <algorithm>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
// After the language that it is written in: sorted so by its name.
#include <nonzero/gpu/convert/device_bsr.cuh>
#include <nonzero/gpu/convert/device_sell.cuh>

#include "tests/formats/block_matrices.hpp"
#include "tests/gpu/warp_slices.hpp"

// What the device makes is bit by bit what the host makes.
namespace {

using nz::array;
using nz::csr;
using nz::index;
using nz::offset;
using nz::gpu::slice_height;

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

template <class T, class U>
void expect_same(const char* what, const nz::vector<T>& made, const array<U>& expected) {
  const array<T> same_type(expected.begin(), expected.end());
  const std::vector<T> here = made.to_host();
  ASSERT_EQ(here.size(), same_type.size()) << what;
  EXPECT_TRUE(here.empty() || std::memcmp(here.data(), same_type.data(), made.bytes()) == 0) << what;
}

/// Makes a Placed of the emulator.
template <class Placed, class V> Placed make(const csr<V>& a, bool wide, nz::padding_budget budget) {
  nz::prepare_options options{.budget = budget, .on = nz::emulator_device()};
  nz::emulator_queue queue(*options.on, {});
  return Placed(queue, nz::place_csr(a, options.on, wide), options);
}

array<offset> in_steps(array<offset> slice_begin) {
  for (offset& begin : slice_begin) begin /= slice_height;
  return slice_begin;
}

/// The battery, and what has windows in order, out of order and cut off.
template <class V> std::vector<battery::named_matrix<V>> matrices() {
  auto all = battery::matrices<V>();
  for (auto& m : block_matrices<V>()) all.push_back(std::move(m));
  all.push_back({"poisson_2d", nz::generate::poisson_2d<V>(70, 61)});
  all.push_back({"rmat", nz::generate::rmat<V>(12, 6)});
  all.push_back({"dense_rows", nz::generate::dense_rows<V>(3000, 3, 2)});
  all.push_back({"ones", nz::generate::rmat<V>(12, 6)});
  all.back().a.val.assign(all.back().a.col.size(), V{1});
  all.push_back({"fem_blocks", nz::generate::fem_blocks<V>(9, 8, 7)});
  return all;
}

template <class V> class DeviceConversion : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceConversion, precisions);

/// A row of so many entries in each 1,024, and nothing else: its slice pads 31 empty ones.
template <class V> csr<V> one_row_in_each_window(index length) {
  csr<V> a{20 * 1024, length, {0}, {}, {}};
  for (index i = 0; i < a.rows; ++i) {
    for (index j = 0; i % 1024 == 0 && j < length; ++j) {
      a.col.push_back(j);
      a.val.push_back(static_cast<V>(j + 1));
    }
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  return a;
}

template <class Offset, class V> void expect_same_slices(const csr<V>& a) {
  const auto made = make<nz::gpu::device_sell<V, Offset>>(a, sizeof(Offset) == 8, no_limit);
  const offset longest = nz::gpu::longest_in_slices(a.rows, a.nnz());
  auto expected = nz::gpu::to_warp_slices<V>(a, no_limit, longest);
  for (index& i : expected.row)
    if (a.row_length(i) > longest) i = -1;
  const auto rows = nz::gpu::rows_of_slices(expected.row);
  EXPECT_EQ(made.rows, a.rows);
  EXPECT_EQ(made.cols, a.cols);
  expect_same("slice_begin", made.slice_begin, in_steps(expected.slice_begin));
  expect_same("first", made.row.first, rows.first);
  expect_same("listed", made.row.listed, rows.listed);
  expect_same("col", made.col, expected.col);
  expect_same("val", made.val, made.one_value ? array<V>{} : expected.val);
  array<index> segment_col;
  array<V> segment_val;
  for (index i = 0; i < a.rows; ++i) {
    if (a.row_length(i) <= longest) continue;
    segment_col.insert(segment_col.end(), a.col.begin() + a.row_begin[i], a.col.begin() + a.row_begin[i + 1]);
    segment_val.insert(segment_val.end(), a.val.begin() + a.row_begin[i], a.val.begin() + a.row_begin[i + 1]);
  }
  expect_same("segment_col", made.segment_col, segment_col);
  expect_same("segment_val", made.segment_val, made.one_value ? array<V>{} : segment_val);
  const auto padding = static_cast<std::uint64_t>(std::ranges::count(expected.col, nz::padding_column));
  EXPECT_EQ(made.padding_bytes, padding * (sizeof(index) + (made.one_value ? 0 : sizeof(V))));
}

TYPED_TEST(DeviceConversion, MakesTheSlicesThatTheHostMakes) {
  for (const auto& [name, a] : matrices<TypeParam>()) {
    SCOPED_TRACE(name);
    expect_same_slices<std::int32_t>(a);
    expect_same_slices<offset>(a);
  }
}

template <class Work> std::string refusal(Work work) {
  try {
    work();
  } catch (const nz::unsupported& e) {
    return e.what();
  }
  return "none";
}

template <class A, class Offset>
void expect_same_blocks(const nz::gpu::device_blocks<A, Offset>& made, const nz::bsr<A>& from) {
  const auto expected = nz::gpu::interleave(from, no_limit);
  const auto rows = nz::gpu::rows_of_slices(expected.block_row);
  EXPECT_EQ(made.block_size, from.block_size);
  EXPECT_EQ(made.block_rows, from.block_rows());
  expect_same("slice_begin", made.slice_begin, in_steps(expected.slice_begin));
  expect_same("first", made.block_row.first, rows.first);
  expect_same("listed", made.block_row.listed, rows.listed);
  expect_same("block_col", made.block_col, expected.block_col);
  expect_same("val", made.val, expected.val);
  const csr<A>& rest = from.rest;
  array<index> rest_row;
  array<offset> rest_begin;
  for (index i = 0; i < rest.rows; ++i) {
    if (rest.row_length(i) == 0) continue;
    rest_row.push_back(i);
    rest_begin.push_back(rest.row_begin[i]);
  }
  rest_begin.push_back(rest.nnz());
  expect_same("rest.row", made.rest.row, rest_row);
  expect_same("rest.row_begin", made.rest.row_begin, rest_begin);
  expect_same("rest.col", made.rest.col, rest.col);
  expect_same("rest.val", made.rest.val, rest.val);
}

/// Where the host finds blocks, the device does; where it refuses, the device does, in the same words.
template <class Offset, class V> bool expect_same_blocks(const csr<V>& a) {
  using placed = nz::gpu::device_bsr<V, Offset>;
  const nz::bsr_options how{.longest_row = std::max<offset>(1024, 4 * a.nnz() / std::max(a.rows, 1))};
  const bool wide = sizeof(Offset) == 8;
  const auto refused = refusal([&] { to_bsr(a, how); });
  EXPECT_EQ(refusal([&] { make<placed>(a, wide, no_limit); }), refused);
  if (refused != "none") return false;
  const auto made = make<placed>(a, wide, no_limit);
  if constexpr (std::is_same_v<V, double>)
    if (const auto narrow = nz::to_bsr_of_floats(a, how)) {
      EXPECT_EQ(made.blocks.index(), 0U);
      if (made.blocks.index() == 0) expect_same_blocks(std::get<0>(made.blocks), *narrow);
      return true;
    }
  const auto* const blocks = std::get_if<nz::gpu::device_blocks<V, Offset>>(&made.blocks);
  EXPECT_NE(blocks, nullptr);
  if (blocks != nullptr) expect_same_blocks(*blocks, to_bsr(a, how));
  return true;
}

TYPED_TEST(DeviceConversion, MakesTheBlocksThatTheHostMakes) {
  int with_blocks = 0;
  for (auto& [name, a] : matrices<TypeParam>()) {
    SCOPED_TRACE(name);
    with_blocks += expect_same_blocks<std::int32_t>(a);
    expect_same_blocks<offset>(a);
    for (TypeParam& v : a.val) v = static_cast<TypeParam>(static_cast<float>(v));
    expect_same_blocks<std::int32_t>(a);
  }
  EXPECT_GT(with_blocks, 6);
}

TYPED_TEST(DeviceConversion, RefusesPaddingOfBlocksInTheWordsOfTheHost) {
  // A block row of 500 blocks in each 32.
  const index size = 2, blocks = 500, block_rows = 40;
  csr<TypeParam> a{block_rows * size, blocks * size, {0}, {}, {}};
  for (index i = 0; i < a.rows; ++i) {
    for (index j = 0; i / size % 32 == 0 && j < a.cols; ++j) a.col.push_back(j);
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  a.val.assign(a.col.size(), TypeParam{1} / 3);
  const auto expected = refusal([&] { nz::gpu::interleave(to_bsr(a), {}); });
  EXPECT_NE(expected.find("bsr by slices would take"), std::string::npos) << expected;
  using placed = nz::gpu::device_bsr<TypeParam, std::int32_t>;
  EXPECT_EQ(refusal([&] { make<placed>(a, false, {}); }), expected);
}

TYPED_TEST(DeviceConversion, RefusesPaddingInTheWordsOfTheHost) {
  const auto a = one_row_in_each_window<TypeParam>(64);
  constexpr nz::padding_budget budget{1.5};
  const auto expected = refusal([&] { nz::gpu::to_warp_slices<TypeParam>(a, budget); });
  EXPECT_NE(expected, "none");
  using placed = nz::gpu::device_sell<TypeParam, std::int32_t>;
  EXPECT_EQ(refusal([&] { make<placed>(a, false, budget); }), expected);
}

}  // namespace
