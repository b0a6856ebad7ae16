#include <limits>

#include <gtest/gtest.h>

#include <nonzero/reference/exact.hpp>
#include <nonzero/reference/multiply.hpp>

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// 1 2 / 0 3 / 0 0
const nz::csr<double> a{3, 2, {0, 2, 3, 3}, {0, 1, 1}, {1, 2, 3}};

TEST(ReferenceMultiply, GivesWhatAHandCalculationGives) {
  const std::vector<double> x{10, 100};
  std::vector<double> y{1, 2, 3};
  nz::reference::multiply<double>(2, a, x, -1, y);
  EXPECT_EQ(y, (std::vector<double>{2 * 210 - 1, 2 * 300 - 2, -3}));
}

TEST(ExactProduct, GivesWhatAHandCalculationGives) {
  const std::vector<double> x{10, 100}, y{1, 2, 3};
  const auto exact = nz::reference::multiply_exactly<double>(2, a, x, -1, y);
  EXPECT_EQ(exact.y, (std::vector<long double>{419, 598, -3}));
  // (entries + 4) roundings of the sum of magnitudes, and next to nothing for underflow.
  const long double eps = std::numeric_limits<double>::epsilon();
  EXPECT_NEAR(static_cast<double>(exact.bound[0] / (6 * eps * 421)), 1, 1e-12);
  EXPECT_NEAR(static_cast<double>(exact.bound[1] / (5 * eps * 602)), 1, 1e-12);
}

TEST(ExactProduct, OfAFloatMatrixIsBoundedByTheRoundingOfItsVectors) {
  const nz::csr<float> in_float{1, 2, {0, 2}, {0, 1}, {0.1F, 2}};
  const std::vector<double> x{0.1, 100};
  const auto exact = nz::reference::multiply_exactly<double>(1, in_float, x, 0, {});
  const double product = static_cast<double>(0.1F) * 0.1 + 200;
  EXPECT_LE(nz::reference::largest_error<double>(exact, std::vector<double>{product}), 1);
  EXPECT_GT(nz::reference::largest_error<double>(exact, std::vector<double>{product * (1 + 1e-7)}), 1);
  EXPECT_GT(nz::reference::largest_error<double>(exact, std::vector<double>{0.1 * 0.1 + 200}), 1);
}

TEST(ExactProduct, SeesAResultThatIsOffByMoreThanRounding) {
  const std::vector<double> x{10, 100};
  const auto exact = nz::reference::multiply_exactly<double>(1, a, x, 0, {});
  EXPECT_EQ(nz::reference::largest_error<double>(exact, std::vector<double>{210, 300, 0}), 0);
  EXPECT_LE(nz::reference::largest_error<double>(exact, std::vector<double>{210 * (1 + 2e-16), 300, 0}), 1);
  EXPECT_GT(nz::reference::largest_error<double>(exact, std::vector<double>{210 * (1 + 1e-14), 300, 0}), 1);
  EXPECT_GT(nz::reference::largest_error<double>(exact, std::vector<double>{210, 300, 1e-300}), 1);
}

TEST(ExactProduct, WantsNanAndInfinityExactlyWhereTheyAreDue) {
  const std::vector<double> x{inf, 1};
  const auto exact = nz::reference::multiply_exactly<double>(1, a, x, 0, {});
  EXPECT_EQ(nz::reference::largest_error<double>(exact, std::vector<double>{inf, 3, 0}), 0);
  for (const auto& wrong :
       {std::vector<double>{-inf, 3, 0}, {nan, 3, 0}, {1e308, 3, 0}, {inf, nan, 0}, {inf, 3, inf}})
    EXPECT_GT(nz::reference::largest_error<double>(exact, wrong), 1);
}

// Which of many orders overflows on the way is not the kernel's fault.
TEST(ExactProduct, TakesWhateverComesWhereTermsMayOverflow) {
  const nz::csr<double> large{3, 2, {0, 2, 4, 5}, {0, 1, 0, 1, 0}, {1e308, 1e308, 1e308, -1e308, 1e308}};
  const auto exact = nz::reference::multiply_exactly<double>(1, large, std::vector<double>{1, 1}, 0, {});
  for (const double any : {inf, -inf, nan, 0.0})
    EXPECT_EQ(nz::reference::largest_error<double>(exact, std::vector<double>{any, any, 1e308}), 0);
  EXPECT_GT(nz::reference::largest_error<double>(exact, std::vector<double>{inf, 0, inf}), 1);
  const auto scaled = nz::reference::multiply_exactly<double>(10, large, std::vector<double>{1, 1}, 0, {});
  EXPECT_EQ(nz::reference::largest_error<double>(scaled, std::vector<double>{inf, 0, inf}), 0);
}

TEST(ExactProduct, RefusesVectorsThatDoNotFit) {
  const std::vector<double> x{1, 2, 3};
  EXPECT_THROW(nz::reference::multiply_exactly<double>(1, a, x, 0, {}), nz::shape_error);
}

}  // namespace
