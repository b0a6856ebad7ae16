#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/algorithms/cg.hpp>

// What conjugate gradients refuse before they begin, and what they say of it.
namespace {

using nz::csr;
using nz::preconditioner;

/// What is thrown, or nothing.
template <class V>
std::string refusal(const csr<V>& a, const std::vector<V>& b, nz::cg_options options = {}) {
  try {
    nz::conjugate_gradients<V>(a, b, options);
    return "";
  } catch (const nz::error& e) {
    return e.what();
  }
}

TEST(GradientsInput, NamesThePairThatIsNotSymmetric) {
  const csr<double> a{3, 3, {0, 2, 4, 6}, {0, 1, 0, 1, 0, 2}, {4, 1, 1, 4, 2, 4}};
  EXPECT_EQ(refusal<double>(a, {1, 1, 1}),
            "the matrix is not symmetric: row 3, column 1 is 2, and row 1, column 3 is 0 (counted from 1)");
}

TEST(GradientsInput, TakesWhatOnlyRoundingTellsApart) {
  csr<double> a{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {4, 1, 1 + 1e-12, 4}};
  EXPECT_EQ(refusal<double>(a, {1, 1}), "");
  a.val = {4, 1e-17, 0, 4};  // all of its own size, and nothing beside the diagonal
  EXPECT_EQ(refusal<double>(a, {1, 1}), "");
  a.val = {4, 1, 1.0001, 4};
  EXPECT_NE(refusal<double>(a, {1, 1}), "");
}

TEST(GradientsInput, TakesColumnsInAnyOrderAndRepeated) {
  const csr<double> a{2, 2, {0, 4, 6}, {1, 0, 1, 0, 1, 0}, {0.5, 3, 0.5, 1, 3, 1}};
  const auto found = nz::conjugate_gradients<double>(
      a, std::vector<double>{1, 2}, {.by = preconditioner::jacobi, .plan = {.kernel = "csr_balanced"}});
  EXPECT_NEAR(found.x[0], 1.0 / 11, 1e-14);
  EXPECT_NEAR(found.x[1], 7.0 / 11, 1e-14);
}

TEST(GradientsInput, RefusesWhatHasNoAnswer) {
  const csr<double> wide{1, 2, {0, 1}, {0}, {1}}, negative{2, 2, {0, 1, 2}, {0, 1}, {1, -3}},
      hole{2, 2, {0, 1, 1}, {0}, {1}}, good{2, 2, {0, 1, 2}, {0, 1}, {1, 1}};
  csr<double> endless = good;
  endless.val[1] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal<double>(wide, {1}), "only a square matrix can be solved for, and this is 1 x 2");
  EXPECT_EQ(refusal<double>(good, {1}), "b must have 2 entries to fit the matrix, and has 1");
  EXPECT_EQ(refusal<double>(negative, {1, 1}),
            "the matrix is not positive definite: entry 2 of its diagonal is -3 (counted from 1)");
  EXPECT_EQ(refusal<double>(hole, {1, 1}),
            "the matrix is not positive definite: entry 2 of its diagonal is 0 (counted from 1)");
  EXPECT_EQ(refusal<double>(endless, {1, 1}), "row 2, column 2 of the matrix is inf (counted from 1)");
  EXPECT_EQ(refusal<double>(good, {1, std::nan("")}), "entry 2 of b is nan (counted from 1)");
  for (const double tolerance : {-1.0, std::nan(""), HUGE_VAL})
    EXPECT_NE(refusal<double>(good, {1, 1}, {.tolerance = tolerance}), "");
  for (const int check_every : {-1, 2'000'000'000})
    EXPECT_NE(refusal<double>(good, {1, 1}, {.check_every = check_every}), "");
  EXPECT_EQ(refusal<double>(good, {1, 1}), "");
}

}  // namespace
