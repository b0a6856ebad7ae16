#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/measure.hpp>
#include <nonzero/plan/plan.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"
#include "tests/plan/expect_refusal.hpp"
#include "tests/temporary_folder.hpp"

// Plans for a GPU, in the emulator. Which kernel wins there says nothing, so nothing here depends on it.
namespace {

template <class V> class DevicePlan : public testing::Test {
 protected:
  std::shared_ptr<nz::device> on_ = nz::find_device("emulator");
  /// Large enough that a plan measures.
  nz::csr<V> a_ = nz::generate::from_spec<V>("poisson2d:180");
};
struct names {
  template <class V> static std::string GetName(int) { return sizeof(V) == 4 ? "float" : "double"; }
};
using values = testing::Types<float, double>;
TYPED_TEST_SUITE(DevicePlan, values, names);

template <class V> void expect_right(const nz::plan<V>& made, const nz::csr<V>& a) {
  const auto x = battery::numbers<V>(static_cast<std::size_t>(a.cols), 1);
  const auto y0 = battery::numbers<V>(static_cast<std::size_t>(a.rows), 2);
  const auto exact = nz::reference::multiply_exactly<V>(V{-2.5}, a, x, V{0.75}, y0);
  std::vector<V> y = y0;
  made.multiply(V{-2.5}, x, V{0.75}, y);
  EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L) << made.kernel();
  const nz::vector<V> there(made.where(), x);
  nz::vector<V> result(made.where(), std::span<const V>(y0));
  made.multiply(V{-2.5}, there, V{0.75}, result);
  EXPECT_LE(nz::reference::largest_error<V>(exact, result.to_host()), 1.0L) << made.kernel();
  made.multiply(there, result);
  EXPECT_LE(
      nz::reference::largest_error<V>(nz::reference::multiply_exactly<V>(1, a, x, 0, y0), result.to_host()),
      1.0L)
      << made.kernel();
}

TYPED_TEST(DevicePlan, IsWithinTheErrorBoundOnTheWholeBattery) {
  using V = TypeParam;
  for (const auto& [name, a] : battery::matrices<V>()) {
    SCOPED_TRACE(name);
    const auto made = nz::make_plan(a, {.on = this->on_});
    expect_right(made, a);
    EXPECT_EQ(made.where(), this->on_);
  }
}

TYPED_TEST(DevicePlan, IsRightAndExplainsEveryCandidateOfWhatItMeasures) {
  using V = TypeParam;
  for (const char* spec : {"poisson2d:180", "fem:13", "uniform:12000:12", "dense_rows:30000:3:2"}) {
    SCOPED_TRACE(spec);
    const auto a = nz::generate::from_spec<V>(spec);
    const auto made = nz::make_plan(nz::place_csr(a, this->on_), {.expected_multiplies = 1'000'000});
    expect_right(made, a);
    const nz::plan_report& report = made.report();
    EXPECT_EQ(report.kind, nz::device_kind::emulator);
    EXPECT_GT(report.csr_seconds, 0);
    EXPECT_GT(report.chosen_seconds, 0);
    EXPECT_GT(report.bytes_per_second, 0);
    EXPECT_LE(report.chosen_seconds, report.csr_seconds);
    EXPECT_LE(static_cast<double>(report.bytes), 1.1 * static_cast<double>(report.csr_bytes));
    const std::string text = made.explain();
    EXPECT_NE(text.find("bytes per entry"), std::string::npos);
    std::size_t candidates = 0, chosen = 0;
    for (const nz::kernel_row& kernel : nz::kernels())
      candidates += kernel.runs_on == nz::device_kind::emulator && kernel.is_candidate;
    EXPECT_EQ(report.candidates.size(), candidates);
    for (const nz::plan_candidate& c : report.candidates) {
      EXPECT_FALSE(c.verdict.empty()) << c.kernel;
      EXPECT_NE(text.find(c.verdict), std::string::npos) << text;
      EXPECT_EQ(c.is_chosen, c.kernel == made.kernel());
      chosen += c.is_chosen;
    }
    EXPECT_EQ(chosen, 1u);
  }
}

TYPED_TEST(DevicePlan, HasTheSameBitsEveryTime) {
  using V = TypeParam;
  const auto made = nz::make_plan(this->a_, {.on = this->on_, .expected_multiplies = 1'000'000});
  EXPECT_TRUE(nz::find_kernel(made.kernel(), nz::device_kind::emulator).is_repeatable);
  const auto x = battery::numbers<V>(static_cast<std::size_t>(this->a_.cols), 3);
  std::vector<V> first(static_cast<std::size_t>(this->a_.rows)), again(first.size());
  made.multiply(x, first);
  made.multiply(x, again);
  EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(V)), 0);
}

TYPED_TEST(DevicePlan, TakesEveryKernelByName) {
  using V = TypeParam;
  for (const nz::kernel_row& kernel : nz::kernels()) {
    if (kernel.runs_on != nz::device_kind::emulator) continue;
    SCOPED_TRACE(kernel.name);
    const auto a = nz::generate::from_spec<V>(kernel.format == "bsr" ? "fem:3" : "poisson2d:12");
    const nz::plan_options options{
        .on = this->on_, .deterministic = kernel.is_repeatable, .kernel = std::string(kernel.name)};
    const auto made = nz::make_plan(a, options);
    EXPECT_EQ(made.kernel(), kernel.name);
    expect_right(made, a);
    if (kernel.is_repeatable) continue;
    expect_refusal<nz::unsupported>(
        [&] { nz::make_plan(a, {.on = this->on_, .kernel = std::string(kernel.name)}); },
        {std::string(kernel.name), "same bits"});
  }
}

TYPED_TEST(DevicePlan, NeverTakesMoreThanTheMemoryBudget) {
  using V = TypeParam;
  for (const char* spec : {"poisson2d:180", "poisson2d:50", "dense_rows:3000:2:4"}) {
    const auto a = nz::generate::from_spec<V>(spec);
    const auto placed = nz::place_csr(a, this->on_);
    const auto csr = static_cast<double>(placed->storage().bytes);
    // Of a small matrix, what several multiplies at once write besides y is a larger part.
    const double least = a.rows < 10'000 ? 1.3 : 1.05;
    for (const double times : {least, 1.1 * least, 8.0}) {
      SCOPED_TRACE(std::string(spec) + " with " + std::to_string(times));
      const auto made =
          nz::make_plan(placed, {.expected_multiplies = 1'000'000, .memory_budget = times * csr});
      EXPECT_LE(static_cast<double>(made.storage().bytes), times * csr);
      EXPECT_EQ(made.storage().bytes, made.report().bytes);
      expect_right(made, a);
    }
  }
}

TYPED_TEST(DevicePlan, SaysWhatFitsNowhere) {
  for (const double budget : {0.0, 1000.0, std::numeric_limits<double>::quiet_NaN()}) {
    expect_refusal<nz::unsupported>(
        [&] { nz::make_plan(this->a_, {.on = this->on_, .memory_budget = budget}); }, {"within", "takes"});
    expect_refusal<nz::unsupported>(
        [&] { nz::make_plan(this->a_, {.on = this->on_, .memory_budget = budget, .kernel = "csr_vector"}); },
        {"csr_vector", "memory budget"});
  }
}

TYPED_TEST(DevicePlan, MeasuresNothingOfWhatTheCacheHolds) {
  const auto a = nz::generate::from_spec<TypeParam>("rmat:14");
  const auto placed = nz::place_csr(a, this->on_);
  const auto made = nz::make_plan(placed, {});
  EXPECT_EQ(made.kernel(), "sell_slices");
  EXPECT_TRUE(made.report().candidates.empty());
  EXPECT_NE(made.explain().find("the cache holds"), std::string::npos) << made.explain();
  expect_right(made, a);
  // The conversion takes longer than so few multiplies.
  const auto few = nz::make_plan(placed, {.expected_multiplies = 20});
  EXPECT_EQ(nz::find_kernel(few.kernel(), nz::device_kind::emulator).format, "csr");
  // What measuring takes is little beside so many.
  EXPECT_FALSE(nz::make_plan(placed, {.expected_multiplies = 1'000'000}).report().candidates.empty());
}

TYPED_TEST(DevicePlan, OfALargeStencilThatTheCacheHoldsReadsNoColumns) {
  if (this->on_->cache_bytes() < 20 << 20) GTEST_SKIP() << "the cache of this machine does not hold it";
  auto a = nz::generate::from_spec<TypeParam>("poisson27:36");  // 8 MiB or more
  for (std::size_t k = 0; k < a.val.size(); ++k) a.val[k] = TypeParam{1} / static_cast<TypeParam>(k + 3);
  EXPECT_EQ(nz::make_plan(nz::place_csr(a, this->on_), {}).kernel(), "warp_packed_slices");
}

TYPED_TEST(DevicePlan, SharesTheMatrixWhereItStaysWithCsrAndKeepsItAlive) {
  auto placed = nz::place_csr(this->a_, this->on_);
  const auto made = nz::make_plan(placed, {.expected_multiplies = 1});
  EXPECT_TRUE(made.report().candidates.empty());
  EXPECT_EQ(nz::find_kernel(made.kernel(), nz::device_kind::emulator).format, "csr");
  EXPECT_GT(placed.use_count(), 1);
  placed.reset();
  expect_right(made, this->a_);
}

TYPED_TEST(DevicePlan, LetsGoOfTheMatrixOnceItIsConverted) {
  const auto placed = nz::place_csr(this->a_, this->on_);
  const auto made = nz::make_plan(placed, {.kernel = "sell_slices"});
  EXPECT_EQ(placed.use_count(), 1);
}

TYPED_TEST(DevicePlan, OfAMatrixWithAGiantRowDoesNotLeaveItToOneGroupOfLanes) {
  using V = TypeParam;
  for (const char* spec : {"dense_rows:3000:2:1", "dense_rows:200000:2:1"}) {
    const auto a = nz::generate::from_spec<V>(spec);
    const auto made = nz::make_plan(a, {.on = this->on_, .expected_multiplies = 1});
    EXPECT_TRUE(made.kernel() == "csr_merge" || made.kernel() == "csr_groups") << spec << made.kernel();
  }
}

TYPED_TEST(DevicePlan, KeepsToABudgetThatOnlyOneKernelFits) {
  using V = TypeParam;
  const auto placed = nz::place_csr(nz::generate::from_spec<V>("uniform:2000:200"), this->on_);
  const auto bytes_of = [&](const char* kernel) {
    return nz::find_kernel(kernel, nz::device_kind::emulator).prepare(placed)->storage().bytes;
  };
  const auto smallest = static_cast<double>(bytes_of("csr_vector"));
  ASSERT_GT(bytes_of("csr_merge"), bytes_of("csr_vector"));
  for (const std::int64_t multiplies : {1, 1'000'000}) {
    const auto made = nz::make_plan(placed, {.expected_multiplies = multiplies, .memory_budget = smallest});
    EXPECT_LE(static_cast<double>(made.report().bytes), smallest);
  }
}

TYPED_TEST(DevicePlan, MayBeForStepsOfAnyShape) {
  using V = TypeParam;
  auto wide = this->a_;
  wide.cols += 100;
  auto tall = nz::transpose(wide);
  for (const nz::csr<V>& a : {wide, tall, nz::csr<V>{}}) {
    const auto made = nz::make_plan(a, {.on = this->on_, .expected_multiplies = 100'000, .are_steps = true});
    const bool says_so = nz::explain(made.report()).find(" a step, ") != std::string::npos;
    EXPECT_EQ(says_so, a.rows > 0);
    expect_right(made, a);
  }
}

TYPED_TEST(DevicePlan, OfAFewShortRowsNeedsNoList) {
  using V = TypeParam;
  const auto kernel_for = [&](const char* spec, std::int64_t multiplies) {
    const auto a = nz::generate::from_spec<V>(spec);
    return nz::make_plan(a, {.on = this->on_, .expected_multiplies = multiplies}).kernel();
  };
  EXPECT_EQ(kernel_for("poisson2d:20", 50), "csr_vector");
  EXPECT_EQ(kernel_for("dense_rows:3000:2:1", 50), "csr_groups");
  EXPECT_EQ(kernel_for("poisson2d:20", 200), "sell_slices");
  EXPECT_EQ(kernel_for("poisson2d:10", 1'000'000), "csr_vector");  // of fewer than 1,000 entries
}

TYPED_TEST(DevicePlan, OfNothingButRowsIsRight) {
  using V = TypeParam;
  nz::csr<V> a{400'000, 0, {}, {}, {}};
  a.row_begin.assign(static_cast<std::size_t>(a.rows) + 1, 0);
  for (const std::int64_t multiplies : {1, 1'000'000})
    expect_right(nz::make_plan(a, {.on = this->on_, .expected_multiplies = multiplies}), a);
}

TYPED_TEST(DevicePlan, SaysHowTheKernelHoldsTheMatrix) {
  const auto encodings = [&](const char* spec, const char* kernel) {
    const auto a = nz::generate::from_spec<TypeParam>(spec);
    const auto made = nz::make_plan(a, {.on = this->on_, .kernel = kernel});
    EXPECT_NE(made.explain().find(made.report().encodings), std::string::npos);
    return made.report().encodings;
  };
  EXPECT_TRUE(encodings("fem:3", "bsr_rows").starts_with("blocks of 3 x 3"));
  EXPECT_TRUE(encodings("tridiagonal:320", "warp_packed_slices").starts_with("10 of 10 slices"));
  EXPECT_EQ(encodings("fem:3", "csr_vector"), "");
}

TYPED_TEST(DevicePlan, RefusesAnotherDeviceThanTheMatrixIsOn) {
  const auto placed = nz::place_csr(this->a_, this->on_);
  expect_refusal<nz::device_error>([&] { nz::make_plan(placed, {.on = nz::cpu_device()}); },
                                   {"not on the device asked for"});
  expect_refusal<nz::unsupported>([&] { nz::make_plan(placed, {.kernel = "csr_balanced"}); },
                                  {"csr_balanced", "csr_vector"});
}

TYPED_TEST(DevicePlan, RemembersItsChoices) {
  using V = TypeParam;
  const temporary_folder folder;
  const auto file = folder.path / "choices.json";
  // So many that it measures, though the cache holds the matrix.
  const nz::plan_options options{
      .on = this->on_, .expected_multiplies = 1'000'000, .remembered = file.string()};
  const auto first = nz::make_plan(this->a_, options);
  EXPECT_FALSE(first.report().is_remembered);
  const auto second = nz::make_plan(nz::place_csr(this->a_, this->on_), options);
  EXPECT_TRUE(second.report().is_remembered);
  EXPECT_EQ(second.kernel(), first.kernel());
  expect_right(second, this->a_);
  // The choice for steps is another one, as is the CPU's, and another matrix is not taken for this one.
  nz::plan_options for_steps = options;
  for_steps.are_steps = true;
  EXPECT_FALSE(nz::make_plan(this->a_, for_steps).report().is_remembered);
  EXPECT_FALSE(nz::make_plan(this->a_, {.remembered = file.string()}).report().is_remembered);
  auto other = this->a_;
  for (V& value : other.val) value += 1;
  EXPECT_FALSE(nz::make_plan(other, options).report().is_remembered);
}

// Nobody writes such a choice, but anybody can edit a file.
TYPED_TEST(DevicePlan, TakesNoRememberedKernelThatIsNotRepeatable) {
  const temporary_folder folder;
  const auto file = folder.path / "choices.json";
  // So many that it measures, though the cache holds the matrix.
  const nz::plan_options options{
      .on = this->on_, .expected_multiplies = 1'000'000, .remembered = file.string()};
  const auto first = nz::make_plan(this->a_, options);
  std::ifstream in(file);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::string chosen = "\"kernel\": \"" + first.kernel() + '"';
  const auto at = text.find(chosen);
  ASSERT_NE(at, text.npos);
  std::ofstream(file) << text.replace(at, chosen.size(), R"("kernel": "coo_atomic")");
  const auto second = nz::make_plan(this->a_, options);
  EXPECT_FALSE(second.report().is_remembered);
  EXPECT_NE(second.kernel(), "coo_atomic");
  EXPECT_TRUE(nz::make_plan(this->a_, options).report().is_remembered);  // written anew
}

TYPED_TEST(DevicePlan, CopySpeedIsFoundOnce) {
  const double speed = nz::copy_speed(this->on_);
  EXPECT_GT(speed, 0);
  EXPECT_EQ(nz::copy_speed(this->on_), speed);
}

}  // namespace
