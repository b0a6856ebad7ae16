#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include <nonzero/algorithms/cg.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>

#include "tests/battery/battery.hpp"
#include "tests/gpu/require_gpu.hpp"
#include "tests/plan/on_every_device.hpp"
#include "tests/temporary_folder.hpp"

// Conjugate gradients on every device, against answers that are known beforehand.
namespace {

using nz::cg_end;
using nz::cg_method;
using nz::csr;
using nz::device_kind;
using nz::preconditioner;

template <class On> class Gradients : public testing::Test {
 protected:
  void SetUp() override {
    if (On::kind == device_kind::cuda) require_gpu();
    if (!IsSkipped() && !HasFatalFailure()) options.plan.on = nz::find_device(nz::name_of(On::kind));
    // Named, so that no plan measures: the same bits in every run.
    options.plan.kernel = On::kind == device_kind::cpu ? "csr_balanced" : "csr_vector";
    options.tolerance = sizeof(typename On::V) == sizeof(float) ? 1e-5 : 1e-10;
  }
  /// The loop to compare with, whose products are cuSPARSE's on a GPU.
  void use_blas() {
    options.method = cg_method::blas;
    if (On::kind == device_kind::cuda) options.plan.kernel.clear();
  }

  nz::cg_options options;
};

TYPED_TEST_SUITE(Gradients, on_every_device, device_names);

template <class V> csr<V> diagonal(const std::vector<V>& values) {
  const auto n = static_cast<nz::index>(values.size());
  csr<V> out{n, n, nz::array<nz::offset>(values.size() + 1), nz::array<nz::index>(values.size()),
             nz::array<V>(values.begin(), values.end())};
  std::iota(out.row_begin.begin(), out.row_begin.end(), nz::offset{0});
  std::iota(out.col.begin(), out.col.end(), 0);
  return out;
}

/// |b - A x| / |b|, in long double.
template <class V> double residual_of(const csr<V>& a, const std::vector<V>& b, const std::vector<V>& x) {
  long double squares = 0, of_b = 0;
  for (nz::index row = 0; row < a.rows; ++row) {
    long double left = b[static_cast<std::size_t>(row)];
    of_b += left * left;
    for (nz::offset k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k)
      left -= static_cast<long double>(a.val[k]) * x[static_cast<std::size_t>(a.col[k])];
    squares += left * left;
  }
  return static_cast<double>(std::sqrt(squares / of_b));
}

TYPED_TEST(Gradients, SolveTwoByTwoInTwoIterations) {
  using V = typename TypeParam::V;
  const csr<V> a{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {4, 1, 1, 3}};
  const std::vector<V> b{1, 2};
  const auto found = nz::conjugate_gradients<V>(a, b, this->options);
  EXPECT_EQ(found.end, cg_end::converged);
  EXPECT_EQ(found.iterations, 2);
  EXPECT_NEAR(found.x[0], 1.0 / 11, 4 * std::numeric_limits<V>::epsilon());
  EXPECT_NEAR(found.x[1], 7.0 / 11, 4 * std::numeric_limits<V>::epsilon());
}

// In exact arithmetic as many iterations as there are different eigenvalues, and one once they are all 1.
TYPED_TEST(Gradients, TakeAnIterationForEachEigenvalueAndOneWithTheDiagonal) {
  using V = typename TypeParam::V;
  std::vector<V> values(1500);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<V>(1 + i % 3);
  const csr<V> a = diagonal(values);
  const std::vector<V> b = battery::numbers<V>(values.size(), 1);
  const auto plain = nz::conjugate_gradients<V>(a, b, this->options);
  EXPECT_EQ(plain.iterations, 3);
  this->options.by = preconditioner::jacobi;
  const auto scaled = nz::conjugate_gradients<V>(a, b, this->options);
  EXPECT_EQ(scaled.iterations, 1);
  for (std::size_t i = 0; i < b.size(); ++i)
    ASSERT_NEAR(scaled.x[i], b[i] / values[i], 4 * std::numeric_limits<V>::epsilon());
}

// 2 x[i] - x[i-1] - x[i+1] = 1 with 0 at both ends is x[i] = i (n + 1 - i) / 2.
TYPED_TEST(Gradients, FindTheParabolaOfARod) {
  using V = typename TypeParam::V;
  const int n = 60;
  const auto a = nz::generate::from_spec<V>("tridiagonal:60");
  ASSERT_EQ(a.val[0], V{2});
  ASSERT_EQ(a.val[1], V{-1});
  const std::vector<V> b(n, 1);
  for (const auto by : {preconditioner::none, preconditioner::jacobi})
    for (const auto method : {cg_method::fused, cg_method::blas}) {
      this->options.by = by;
      this->options.method = method;
      if (method == cg_method::blas) this->use_blas();
      const auto found = nz::conjugate_gradients<V>(a, b, this->options);
      EXPECT_EQ(found.end, cg_end::converged);
      // b is symmetric: half of the eigenvectors are in it. cuBLAS's loop is looked at every 16.
      EXPECT_LE(found.iterations, method == cg_method::fused ? 30 : 31);
      const double error = std::sqrt(static_cast<double>(n)) * this->options.tolerance * 4 * n * n / 9.8;
      for (int i = 1; i <= n; ++i)
        ASSERT_NEAR(found.x[static_cast<std::size_t>(i - 1)], i * (n + 1 - i) / 2.0, error);
    }
}

TYPED_TEST(Gradients, ReportTheResidualThatThereIs) {
  using V = typename TypeParam::V;
  const auto a = nz::generate::poisson_2d<V>(23, 19);
  const std::vector<V> b = battery::numbers<V>(static_cast<std::size_t>(a.rows), 2);
  const auto found = nz::conjugate_gradients<V>(a, b, this->options);
  EXPECT_EQ(found.end, cg_end::converged);
  EXPECT_LE(found.residual, this->options.tolerance);
  EXPECT_NEAR(residual_of(a, b, found.x), found.residual, 20 * std::numeric_limits<V>::epsilon());
  ASSERT_EQ(found.history.size(), static_cast<std::size_t>(found.iterations) + 1);
  EXPECT_EQ(found.history.front(), 1);
  EXPECT_EQ(found.history.back(), found.recursive_residual);
  EXPECT_GT(found.history[found.history.size() - 2], this->options.tolerance);
}

TYPED_TEST(Gradients, HaveTheSameBitsHoweverSeldomTheHostLooksAndForAnyThreads) {
  using V = typename TypeParam::V;
  const auto a = nz::generate::poisson_2d<V>(40, 50);
  const std::vector<V> b = battery::numbers<V>(static_cast<std::size_t>(a.rows), 3);
  this->options.by = preconditioner::jacobi;
  // For the emulator's sake: a loop that ends by its tolerance, and soon.
  this->options.tolerance = 0.05;
  this->options.check_every = 1;
  const auto first = nz::conjugate_gradients<V>(a, b, this->options);
  ASSERT_EQ(first.end, cg_end::converged);
  ASSERT_GT(first.iterations, 4);
  for (const int every : {2, 7, 16}) {
    const nz::thread_limit scope(every);
    this->options.check_every = every;
    const auto found = nz::conjugate_gradients<V>(a, b, this->options);
    EXPECT_EQ(found.iterations, first.iterations) << every;
    EXPECT_EQ(found.history, first.history) << every;
    EXPECT_EQ(found.x, first.x) << every;
    EXPECT_EQ(found.residual, first.residual) << every;
  }
}

TYPED_TEST(Gradients, TakeTheSameIterationsAsALoopOfBlasCalls) {
  using V = typename TypeParam::V;
  const auto a = nz::generate::poisson_2d<V>(20, 17);
  const std::vector<V> b(static_cast<std::size_t>(a.rows), 1);
  this->options.by = preconditioner::jacobi;
  const auto fused = nz::conjugate_gradients<V>(a, b, this->options);
  this->use_blas();
  this->options.check_every = 1;
  const auto blas = nz::conjugate_gradients<V>(a, b, this->options);
  EXPECT_EQ(blas.end, cg_end::converged);
  EXPECT_LE(std::abs(blas.iterations - fused.iterations), 1);
  for (std::size_t i = 0; i < b.size(); ++i)
    ASSERT_NEAR(blas.x[i], fused.x[i], 1e4 * this->options.tolerance);
}

// p = b, and p · A p = 1 - 4 + 1 < 0: no iteration can be made.
TYPED_TEST(Gradients, CallAnIndefiniteMatrixSoAndCountNoIterationForIt) {
  using V = typename TypeParam::V;
  const csr<V> a{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 2, 1}};
  for (const auto method : {cg_method::fused, cg_method::blas}) {
    if (method == cg_method::blas) this->use_blas();
    const auto found = nz::conjugate_gradients<V>(a, std::vector<V>{1, -1}, this->options);
    EXPECT_EQ(found.end, cg_end::not_positive_definite);
    EXPECT_EQ(found.iterations, 0);
    EXPECT_NEAR(found.curvature, -1, 1e-6);  // -2 over |b|^2 = 2
    EXPECT_EQ(found.x, (std::vector<V>{0, 0}));
    EXPECT_NEAR(found.residual, 1, 1e-6);
  }
}

TYPED_TEST(Gradients, AnswerNothingWithNothing) {
  using V = typename TypeParam::V;
  const auto a = nz::generate::poisson_2d<V>(5, 5);
  for (const auto method : {cg_method::fused, cg_method::blas}) {
    if (method == cg_method::blas) this->use_blas();
    const auto found = nz::conjugate_gradients<V>(a, std::vector<V>(25, 0), this->options);
    EXPECT_EQ(found.end, cg_end::converged);
    EXPECT_EQ(found.iterations, 0);
    EXPECT_EQ(found.x, std::vector<V>(25, 0));
  }
  const auto none = nz::conjugate_gradients<V>(csr<V>{}, std::vector<V>{}, this->options);
  EXPECT_EQ(none.end, cg_end::converged);
  EXPECT_TRUE(none.x.empty());
}

// A power of two goes through every sum and product unrounded, were it not for squares past the largest
// number.
TYPED_TEST(Gradients, DoNotMindHowLargeBIs) {
  using V = typename TypeParam::V;
  const auto a = nz::generate::poisson_2d<V>(9, 8);
  std::vector<V> b = battery::numbers<V>(72, 4);
  const auto plain = nz::conjugate_gradients<V>(a, b, this->options);
  for (const int power :
       {std::numeric_limits<V>::max_exponent - 12, std::numeric_limits<V>::min_exponent + 20}) {
    std::vector<V> scaled = b;
    for (V& value : scaled) value = std::ldexp(value, power);
    const auto found = nz::conjugate_gradients<V>(a, scaled, this->options);
    EXPECT_EQ(found.iterations, plain.iterations);
    EXPECT_EQ(found.residual, plain.residual);
    for (std::size_t i = 0; i < b.size(); ++i) ASSERT_EQ(std::ldexp(found.x[i], -power), plain.x[i]);
  }
}

TYPED_TEST(Gradients, StopWhereIterationsEnd) {
  using V = typename TypeParam::V;
  const auto a = nz::generate::poisson_2d<V>(30, 30);
  this->options.max_iterations = 5;
  this->options.check_every = 3;
  const auto found = nz::conjugate_gradients<V>(a, std::vector<V>(900, 1), this->options);
  EXPECT_EQ(found.end, cg_end::most_iterations);
  EXPECT_EQ(found.iterations, 5);
  EXPECT_EQ(found.history.size(), 6U);
  EXPECT_GT(found.residual, this->options.tolerance);
}

// What the loop believes goes below any tolerance; what there is does not.
TYPED_TEST(Gradients, AdmitThatRoundingLeavesNoBetter) {
  using V = typename TypeParam::V;
  const auto a = nz::generate::poisson_2d<V>(16, 16);
  this->options.tolerance = std::numeric_limits<V>::epsilon() / 64;
  const std::vector<V> b = battery::numbers<V>(256, 5);
  const auto found = nz::conjugate_gradients<V>(a, b, this->options);
  EXPECT_EQ(found.end, cg_end::stagnated);
  EXPECT_LE(found.recursive_residual, this->options.tolerance);
  EXPECT_GT(found.residual, this->options.tolerance);
  EXPECT_GT(residual_of(a, b, found.x), this->options.tolerance);
  EXPECT_LT(found.residual, 100 * std::numeric_limits<V>::epsilon());
}

TEST(GradientsOnTheCpu, PlanAgainOnceThereAreMoreIterationsThanExpected) {
  // A line takes an iteration for every second row, a square of as many far fewer.
  const auto hard = nz::generate::from_spec<double>("tridiagonal:900");
  const auto easy = nz::generate::poisson_2d<double>(30, 30);
  const std::vector<double> b(900, 1);
  const auto few = nz::conjugate_gradients<double>(easy, b);
  EXPECT_LE(few.iterations, 180);
  EXPECT_EQ(few.plan.expected_multiplies, 90);
  for (const cg_method method : {cg_method::fused, cg_method::blas}) {
    const auto many = nz::conjugate_gradients<double>(hard, b, {.method = method});
    EXPECT_GT(many.iterations, 180);
    EXPECT_EQ(many.plan.expected_multiplies, 900);
    EXPECT_TRUE(many.is_converged());
    EXPECT_LE(residual_of(hard, b, many.x), 1e-8);
    EXPECT_EQ(many.history.size(), static_cast<std::size_t>(many.iterations) + 1);
  }
}

TEST(GradientsOnTheCpu, KeepToTheKernelOrTheMultipliesThatTheyWereTold) {
  const auto hard = nz::generate::from_spec<double>("tridiagonal:900");
  const std::vector<double> b(900, 1);
  const auto named = nz::conjugate_gradients<double>(hard, b, {.plan = {.kernel = "sell_slices"}});
  EXPECT_EQ(named.plan.kernel, "sell_slices");
  const auto told = nz::conjugate_gradients<double>(hard, b, {.plan = {.expected_multiplies = 70}});
  EXPECT_EQ(told.plan.expected_multiplies, 70);
}

TEST(GradientsOnTheCpu, GoOnWhereTheyCannotPlanAgain) {
  // The first plan of so small a matrix does not look at the file, which is none of choices.
  const auto hard = nz::generate::from_spec<double>("tridiagonal:900");
  const std::vector<double> b(900, 1);
  const temporary_folder folder;
  const auto file = folder.path / "choices.json";
  std::ofstream(file) << "no JSON";
  const auto found = nz::conjugate_gradients<double>(
      hard, b, {.plan = {.expected_multiplies = 0, .remembered = file.string()}});
  EXPECT_TRUE(found.is_converged());
  EXPECT_EQ(found.plan.expected_multiplies, 90);
}

TEST(GradientsOnTheCpu, PlanAgainFromARememberedChoiceToo) {
  const auto hard = nz::generate::from_spec<double>("tridiagonal:7000");  // past 20,000 entries
  const std::vector<double> b(7000, 1);
  const temporary_folder folder;
  const auto file = folder.path / "choices.json";
  const nz::cg_options options{.max_iterations = 600,
                               .plan = {.expected_multiplies = 0, .remembered = file.string()}};
  const auto first = nz::conjugate_gradients<double>(hard, b, options),
             second = nz::conjugate_gradients<double>(hard, b, options);
  EXPECT_EQ(first.plan.kernel, second.plan.kernel);
  EXPECT_EQ(first.x, second.x);
}

TYPED_TEST(Gradients, TakeViewsAndMatricesOnTheirDevice) {
  using V = typename TypeParam::V;
  const auto a = nz::generate::from_spec<V>("poisson2d:20");
  const std::vector<V> b = battery::numbers<V>(static_cast<std::size_t>(a.rows), 5);
  const std::vector<std::int32_t> narrow(a.row_begin.begin(), a.row_begin.end());
  const auto owned = nz::conjugate_gradients<V>(a, b, this->options);
  const auto wide = nz::conjugate_gradients(nz::csr_view<V>(a), b, this->options);
  const auto slim = nz::conjugate_gradients<V>(
      nz::csr_view<V, std::int32_t>(a.rows, a.cols, narrow, a.col, a.val), b, this->options);
  EXPECT_EQ(wide.x, owned.x);
  EXPECT_EQ(slim.x, owned.x);
  if (TypeParam::kind == device_kind::cpu) return;
  const auto placed = nz::place_csr(a, this->options.plan.on);
  const auto there = nz::conjugate_gradients<V>(placed, b, this->options);
  EXPECT_EQ(there.x, owned.x);
  EXPECT_EQ(there.plan.kind, TypeParam::kind);
  this->options.plan.on = nz::cpu_device();
  EXPECT_THROW(nz::conjugate_gradients<V>(placed, b, this->options), nz::device_error);
}

}  // namespace
