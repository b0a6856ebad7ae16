#include <cstring>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"

namespace {

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

template <class V> class Kernels : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Kernels, precisions);

/// Every kernel of the table on every matrix of the battery, against the product in long double.
template <class V> void check_all(V alpha, V beta, const auto& make_x, const auto& make_y) {
  for (const auto& [name, a] : battery::matrices<V>()) {
    const std::vector<V> x = make_x(a), y0 = make_y(a);
    const auto exact = nz::reference::multiply_exactly<V>(alpha, a, x, beta, y0);
    for (const nz::kernel_row& kernel : nz::kernels()) {
      std::vector<V> y = y0;
      kernel.prepare(a, no_limit)->multiply(alpha, x, beta, y);
      EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L)
          << kernel.name << " on " << name << ", alpha " << alpha << ", beta " << beta;
    }
  }
}

TYPED_TEST(Kernels, AreWithinTheErrorBoundOnTheWholeBattery) {
  using V = TypeParam;
  for (const auto& [alpha, beta] : {std::pair<V, V>{1, 0}, {1, 1}, {V{-2.5}, V{0.75}}, {0, 2}, {0, 0}})
    check_all<V>(
        alpha, beta, [](const auto& a) { return battery::numbers<V>(a.cols, 1); },
        [](const auto& a) { return battery::numbers<V>(a.rows, 2); });
}

TYPED_TEST(Kernels, NeverReadYWhenBetaIsZero) {
  using V = TypeParam;
  check_all<V>(
      V{1}, V{0}, [](const auto& a) { return battery::numbers<V>(a.cols, 3); },
      [](const auto& a) { return std::vector<V>(a.rows, std::numeric_limits<V>::quiet_NaN()); });
}

// Padding that is multiplied instead of skipped would show here: 0 * infinity is NaN.
TYPED_TEST(Kernels, KeepNanAndInfinityOfXWhereTheyBelong) {
  using V = TypeParam;
  check_all<V>(
      V{1}, V{0},
      [](const auto& a) {
        auto x = battery::numbers<V>(a.cols, 4);
        if (!x.empty()) x.back() = std::numeric_limits<V>::quiet_NaN();
        if (!x.empty()) x.front() = std::numeric_limits<V>::infinity();
        return x;
      },
      [](const auto& a) { return std::vector<V>(a.rows, 0); });
}

TYPED_TEST(Kernels, ThatSayTheyAreRepeatableAre) {
  using V = TypeParam;
  for (const nz::kernel_row& kernel : nz::kernels()) {
    if (!kernel.is_repeatable) continue;
    for (const auto& [name, a] : battery::matrices<V>()) {
      SCOPED_TRACE(std::string(kernel.name) + " on " + name);
      const auto ready = kernel.prepare(a, no_limit);
      const auto x = battery::numbers<V>(a.cols, 5);
      std::vector<V> first(a.rows), again(a.rows);
      ready->multiply(V{1}, x, V{0}, first);
      for (int run = 0; run < 3; ++run) {
        ready->multiply(V{1}, x, V{0}, again);
        ASSERT_TRUE(a.rows == 0 || std::memcmp(first.data(), again.data(), first.size() * sizeof(V)) == 0);
      }
    }
  }
}

TYPED_TEST(Kernels, RefuseVectorsThatDoNotFit) {
  using V = TypeParam;
  const nz::csr<V> a{2, 3, {0, 1, 2}, {0, 2}, {1, 1}};
  for (const nz::kernel_row& kernel : nz::kernels()) {
    const auto ready = kernel.prepare(a);
    std::vector<V> x(3, 1), y(2, 1), wrong(4, 1);
    EXPECT_THROW(ready->multiply(V{1}, wrong, V{0}, y), nz::shape_error);
    EXPECT_THROW(ready->multiply(V{1}, x, V{0}, wrong), nz::shape_error);
  }
}

TEST(KernelTable, NamesAreUniqueAndFormatsExist) {
  std::set<std::string_view> names, formats;
  for (const nz::format_row& format : nz::formats()) EXPECT_TRUE(formats.insert(format.name).second);
  for (const nz::kernel_row& kernel : nz::kernels()) {
    EXPECT_TRUE(names.insert(kernel.name).second);
    EXPECT_TRUE(formats.contains(kernel.format)) << kernel.format;
    EXPECT_EQ(&nz::find_kernel(kernel.name), &kernel);
  }
}

TEST(KernelTable, SaysWhichKernelsThereAreWhenAskedForAnother) {
  try {
    nz::find_kernel("csr_magic");
    FAIL();
  } catch (const nz::unsupported& e) {
    EXPECT_NE(std::string(e.what()).find("csr_serial"), std::string::npos);
  }
}

}  // namespace
