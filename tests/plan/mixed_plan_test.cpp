#include <cstdint>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/plan.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"
#include "tests/temporary_folder.hpp"

// Plans in double whose matrix is held in single precision, on the CPU and in the emulator.
namespace {

class MixedPlan : public testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<nz::device> on_ = nz::find_device(GetParam());
  /// Large enough that a plan measures; its values are not exact in single precision.
  nz::csr<double> a_ = matrix("poisson2d:180");

  static nz::csr<double> matrix(const char* spec) {
    auto a = nz::generate::from_spec<double>(spec);
    for (std::size_t k = 0; k < a.val.size(); ++k) a.val[k] *= 1 + static_cast<double>(k % 97) / 1013;
    return a;
  }
  nz::plan_options single(std::int64_t multiplies = 200) const {
    return {.on = on_, .expected_multiplies = multiplies, .values = nz::stored_values::single};
  }
};
INSTANTIATE_TEST_SUITE_P(On, MixedPlan, testing::Values("cpu", "emulator"),
                         [](const auto& name) { return std::string(name.param); });

nz::csr<float> rounded(const nz::csr<double>& a) {
  nz::csr<float> out{a.rows, a.cols, a.row_begin, a.col, {}};
  out.val.assign(a.val.begin(), a.val.end());
  return out;
}

/// Within double's bound of the product of the rounded matrix: sums in float would be far outside.
void expect_right(const nz::plan<double>& made, const nz::csr<float>& a) {
  const auto x = battery::numbers<double>(static_cast<std::size_t>(a.cols), 1);
  const auto y0 = battery::numbers<double>(static_cast<std::size_t>(a.rows), 2);
  const auto exact = nz::reference::multiply_exactly<double>(-2.5, a, x, 0.75, y0);
  std::vector<double> y = y0;
  made.multiply(-2.5, x, 0.75, y);
  EXPECT_LE(nz::reference::largest_error<double>(exact, y), 1.0L) << made.kernel();
}

TEST_P(MixedPlan, IsWithinTheErrorBoundOfTheRoundedMatrixOnTheWholeBattery) {
  for (const auto& [name, a] : battery::matrices<double>()) {
    SCOPED_TRACE(name);
    expect_right(nz::make_plan(a, single()), rounded(a));
  }
}

TEST_P(MixedPlan, OfEveryOriginIsRightAndSmaller) {
  const nz::csr<float> exact = rounded(a_);
  const std::vector<std::int32_t> narrow(a_.row_begin.begin(), a_.row_begin.end());
  const nz::csr_view<double, std::int32_t> narrow_view(a_.rows, a_.cols, narrow, a_.col, a_.val);
  const auto in_double = nz::make_plan(a_, {.on = on_, .expected_multiplies = 1});
  for (const std::int64_t multiplies : {1, 1'000'000}) {
    const nz::plan_options options = single(multiplies);
    std::vector<nz::plan<double>> plans;
    plans.push_back(nz::make_plan(a_, options));
    plans.push_back(nz::make_plan(nz::csr_view<double>(a_), options));
    plans.push_back(nz::make_plan(narrow_view, options));
    plans.push_back(nz::make_plan(nz::csr<double>(a_), options));
    if (!on_->is_host() || on_->kind() != nz::device_kind::cpu)
      plans.push_back(nz::make_plan(nz::place_csr(a_, on_), options));
    for (const auto& made : plans) {
      expect_right(made, exact);
      EXPECT_LT(made.storage().bytes, in_double.storage().bytes);
      EXPECT_LT(made.report().csr_bytes, in_double.report().csr_bytes);
      EXPECT_TRUE(made.report().is_rounded);
      EXPECT_NE(made.explain().find("in single precision, rounded"), std::string::npos) << made.explain();
    }
  }
  EXPECT_FALSE(in_double.report().is_rounded);
  EXPECT_EQ(in_double.explain().find("single precision"), std::string::npos);
}

TEST_P(MixedPlan, TakesEveryKernelThatHasIt) {
  int taken = 0;
  for (const nz::kernel_row& kernel : nz::kernels()) {
    if (kernel.runs_on != on_->kind() || kernel.is_peer) continue;
    SCOPED_TRACE(kernel.name);
    const auto a = matrix(kernel.format.ends_with("bsr") ? "fem:4" : "poisson2d:20");
    nz::plan_options options = single();
    options.kernel = kernel.name;
    options.deterministic = false;
    const auto& functions = kernel.functions_for<float, double>();
    if (functions.host == nullptr && functions.device == nullptr) {
      EXPECT_THROW(nz::make_plan(a, options), nz::unsupported);
      continue;
    }
    if (kernel.format == "sbsr") continue;  // rounding keeps symmetry, the factors of matrix() do not
    expect_right(nz::make_plan(a, options), rounded(a));
    ++taken;
  }
  EXPECT_GE(taken, 8);
}

TEST_P(MixedPlan, OfFloatsIsInDouble) {
  const nz::csr<float> a = rounded(a_);
  const std::vector<std::int32_t> narrow(a.row_begin.begin(), a.row_begin.end());
  const auto wide = nz::make_plan<double>(nz::csr_view<float>(a), {.on = on_});
  expect_right(wide, a);
  EXPECT_FALSE(wide.report().is_rounded);
  EXPECT_NE(wide.explain().find("in single precision; x, y and the sums in double"), std::string::npos);
  const nz::csr_view<float, std::int32_t> narrow_view(a.rows, a.cols, narrow, a.col, a.val);
  expect_right(nz::make_plan<double>(narrow_view, {.on = on_}), a);
  if (on_->kind() != nz::device_kind::cpu) expect_right(nz::make_plan<double>(nz::place_csr(a, on_)), a);
}

TEST_P(MixedPlan, OfAMovedMatrixOutlivesIt) {
  auto a = a_;
  const auto made = nz::make_plan(std::move(a), single(1));
  expect_right(made, rounded(a_));
}

TEST_P(MixedPlan, InFloatIsAsEver) {
  const nz::csr<float> a = rounded(a_);
  const auto made = nz::make_plan(a, single(1));
  EXPECT_FALSE(made.report().is_rounded);
  EXPECT_EQ(made.storage().bytes, nz::make_plan(a, {.on = on_, .expected_multiplies = 1}).storage().bytes);
}

TEST_P(MixedPlan, RefusesValuesThatSinglePrecisionCannotHold) {
  auto a = a_;
  a.val[7] = 1e39;
  EXPECT_THROW(nz::make_plan(a, single()), nz::unsupported);
  a.val[7] = std::numeric_limits<double>::infinity();
  EXPECT_NO_THROW(nz::make_plan(a, single(1)));
}

TEST_P(MixedPlan, IsRememberedApart) {
  const temporary_folder folder;
  const auto file = folder.path / "choices.json";
  nz::plan_options options = single();
  options.remembered = file.string();
  options.expected_multiplies = 1'000'000;  // so many that it measures
  EXPECT_FALSE(nz::make_plan(a_, options).report().is_remembered);
  EXPECT_TRUE(nz::make_plan(a_, options).report().is_remembered);
  const nz::plan_options apart{.on = on_, .expected_multiplies = 1'000'000, .remembered = file.string()};
  EXPECT_FALSE(nz::make_plan(rounded(a_), apart).report().is_remembered);
}

}  // namespace
