#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>
// After the language that it is written in: sorted so by its name.
#include <nonzero/gpu/kernels/sell_slices.cuh>

#include "tests/battery/battery.hpp"
#include "tests/gpu/require_gpu.hpp"

// Rows that csr_groups and sell_slices split into segments, of 256 and of 2,048 or 4,096: the last to have
// summed one finishes the row, and which that is must not show. The emulator takes blocks and warps in
// another order at every launch; a GPU does so by itself.
namespace {

using nz::device_kind;
using nz::index;

constexpr const char* kernels[] = {"csr_groups", "sell_slices"};

/// Rows of these lengths, at columns all over.
template <class A> nz::csr<A> rows_of(const std::vector<index>& lengths, index cols) {
  nz::csr<A> a;
  a.rows = static_cast<index>(lengths.size());
  a.cols = cols;
  for (index i = 0; i < a.rows; ++i) {
    for (index k = 0; k < lengths[static_cast<std::size_t>(i)]; ++k)
      a.col.push_back(static_cast<index>((std::int64_t{k} * 7 + i * 13) % cols));
    a.row_begin.push_back(static_cast<nz::offset>(a.col.size()));
  }
  const auto values = battery::numbers<A>(a.col.size(), 31);
  a.val.assign(values.begin(), values.end());
  return a;
}

/// Rows about as long as one and two segments, many of several, one of 20,000, and a giant one; short ones
/// and empty ones beside them.
template <class A> nz::csr<A> with_split_rows() {
  std::vector<index> lengths(3000);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<index>(i % 7);
  for (std::size_t i = 5; i < lengths.size(); i += 32) lengths[i] = static_cast<index>(513 + i);
  std::size_t at = 700;
  for (const index length : {256, 257, 512, 513, 2048, 2049, 4096, 4097, 20'000, 300'000, 511, 65})
    lengths[at += 2] = length;
  return rows_of<A>(lengths, 25'000);
}

/// So many split rows that with the blocks they are more sums than one block adds up: 350, each of two blocks
/// at least in sell_slices.
template <class A> nz::csr<A> with_many_split_rows() {
  constexpr auto of_two_segments = static_cast<index>(nz::gpu::longest_segment + 1);
  std::vector<index> lengths(2100);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] = i % 6 == 2 ? of_two_segments : static_cast<index>(i % 3);
  return rows_of<A>(lengths, of_two_segments);
}

template <class HeldIn, class SummedIn, device_kind Kind> struct on {
  using A = HeldIn;
  using V = SummedIn;
  static constexpr device_kind kind = Kind;
  static constexpr bool is_mixed = !std::is_same_v<A, V>;

  static std::unique_ptr<nz::prepared_matrix<V>> prepare(const char* name, const nz::csr<A>& a) {
    const nz::kernel_row& kernel = nz::find_kernel(name, kind);
    if constexpr (is_mixed)
      return kernel.prepare<double>(a, {});
    else
      return kernel.prepare(a, {});
  }
};
struct names {
  template <class On> static std::string GetName(int) {
    return std::string(nz::name_of(On::kind)) + (On::is_mixed                  ? "_mixed"
                                                 : sizeof(typename On::V) == 4 ? "_float"
                                                                               : "_double");
  }
};
using cases =
    testing::Types<on<float, float, device_kind::emulator>, on<double, double, device_kind::emulator>,
                   on<float, double, device_kind::emulator>, on<float, float, device_kind::cuda>,
                   on<double, double, device_kind::cuda>, on<float, double, device_kind::cuda>>;

template <class On> class CutRows : public testing::Test {
 protected:
  void SetUp() override {
    if (On::kind == device_kind::cuda) require_gpu();
  }
};
TYPED_TEST_SUITE(CutRows, cases, names);

template <class T> bool have_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// The sum of |v| over all rows must be that of the y found, but for rounding in double.
template <class V> void expect_sum_of(const std::vector<V>& y, double found) {
  long double sum = 0;
  for (const V v : y) sum += std::abs(static_cast<long double>(v));
  const auto terms = static_cast<long double>(y.size());
  EXPECT_LE(std::abs(found - sum), std::numeric_limits<double>::epsilon() * (terms + 4) * sum);
}

/// y = -0.5 A x + 2 b with the sums of (y - b)^2, which is rounded in float too, and |y|, so many times.
template <class On> void check_steps(const char* kernel, const nz::csr<typename On::A>& a, int runs) {
  using V = typename On::V;
  const auto x = battery::numbers<V>(a.cols, 32), b = battery::numbers<V>(a.rows, 33);
  const auto exact = nz::reference::multiply_exactly<V>(V{-0.5}, a, x, V{2}, b);
  const auto ready = On::prepare(kernel, a);
  const nz::vector<V> on_x(ready->where(), x), on_b(ready->where(), b);
  const nz::fused_step<V> step{
      .alpha = V{-0.5},
      .beta = V{2},
      .b = on_b.data(),
      .measure = {{nz::measured::squared_distance, on_b.data()}, {nz::measured::distance}}};
  std::vector<V> first_y;
  std::vector<double> first_sums;
  for (int run = 0; run < runs; ++run) {
    SCOPED_TRACE(run);
    // NaN, which must not be read, nor be left.
    nz::vector<V> on_y(ready->where(), std::vector<V>(b.size(), std::numeric_limits<V>::quiet_NaN()));
    nz::vector<double> on_sums(ready->where(), std::vector<double>(2, -1));
    ready->apply(on_x, step, on_y, on_sums);
    const auto y = on_y.to_host();
    const auto sums = on_sums.to_host();
    if (run == 0) {
      first_y = y;
      first_sums = sums;
    }
    EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L);
    expect_sum_of(y, sums[1]);
    ASSERT_TRUE(have_same_bits(y, first_y));
    ASSERT_TRUE(have_same_bits(sums, first_sums))
        << sums[0] - first_sums[0] << ", " << sums[1] - first_sums[1];
  }
}

TYPED_TEST(CutRows, AreMultipliedWithTheSameBitsEveryTime) {
  using V = typename TypeParam::V;
  const auto a = with_split_rows<typename TypeParam::A>();
  const auto x = battery::numbers<V>(a.cols, 34), y0 = battery::numbers<V>(a.rows, 35);
  const auto exact = nz::reference::multiply_exactly<V>(V{-2.5}, a, x, V{0.75}, y0);
  for (const char* kernel : kernels) {
    SCOPED_TRACE(kernel);
    const auto ready = TypeParam::prepare(kernel, a);
    std::vector<V> first;
    for (int run = 0; run < 6; ++run) {
      std::vector<V> y = y0;
      ready->multiply(V{-2.5}, x, V{0.75}, y);
      if (run == 0) first = y;
      EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L);
      ASSERT_TRUE(have_same_bits(y, first)) << "run " << run;
    }
  }
}

TYPED_TEST(CutRows, HaveTheSameBitsInEveryStep) {
  const auto a = with_split_rows<typename TypeParam::A>();
  for (const char* kernel : kernels) {
    SCOPED_TRACE(kernel);
    check_steps<TypeParam>(kernel, a, 8);
  }
}

TYPED_TEST(CutRows, MayBeMorePartsOfAStepThanOneBlockAddsUp) {
  const auto a = with_many_split_rows<typename TypeParam::A>();
  for (const char* kernel : kernels) {
    SCOPED_TRACE(kernel);
    check_steps<TypeParam>(kernel, a, 2);
  }
}

// Of more blocks than one adds up the sums of: a last launch does, after one or two that finish rows.
TYPED_TEST(CutRows, HaveTheSameBitsInStepsOfManyBlocks) {
  if (TypeParam::kind == device_kind::emulator) GTEST_SKIP() << "it would take the emulator minutes";
  std::vector<index> lengths(400'000);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] = i % 10'000 == 3 ? 20'000 : i % 40 == 7 ? 300 : static_cast<index>(i % 9);
  const auto a = rows_of<typename TypeParam::A>(lengths, 25'000);
  for (const char* kernel : {"csr_scalar", "csr_merge", "csr_groups", "sell_slices", "hubs_slices"}) {
    SCOPED_TRACE(kernel);
    check_steps<TypeParam>(kernel, a, 20);
  }
}

/// The emulator gives each launch the next number.
std::uint64_t launches_so_far() {
  return static_cast<nz::emulated_gpu&>(*nz::emulator_device()).next_order();
}

TEST(CutRowsInTheEmulator, TakeNoLaunchOfTheirOwn) {
  const auto a = with_split_rows<double>();
  const auto x = battery::numbers<double>(a.cols, 36);
  const nz::fused_step<double> step{.measure = {{nz::measured::product}}};
  for (const char* kernel : kernels) {
    SCOPED_TRACE(kernel);
    const auto ready = nz::find_kernel(kernel, device_kind::emulator).prepare(a, {});
    std::vector<double> y(static_cast<std::size_t>(a.rows)), sum(1);
    const std::uint64_t before = launches_so_far();
    ready->multiply(1, x, 0, y);
    const std::uint64_t between = launches_so_far();
    ready->apply(x, step, y, sum);
    EXPECT_EQ(between - before, 2U);  // the launch, and the question
    EXPECT_EQ(launches_so_far() - between, 2U);
  }
}

}  // namespace
