#include <atomic>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/plan/kernels.hpp>

#include "tests/gpu/require_gpu.hpp"

// More than 2^31 nonzeros in float, for one kernel of each family of formats. Takes minutes, about 50 GB on
// the host and 30 GB on the GPU: run where the environment variable NONZERO_LARGE is 1.
namespace {

// Lengths that leave hyb a rest and jds something to sort. Even the ELL part of hyb has more than 2^31
// places.
constexpr nz::index rows = (1 << 23) + 7, cols = 1 << 20;
constexpr nz::index short_row = 256, long_row = 272;
constexpr std::int64_t grain = 4096;

/// Every eighth row is a long one.
constexpr nz::index length_of(nz::index i) { return i % 8 == 0 ? long_row : short_row; }
constexpr nz::offset begin_of(nz::index i) {
  return nz::offset{i} * short_row + (nz::offset{i} + 7) / 8 * (long_row - short_row);
}
static_assert(begin_of(rows) > (nz::offset{1} << 31) + (1 << 24));
static_assert(nz::offset{rows} * short_row > nz::offset{1} << 31);

// Small whole numbers: every sum is exact in float, in whatever order it is made. The columns of a row
// differ, as the odd factor of k does not share a divisor with cols.
constexpr nz::index col_of(nz::index i, nz::index k) {
  return static_cast<nz::index>((std::uint32_t(i) * 31U + std::uint32_t(k) * 4099U) % std::uint32_t(cols));
}
constexpr int val_of(nz::index i, nz::index k) { return 1 + (i + k) % 4; }
constexpr int x_of(nz::index j) { return j % 8 - 3; }
constexpr int y_of(nz::index i) { return i % 5; }

class LargeOnGpu : public OnGpu {
 protected:
  static void TearDownTestSuite() { a.reset(); }

  void SetUp() override {
    const char* const asked = std::getenv("NONZERO_LARGE");
    if (asked == nullptr || std::string(asked) != "1") GTEST_SKIP() << "set NONZERO_LARGE=1 to run it";
    OnGpu::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (on->memory_bytes() < std::uint64_t{40} << 30) GTEST_SKIP() << "the GPU has less than 40 GiB";
    if (nz::cpu_device()->memory_bytes() < std::uint64_t{64} << 30)
      GTEST_SKIP() << "the host has less than 64 GiB";
    if (!a) a = std::make_unique<nz::csr<float>>(make());
  }

  static nz::csr<float> make() {
    const auto nnz = static_cast<std::size_t>(begin_of(rows));
    nz::csr<float> made{rows, cols, nz::array<nz::offset>(std::size_t{rows} + 1), nz::array<nz::index>(nnz),
                        nz::array<float>(nnz)};
    made.row_begin[rows] = begin_of(rows);
    nz::parallel_ranges(rows, grain, 0, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<nz::index>(begin); i < end; ++i) {
        made.row_begin[i] = begin_of(i);
        for (nz::index k = 0; k < length_of(i); ++k) {
          made.col[begin_of(i) + k] = col_of(i, k);
          made.val[begin_of(i) + k] = static_cast<float>(val_of(i, k));
        }
      }
    });
    return made;
  }

  /// y = 2 A x - y, every row compared with the sum in whole numbers.
  void check(std::string_view name) {
    const auto ready = nz::find_kernel(name, nz::device_kind::cuda).prepare(*a, {.on = on});
    std::vector<float> host(cols);
    for (nz::index j = 0; j < cols; ++j) host[j] = static_cast<float>(x_of(j));
    const nz::vector<float> x(on, host);
    host.resize(rows);
    for (nz::index i = 0; i < rows; ++i) host[i] = static_cast<float>(y_of(i));
    nz::vector<float> y(on, host);
    ready->multiply(2.0F, x, -1.0F, y);
    y.copy_to(host);
    std::atomic<nz::index> wrong = 0, first_wrong = rows;
    nz::parallel_ranges(rows, grain, 0, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<nz::index>(begin); i < end; ++i) {
        int sum = 0;
        for (nz::index k = 0; k < length_of(i); ++k) sum += val_of(i, k) * x_of(col_of(i, k));
        if (host[i] == static_cast<float>(2 * sum - y_of(i))) continue;
        ++wrong;
        for (nz::index least = first_wrong; i < least && !first_wrong.compare_exchange_weak(least, i);) {
        }
      }
    });
    EXPECT_EQ(wrong, 0) << "rows are wrong, the first is " << first_wrong;
  }

  static inline std::unique_ptr<nz::csr<float>> a;  // made by the first test that runs
};

TEST_F(LargeOnGpu, CsrVectorCountsPast31Bits) { check("csr_vector"); }
TEST_F(LargeOnGpu, CsrLightWarpCountsPast31Bits) { check("csr_light_warp"); }
TEST_F(LargeOnGpu, CsrMergeCountsPast31Bits) { check("csr_merge"); }
TEST_F(LargeOnGpu, EllCountsPast31Bits) { check("ell"); }
TEST_F(LargeOnGpu, CooSegmentedCountsPast31Bits) { check("coo_segmented"); }
TEST_F(LargeOnGpu, HybCountsPast31Bits) { check("hyb"); }
TEST_F(LargeOnGpu, JdsCountsPast31Bits) { check("jds"); }
TEST_F(LargeOnGpu, TjdsCountsPast31Bits) { check("tjds"); }
TEST_F(LargeOnGpu, SellSlicesCountsPast31Bits) { check("sell_slices"); }

}  // namespace
