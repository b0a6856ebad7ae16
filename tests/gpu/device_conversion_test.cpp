#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

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

/// Where the device's slices hold an entry: by their own rules, written once more.
struct place_in_slice {
  offset col, val;  // from the begin of the slice

  /// Entry k of a lane that has n places, of values of so many bytes.
  static place_in_slice of(int n, int lane, int k, std::size_t value_bytes) {
    for (int at = 0, size; at < n; at += size) {
      size = n - at >= 4 ? 4 : n - at >= 2 ? 2 : 1;
      if (k >= at + size) continue;
      const offset first = offset{at} * 32;
      const int q = k - at, halves = size * value_bytes > 16 ? 2 : 1, each = size / halves;
      return {first + lane * size + q, first + (q / each * 32 + lane) * each + q % each};
    }
    return {-1, -1};
  }
};

/// The arrays of a device_sell in the host's memory.
template <class V> struct sell_here {
  std::vector<nz::gpu::sell_slice> slice;
  std::vector<index> row;
  std::vector<std::uint16_t> col, upper;
  std::vector<V> val;
  std::optional<V> one_value;

  /// Entry k of a lane; its column is padding_column where there is none.
  std::pair<index, V> entry(const nz::gpu::sell_slice& s, int lane, int k) const {
    const auto at = place_in_slice::of(s.entries(), lane, k, sizeof(V));
    const offset begin = offset{s.begin} * 32;
    const std::uint32_t low = col[begin + at.col];
    const V v = one_value ? *one_value : val[begin + at.val];
    if (s.is_wide()) {
      const std::uint32_t high = upper[offset{s.base} * 32 + at.col];
      return {static_cast<index>(high << 16 | low), v};
    }
    return {low == nz::gpu::narrow_padding ? nz::padding_column : static_cast<index>(s.base + low), v};
  }
};

template <class V> struct found_row {
  std::vector<std::pair<index, V>> entries;
  int slices = 0;
};

/// Adds what a group of lanes has: entry e of a row of L lanes is entry e / L of lane e % L.
template <class V>
void add_lanes(const sell_here<V>& made, const nz::gpu::sell_slice& s, int first_lane, int lanes,
               found_row<V>& to) {
  ++to.slices;
  bool has_ended = false;
  for (int e = 0; e < s.entries() * lanes; ++e) {
    const auto found = made.entry(s, first_lane + e % lanes, e / lanes);
    has_ended = has_ended || found.first == nz::padding_column;
    if (!has_ended) {
      to.entries.push_back(found);
    } else {
      EXPECT_EQ(found.first, nz::padding_column);
      if (!made.one_value) {
        EXPECT_EQ(found.second, V{0});
      }
    }
  }
}

template <class Offset, class V> void expect_slices_hold(const csr<V>& a) {
  const auto from = make<nz::gpu::device_sell<V, Offset>>(a, sizeof(Offset) == 8, no_limit);
  const sell_here<V> made{from.slice.to_host(), from.row.to_host(), from.col.to_host(),
                          from.upper.to_host(), from.val.to_host(), from.one_value};
  std::vector<found_row<V>> rows(static_cast<std::size_t>(a.rows));
  const auto segment_row = from.segments.row.to_host();
  const auto split = from.segments.split.to_host();
  const auto in_segments = static_cast<std::size_t>(nz::gpu::slices_of_segment) * segment_row.size();
  for (std::size_t i = 0; i < made.slice.size(); ++i) {
    const nz::gpu::sell_slice& s = made.slice[i];
    ASSERT_LE(s.entries(), i < in_segments ? 8 : from.most);
    index low = a.cols, high = -1;
    const auto add = [&](index row, int first_lane, int lanes) {
      auto& to = rows[static_cast<std::size_t>(row)];
      const std::size_t before = to.entries.size();
      add_lanes(made, s, first_lane, lanes, to);
      for (std::size_t e = before; e < to.entries.size(); ++e) {
        low = std::min(low, to.entries[e].first);
        high = std::max(high, to.entries[e].first);
      }
    };
    if (i < in_segments) {
      const index row = segment_row[i / nz::gpu::slices_of_segment];
      add(row >= 0 ? row : split[static_cast<std::size_t>(-1 - row)].row, 0, 32);
    } else {
      const int lanes = 1 << s.lanes_log();
      ASSERT_LE(s.rows() * lanes, 32);
      for (int r = 0; r < s.rows(); ++r) {
        const index row = s.is_listed()
                              ? made.row[static_cast<std::size_t>(s.first) + static_cast<std::size_t>(r)]
                              : s.first + r;
        if (row >= 0) add(row, r * lanes, lanes);
      }
    }
    EXPECT_EQ(s.is_wide(), a.cols > nz::gpu::most_narrow_columns && high - low >= 65535);
  }
  for (index i = 0; i < a.rows; ++i) {
    const auto& found = rows[static_cast<std::size_t>(i)];
    const bool is_long = a.row_length(i) > 32 * from.most;
    EXPECT_EQ(found.slices % (is_long ? nz::gpu::slices_of_segment : found.slices), 0) << "row " << i;
    EXPECT_EQ(found.slices > 1, is_long) << "row " << i;
    ASSERT_EQ(static_cast<offset>(found.entries.size()), a.row_length(i)) << "row " << i;
    for (offset k = 0; k < a.row_length(i); ++k) {
      const auto [j, v] = found.entries[static_cast<std::size_t>(k)];
      const offset at = a.row_begin[i] + k;
      ASSERT_TRUE(j == a.col[at] && std::memcmp(&v, &a.val[at], sizeof v) == 0)
          << "row " << i << " entry " << k;
    }
  }
  const auto places = made.col.size();
  EXPECT_EQ(from.padding_bytes, (places - static_cast<std::size_t>(a.nnz())) *
                                    (sizeof(std::uint16_t) + (from.one_value ? 0 : sizeof(V))));
}

TYPED_TEST(DeviceConversion, MakesSlicesThatHoldTheMatrix) {
  for (const auto& [name, a] : matrices<TypeParam>()) {
    SCOPED_TRACE(name);
    expect_slices_hold<std::int32_t>(a);
    expect_slices_hold<offset>(a);
  }
}

/// Columns of 100,000: near each other in some slices, and as far apart as 16 bits reach, or further, in
/// others.
TYPED_TEST(DeviceConversion, MakesSlicesOfNearAndFarColumns) {
  csr<TypeParam> a{3000, 100'000, {0}, {}, {}};
  for (index i = 0; i < a.rows; ++i) {
    const index slice = i / 32, reach = slice % 4 == 0 ? 90'000 : slice % 4 == 1 ? 65'535 : 65'534;
    const index first = slice % 7 * 1000;
    for (index k = 0; k < 3 + i % 2; ++k) a.col.push_back(first + k);
    if (slice % 5 != 0) a.col.push_back(first + reach);
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  for (std::size_t k = 0; k < a.col.size(); ++k) a.val.push_back(static_cast<TypeParam>(k % 1000 + 1));
  expect_slices_hold<std::int32_t>(a);
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

TYPED_TEST(DeviceConversion, RefusesSlicesThatPadMoreThanTheBudget) {
  const auto a = nz::generate::rmat<TypeParam>(15, 16);
  using placed = nz::gpu::device_sell<TypeParam, std::int32_t>;
  const std::string why = refusal([&] { make<placed>(a, false, {0.001}); });
  EXPECT_NE(why.find("sell would take"), std::string::npos) << why;
}

}  // namespace
