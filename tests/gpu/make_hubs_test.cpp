#include <bit>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
#include <nonzero/io/generate.hpp>
// After the language that it is written in: sorted so by its name.
#include <nonzero/gpu/convert/device_hubs.cuh>

#include "tests/formats/packing_matrices.hpp"

namespace {

using nz::csr;
using nz::index;
using nz::offset;

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

template <class T> void expect_same(const char* name, const nz::vector<T>& made, const nz::array<T>& wanted) {
  ASSERT_EQ(made.size(), wanted.size()) << name;
  EXPECT_TRUE(wanted.empty() || std::memcmp(made.data(), wanted.data(), made.bytes()) == 0) << name;
}

/// What is made on the device is what to_hubs makes, bit for bit.
template <class V, class Offset> void check(const csr<V>& a) {
  const auto on = nz::emulator_device();
  nz::emulator_queue queue(*on, {});
  const auto placed = nz::place_csr(a, on, sizeof(Offset) == sizeof(offset));
  const nz::gpu::device_hubs<V, V, Offset> made(queue, placed, {.budget = no_limit, .on = on});
  const auto wanted = to_hubs(a, {.most_hubs = nz::gpu::room_for_hubs<V>(queue, a.nnz())}, no_limit);
  EXPECT_EQ(made.rows, wanted.rows);
  EXPECT_EQ(made.cols, wanted.cols);
  expect_same("hub", made.hub, wanted.hub);
  expect_same("split_row", made.split_row, wanted.split_row);
  expect_same("segment_begin", made.segment_begin, wanted.segment_begin);
  expect_same("target", made.target, wanted.target);
  expect_same("hub_length", made.hub_length, wanted.hub_length);
  expect_same("rest_length", made.rest_length, wanted.rest_length);
  expect_same("hub_number", made.hub_number, wanted.hub_number);
  expect_same("rest_col", made.rest_col, wanted.rest_col);
  expect_same("constant", made.constant, wanted.constant);
  expect_same("dictionary", made.dictionary, wanted.dictionary);
  expect_same("coded_value", made.coded_value, wanted.coded_value);
  expect_same("single_value", made.single_value, wanted.single_value);
  expect_same("full_value", made.full_value, wanted.full_value);
  ASSERT_EQ(made.slices.size(), wanted.slices.size());
  for (std::size_t s = 0; s < made.slices.size(); ++s) {
    const auto& got = made.slices.data()[s];
    const auto& slice = wanted.slices[s];
    EXPECT_EQ(got.hub_step, slice.hub_step);
    EXPECT_EQ(got.rest_step, slice.rest_step);
    EXPECT_EQ(got.value, slice.value);
    EXPECT_EQ(got.hub_steps, slice.hub_steps);
    EXPECT_EQ(got.rest_steps, slice.rest_steps);
    EXPECT_EQ(got.values, slice.values);
  }
  EXPECT_EQ(made.padding_bytes, footprint_of(wanted).padding_bytes);
}

template <class V> csr<V> with_values(csr<V> a, const std::vector<V>& values) {
  for (std::size_t k = 0; k < a.val.size(); ++k) a.val[k] = values[k * 7 % values.size()];
  return a;
}

/// So many values: every kind of NaN, zero and limit, then others.
template <class V> std::vector<V> odd_values(int count) {
  using limits = std::numeric_limits<V>;
  std::vector<V> out{V{0},
                     -V{0},
                     limits::quiet_NaN(),
                     limits::signaling_NaN(),
                     limits::max(),
                     limits::lowest(),
                     limits::denorm_min(),
                     limits::infinity()};
  if constexpr (sizeof(V) == 8)
    for (const std::uint64_t bits :
         {~std::uint64_t{0}, std::uint64_t{0xfff9'0000'2000'0000}, std::uint64_t{0x7ff8'0000'1000'0000}})
      out.push_back(std::bit_cast<V>(bits));
  else
    out.push_back(std::bit_cast<V>(~std::uint32_t{0}));
  while (static_cast<int>(out.size()) < count) out.push_back(static_cast<V>(out.size()) + V{0.5});
  out.resize(static_cast<std::size_t>(count));
  return out;
}

template <class V> class MakeHubs : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(MakeHubs, precisions);

TYPED_TEST(MakeHubs, OnTheDeviceGivesWhatTheHostGives) {
  using V = TypeParam;
  auto matrices = battery::matrices<V>();
  for (auto& m : packing_matrices<V>()) matrices.push_back(std::move(m));
  const auto graph = nz::generate::rmat<V>(13, 12);
  matrices.push_back({"power law", graph});
  for (const int count : {1, 2, 12, 256, 257, 3000})
    matrices.push_back({std::to_string(count) + " values", with_values(graph, odd_values<V>(count))});
  for (const auto& [name, a] : matrices) {
    SCOPED_TRACE(name);
    check<V, std::int32_t>(a);
    check<V, offset>(a);
  }
}

TEST(MakeHubsOnce, SinglePrecisionIsExactForTheSameValues) {
  // A slice for each row length; of the values of each some are exact in single precision.
  std::vector<index> lengths(32 * 12);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<index>(12 - i / 32);
  auto a = nz::generate::row_lengths<double>(100, lengths, 3);
  const auto odd = odd_values<double>(12);
  for (std::size_t k = 0; k < a.val.size(); ++k)  // more than 256 values: no dictionary
    a.val[k] = k % 5 == 0 ? odd[k / 200 % odd.size()] : static_cast<double>(k % 400);
  check<double, std::int32_t>(a);
}

TEST(MakeHubsOnce, RefusesPaddingPastTheBudget) {
  csr<double> a{40, 128, nz::array<offset>(41, 128), nz::array<index>(128), nz::array<double>(128, 1.5)};
  a.row_begin[0] = 0;
  for (index j = 0; j < 128; ++j) a.val[j] = a.col[j] = j;
  const auto on = nz::emulator_device();
  nz::emulator_queue queue(*on, {});
  const auto make = [&] {
    nz::gpu::device_hubs<double, double, std::int32_t>(queue, nz::place_csr(a, on),
                                                       {.budget = {1.0}, .on = on});
  };
  EXPECT_THROW(make(), nz::unsupported);
}

}  // namespace
