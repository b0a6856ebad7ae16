#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/formats/packing_matrices.hpp"
#include "tests/gpu/require_gpu.hpp"

namespace {

using nz::device_kind;
using nz::index;

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

/// The product, and the same bits whatever the width of offsets. x is infinite where no entry reads it, and
/// so is its first: a lane that multiplies what is not its own ends with NaN.
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
        nz::find_kernel("warp_packed_slices", kind).prepare(a, {.budget = no_limit, .wide_offsets = wide});
    std::vector<V> y = y0;
    ready->multiply(V{2}, x, V{-1}, y);
    if (first.empty()) first = y;
    EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L);
    EXPECT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(V)), 0);
  }
}

template <class V> void check_all(device_kind kind) {
  auto matrices = packing_matrices<V>();
  // Large enough that a warp of the emulator takes two and four slices, with some that differ between them.
  const std::vector<index> strangers{0, 33, 3000, 3001, 6400, 8190, 12499};
  matrices.push_back({"four slices a warp", nz::generate::poisson_2d<V>(125, 100)});
  matrices.push_back(
      {"four slices, strangers", with_strangers(nz::generate::poisson_1d<V>(12500), strangers, {0, 900, 7})});
  matrices.push_back({"two slices a warp, for there are few", nz::generate::poisson_1d<V>(5000)});
  matrices.push_back({"two slices a warp, for steps are many", nz::generate::poisson_27<V>(32, 20, 20)});
  for (const auto& [name, a] : matrices) {
    SCOPED_TRACE(name);
    check(kind, a);
  }
}

TEST(WarpPackedSlices, MultipliesFloats) { check_all<float>(device_kind::emulator); }
TEST(WarpPackedSlices, MultipliesDoubles) { check_all<double>(device_kind::emulator); }

using WarpPackedSlicesOnGpu = OnGpu;
TEST_F(WarpPackedSlicesOnGpu, MultipliesFloats) { check_all<float>(device_kind::cuda); }
TEST_F(WarpPackedSlicesOnGpu, MultipliesDoubles) { check_all<double>(device_kind::cuda); }
// So large that a warp of a GPU takes four slices.
TEST_F(WarpPackedSlicesOnGpu, MultipliesFourSlicesAtOnce) {
  check(device_kind::cuda, nz::generate::poisson_2d<float>(1100, 1200));
  check(device_kind::cuda, nz::generate::poisson_2d<double>(1100, 1200));
}

TEST(WarpPackedSlices, HoldsAStencilInAlmostNothing) {
  const auto a = nz::generate::poisson_2d<double>(128, 100);
  const auto ready = nz::find_kernel("warp_packed_slices", device_kind::emulator).prepare(a);
  EXPECT_LT(ready->storage().bytes, footprint_of(a).bytes / 50);
}

}  // namespace
