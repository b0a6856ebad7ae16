#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/reorder.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"

namespace {

using nz::array;
using nz::csr;
using nz::index;

template <class V> class Reordered : public testing::Test {};
using values = testing::Types<float, double>;
TYPED_TEST_SUITE(Reordered, values);

template <class V> std::unique_ptr<nz::prepared_matrix<V>> prepare(const csr<V>& a) {
  const array<index> order = nz::reverse_cuthill_mckee(a);
  return nz::make_reordered<V>(nz::find_kernel("csr_serial").prepare(nz::permute_symmetric<V>(a, order)),
                               order);
}

/// The product of every square matrix of the battery, against the one in long double.
template <class V> void check_all(V alpha, V beta, const auto& make_x, const auto& make_y) {
  for (const auto& [name, a] : battery::matrices<V>()) {
    if (a.rows != a.cols) continue;
    SCOPED_TRACE(name);
    const std::vector<V> x = make_x(a.cols);
    std::vector<V> y = make_y(a.rows);
    const auto exact = nz::reference::multiply_exactly<V>(alpha, a, x, beta, y);
    prepare(a)->multiply(alpha, x, beta, y);
    EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L);
  }
}

template <class V> constexpr auto some_numbers = [](index n) { return battery::numbers<V>(n, 3); };

TYPED_TEST(Reordered, ProductsAreWithinTheErrorBoundOnTheWholeBattery) {
  using V = TypeParam;
  for (const auto& [alpha, beta] : std::vector<std::pair<V, V>>{{V{-2.5}, V{0.75}}, {1, 0}, {1, 1}, {0, 2}})
    check_all<V>(alpha, beta, some_numbers<V>, some_numbers<V>);
}

TYPED_TEST(Reordered, NeverReadsYWhenBetaIsZero) {
  using V = TypeParam;
  check_all<V>(1, 0, some_numbers<V>,
               [](index n) { return std::vector<V>(n, std::numeric_limits<V>::quiet_NaN()); });
}

TYPED_TEST(Reordered, KeepsNanAndInfinityOfXWhereTheyBelong) {
  using V = TypeParam;
  const auto make_x = [](index n) {
    auto x = battery::numbers<V>(n, 4);
    if (!x.empty()) x.back() = std::numeric_limits<V>::quiet_NaN();
    if (!x.empty()) x.front() = std::numeric_limits<V>::infinity();
    return x;
  };
  check_all<V>(1, 0, make_x, some_numbers<V>);
}

TYPED_TEST(Reordered, GivesTheSameBitsForAnyNumberOfThreads) {
  using V = TypeParam;
  const csr<V> a = nz::generate::poisson_2d<V>(400, 390);
  const auto ready = prepare(a);
  const std::vector<V> x = battery::numbers<V>(a.cols, 5), y0 = battery::numbers<V>(a.rows, 6);
  std::vector<V> first;
  for (const int threads : {1, 2, 3, 8}) {
    const nz::thread_limit scope(threads);
    std::vector<V> y = y0;
    ready->multiply(V{2}, x, V{-1}, y);
    if (first.empty()) first = y;
    EXPECT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(V)), 0) << threads;
  }
}

TYPED_TEST(Reordered, CountsTheOrderAndTwoVectors) {
  using V = TypeParam;
  const csr<V> a = nz::generate::tridiagonal<V>(100);
  EXPECT_EQ(prepare(a)->storage().bytes, footprint_of(a).bytes + 100 * (4 + 2 * sizeof(V)));
}

TYPED_TEST(Reordered, RefusesAnOrderThatDoesNotFit) {
  using V = TypeParam;
  const nz::kernel_row& kernel = nz::find_kernel("csr_serial");
  const csr<V> a = nz::generate::tridiagonal<V>(3);
  EXPECT_THROW(nz::make_reordered<V>(kernel.prepare(a), array<index>{0, 1}), nz::shape_error);
  EXPECT_THROW(nz::make_reordered<V>(kernel.prepare(a), array<index>{0, 1, 1}), nz::shape_error);
  EXPECT_THROW(nz::make_reordered<V>(kernel.prepare(nz::generate::uniform<V>(2, 3, 1)), array<index>{0, 1}),
               nz::shape_error);
}

}  // namespace
