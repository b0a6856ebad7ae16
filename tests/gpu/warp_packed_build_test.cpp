#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
// After the language that it is written in: sorted so by its name.
#include <nonzero/gpu/convert/device_warp_packed.cuh>
#include <nonzero/io/generate.hpp>

#include "tests/formats/packing_matrices.hpp"

namespace {

using nz::csr;
using nz::index;
using nz::offset;
using nz::warp_packed;
using nz::warp_packed_step;
using nz::gpu::device_warp_packed;

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

template <class V, class Offset>
device_warp_packed<V, Offset> converted(const csr<V>& a, nz::padding_budget budget,
                                        std::uint64_t hash_mask = ~std::uint64_t{0}) {
  const auto on = nz::emulator_device();
  nz::emulator_queue queue(*on, {});
  const auto placed = nz::place_csr(a, on, sizeof(Offset) == sizeof(offset));
  return {queue, placed, {.budget = budget, .on = on}, hash_mask};
}

template <class T, class U> void expect_same_bytes(const nz::vector<T>& a, const U& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_TRUE(a.size() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

template <class V, class Offset>
void expect_as_on_host(const device_warp_packed<V, Offset>& made, const warp_packed<V>& host) {
  EXPECT_EQ(made.rows, host.rows);
  expect_same_bytes(made.row, host.row);
  expect_same_bytes(made.pattern, host.pattern);
  expect_same_bytes(made.value, std::vector<Offset>(host.value.begin(), host.value.end()));
  expect_same_bytes(made.offsets, host.offsets);
  expect_same_bytes(made.single_value, host.single_value);
  expect_same_bytes(made.full_value, host.full_value);
  ASSERT_EQ(made.patterns.size(), host.patterns.size());
  ASSERT_EQ(made.steps.size(), host.steps.size());
  for (std::size_t i = 0; i < host.patterns.size(); ++i) {
    const nz::warp_packed_pattern &p = made.patterns.data()[i], &q = host.patterns[i];
    EXPECT_TRUE(p.step == q.step && p.steps == q.steps && p.offsets == q.offsets && p.width == q.width &&
                p.values == q.values)
        << "pattern " << i;
  }
  for (std::size_t k = 0; k < host.steps.size(); ++k) {
    const warp_packed_step<V>&s = made.steps.data()[k], &t = host.steps[k];
    EXPECT_TRUE(s.column == t.column && s.mask == t.mask && std::memcmp(&s.value, &t.value, sizeof(V)) == 0)
        << "step " << k;
  }
  const device_warp_packed<V, Offset> from_host(host, {.on = nz::emulator_device()});
  EXPECT_EQ(made.storage(), from_host.storage());
  EXPECT_EQ(made.of_constants, from_host.of_constants);
  EXPECT_EQ(made.their_steps, from_host.their_steps);
}

template <class V> void check(const csr<V>& a) {
  const warp_packed<V> host = to_warp_packed(a, no_limit);
  expect_as_on_host(converted<V, std::int32_t>(a, no_limit), host);
  expect_as_on_host(converted<V, offset>(a, no_limit), host);
}

/// Row i has lengths[i] entries anywhere, some of them twice and not in order.
template <class V> csr<V> scattered(const std::vector<index>& lengths, index cols) {
  csr<V> a{static_cast<index>(lengths.size()), cols, {0}, {}, {}};
  std::uint64_t state = 1;
  for (const index length : lengths) {
    for (index k = 0; k < length; ++k) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      a.col.push_back(static_cast<index>((state >> 33) % static_cast<std::uint64_t>(cols)));
      a.val.push_back(static_cast<V>(state >> 20) / 3);
    }
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  return a;
}

/// Values that only their bits tell apart, or that only double precision holds.
template <class V> csr<V> with_values(csr<V> a, const std::vector<V>& values) {
  for (std::size_t k = 0; k < a.val.size(); ++k) a.val[k] = values[k * k % values.size()];
  return a;
}

double nan_with(std::uint64_t bits) {
  const std::uint64_t all = std::uint64_t{0x7ff} << 52 | bits;
  double out;
  std::memcpy(&out, &all, sizeof(out));
  return out;
}

template <class V> class WarpPackedOnDevice : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(WarpPackedOnDevice, precisions);

TYPED_TEST(WarpPackedOnDevice, AreWhatTheHostMakes) {
  using V = TypeParam;
  auto matrices = packing_matrices<V>();
  for (const auto& m : battery::matrices<V>())
    if (m.a.nnz() < 20'000) matrices.push_back(m);
  matrices.push_back({"2-D", nz::generate::poisson_2d<V>(70, 50)});
  matrices.push_back({"3-D", nz::generate::poisson_3d<V>(15, 14, 13)});
  matrices.push_back({"27 points", nz::generate::poisson_27<V>(12, 11, 10)});
  matrices.push_back({"FEM", nz::generate::fem_blocks<V>(6, 6, 6)});
  matrices.push_back({"strangers", with_strangers(nz::generate::poisson_2d<V>(70, 50), {7, 900}, {3, 40})});
  std::vector<index> lengths(2500);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] = static_cast<index>(i < 1024 ? 5 : i * i * 7 % 23);
  matrices.push_back({"a window as it is, others sorted", scattered<V>(lengths, 3000)});
  matrices.push_back({"offsets of four bytes", scattered<V>(lengths, 2'000'000'000)});
  matrices.push_back({"few columns, many twice", scattered<V>(lengths, 7)});
  for (const auto& [name, a] : matrices) {
    SCOPED_TRACE(name);
    check(a);
  }
}

TEST(WarpPackedConversion, KeepsTheBitsOfZerosAndNaNs) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr std::uint64_t quiet = std::uint64_t{1} << 51;
  const auto a = nz::generate::poisson_2d<double>(40, 10);
  const std::vector<std::vector<double>> kinds{{0.0, -0.0},
                                               {-0.0},
                                               {1, inf, -inf, 1e-45, 1e-300},
                                               {1, 5e-324},
                                               {1, 1e300},
                                               {nan_with(quiet)},
                                               {nan_with(quiet | 1)},
                                               {1, nan_with(quiet)},
                                               {1, -nan_with(quiet | std::uint64_t{1} << 30)},
                                               {1, nan_with(quiet | 1)},
                                               {1, nan_with(std::uint64_t{1} << 40)}};
  for (const auto& values : kinds) {
    SCOPED_TRACE(testing::PrintToString(values));
    check(with_values(a, values));
  }
}

TEST(WarpPackedConversion, SharesPatternsOnlyOfSlicesThatAreTheSame) {
  const auto a = with_strangers(nz::generate::poisson_2d<double>(70, 50), {7, 900, 2000}, {3, 40});
  const auto host = to_warp_packed(a);
  EXPECT_GT(host.patterns.size(), 4U);
  // Hashes of 0, 1 and 3 bits take slices for the same that are not.
  for (const std::uint64_t hash_mask : {0U, 1U, 7U})
    expect_as_on_host(converted<double, std::int32_t>(a, {}, hash_mask), host);
}

template <class Body> std::string refusal(const Body& body) {
  try {
    body();
  } catch (const nz::unsupported& e) {
    return e.what();
  }
  return "";
}

TEST(WarpPackedConversion, IsRefusedAsOnTheHost) {
  std::vector<index> giant(4000, 5), lonely(100, 0), padded(64, 0);
  giant[1234] = 8000;
  lonely[50] = 3000;
  padded[0] = padded[1] = 1500;
  const auto expect_refused = [](const csr<double>& a, const std::string& why) {
    const std::string on_host = refusal([&] { to_warp_packed(a); });
    EXPECT_NE(on_host.find(why), std::string::npos) << on_host;
    EXPECT_EQ(refusal([&] { converted<double, std::int32_t>(a, {}); }), on_host);
    expect_as_on_host(converted<double, offset>(a, no_limit), to_warp_packed(a, no_limit));
  };
  expect_refused(scattered<double>(giant, 9000), "places for 4000 rows and 27995 entries");
  giant.resize(200'000, 5);
  EXPECT_NE(refusal([&] {
              converted<double, std::int32_t>(scattered<double>(giant, 9000), {});
            }).find("warp_packed would leave a row of 8000 entries to a single lane, while the mean is 5.0"),
            std::string::npos);
  expect_refused(scattered<double>(lonely, 9000), "places for 100 rows and 3000 entries");
  // Two rows on the same diagonals, whose values are not the same.
  csr<double> pair = scattered<double>(padded, 9000);
  pair.cols = 9001;
  for (index k = 0; k < 1500; ++k) pair.col[1500 + k] = pair.col[k] + 1;
  expect_refused(pair, "past the padding budget of 4 times csr");
}

}  // namespace
