#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/formats/packing_matrices.hpp"
#include "tests/gpu/exact_rows.hpp"

namespace {

using nz::device_kind;
using nz::index;

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

/// The product, and the same bits whatever the width of offsets. x is infinite where no entry reads it, and
/// at the first column: a lane that multiplies what is not its own ends with NaN.
template <class V> void check(device_kind kind, const nz::csr<V>& a) {
  std::vector<V> x = battery::numbers<V>(static_cast<std::size_t>(a.cols), 1);
  std::vector<bool> is_used(x.size());
  for (const index j : a.col) is_used[static_cast<std::size_t>(j)] = true;
  for (std::size_t j = 0; j < x.size(); ++j)
    if (!is_used[j] || j == 0) x[j] = std::numeric_limits<V>::infinity();
  const std::vector<V> y0 = battery::numbers<V>(static_cast<std::size_t>(a.rows), 2);
  const auto exact = nz::reference::multiply_exactly<V>(V{2}, a, x, V{-1}, y0);
  std::vector<V> first;
  for (const bool wide : {false, true}) {
    const auto ready =
        nz::find_kernel("hubs_slices", kind).prepare(a, {.budget = no_limit, .wide_offsets = wide});
    std::vector<V> y = y0;
    ready->multiply(V{2}, x, V{-1}, y);
    if (first.empty()) first = y;
    EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L);
    EXPECT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(V)), 0);
  }
}

/// The same entries with few values, with one, and with values that are exact in single precision.
template <class V> std::vector<battery::named_matrix<V>> with_other_values(const nz::csr<V>& a) {
  std::vector<battery::named_matrix<V>> out{{"ones", a}, {"200 values", a}, {"short values", a}};
  for (std::size_t k = 0; k < a.val.size(); ++k) {
    out[0].a.val[k] = 1;
    out[1].a.val[k] = V{1} / static_cast<V>(k * 7 % 200 + 3);
    out[2].a.val[k] = static_cast<V>(k % 3000) - V{1500};
  }
  return out;
}

template <class V> void check_all(device_kind kind) {
  auto matrices = packing_matrices<V>();
  // More columns than there is room for x of, of which some are hubs.
  const auto graph = nz::generate::rmat<V>(14, 12);
  matrices.push_back({"power law", graph});
  for (auto& m : with_other_values(graph)) matrices.push_back(std::move(m));
  for (auto& m : with_other_values(nz::generate::dense_rows<V>(9000, 3, 2))) matrices.push_back(std::move(m));
  matrices.push_back({"no hubs", nz::generate::uniform<V>(3000, 300000, 7)});
  for (auto& m : with_other_values(nz::generate::uniform<V>(1000, 300000, 9)))
    matrices.push_back(std::move(m));
  for (const auto& [name, a] : matrices) {
    SCOPED_TRACE(name);
    check(kind, a);
  }
}

TEST(HubsSlices, MultipliesFloats) { check_all<float>(device_kind::emulator); }
TEST(HubsSlices, MultipliesDoubles) { check_all<double>(device_kind::emulator); }

using HubsSlicesOnGpu = OnGpu;
TEST_F(HubsSlicesOnGpu, MultipliesFloats) { check_all<float>(device_kind::cuda); }
TEST_F(HubsSlicesOnGpu, MultipliesDoubles) { check_all<double>(device_kind::cuda); }
// On a GPU of 132 multiprocessors 12,181 hubs: with what the kernel has itself, just over 48 KiB.
TEST_F(HubsSlicesOnGpu, TakesStepsWithAboutAsMuchSharedMemoryAsIsThereUnasked) {
  const auto a = nz::generate::from_spec<float>("uniform:201000:16");
  const auto ready = nz::find_kernel("hubs_slices", device_kind::cuda).prepare(a);
  const std::vector<float> ones(static_cast<std::size_t>(a.cols), 1.0F);
  const nz::vector<float> x(on, ones);
  nz::vector<float> y(on, ones.size());
  nz::vector<double> sum(on, std::vector<double>{0.0});
  ready->apply(x, {.measure = {{nz::measured::distance}}}, y, sum);
  const auto exact = nz::reference::multiply_exactly<float>(1.0F, a, ones, 0.0F, ones);
  EXPECT_LE(nz::reference::largest_error<float>(exact, y.to_host()), 1.0L);
  EXPECT_GT(sum.to_host()[0], 0);
}

TEST(HubsSlices, HoldsAGraphOfOnesInThreeBytesAnEntry) {
  auto a = nz::generate::rmat<double>(15, 16);
  for (double& v : a.val) v = 1;
  const auto ready = nz::find_kernel("hubs_slices", device_kind::emulator).prepare(a);
  EXPECT_LT(ready->storage().bytes, footprint_of(a).bytes / 3);
  EXPECT_LT(ready->storage().padding_bytes * 10, ready->storage().bytes);
}

class HubsSlices : public ExactRows {};

TEST_P(HubsSlices, FinishesMoreCutRowsThanItHasWarpsFor) {
  // Past four times as many as the emulator runs at once; of 2 to 80 segments.
  std::vector<index> lengths(400);
  for (index i = 0; i < 400; ++i) lengths[i] = i % 4 == 0 ? i % 9 : 129 + i;
  lengths[7] = lengths[301] = 10'000;
  lengths[302] = 64 * 128 + 1;
  lengths[303] = 64 * 128;
  check_rows("hubs_slices", lengths);
}

TEST_P(HubsSlices, FinishesAFewCutRows) { check_rows("hubs_slices", {5, 129, 0, 20'000, 128, 1}); }

INSTANTIATE_TEST_SUITE_P(On, HubsSlices, on_emulator_and_card, name_of_device);

}  // namespace
