#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/cpu/kernels.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/plan.hpp>
#include <nonzero/plan/reorder.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"
#include "tests/plan/expect_refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace {

template <class V> class Plan : public testing::Test {};
struct names {
  template <class V> static std::string GetName(int) { return sizeof(V) == 4 ? "float" : "double"; }
};
using values = testing::Types<float, double>;
TYPED_TEST_SUITE(Plan, values, names);

/// Large enough that a plan measures.
template <class V> nz::csr<V> measured_matrix() { return nz::generate::from_spec<V>("poisson2d:150"); }

template <class V> void expect_right(const nz::plan<V>& made, const nz::csr<V>& a) {
  const auto x = battery::numbers<V>(static_cast<std::size_t>(a.cols), 1);
  const auto y0 = battery::numbers<V>(static_cast<std::size_t>(a.rows), 2);
  std::vector<V> y = y0;
  made.multiply(V{-2.5}, x, V{0.75}, y);
  EXPECT_LE(
      nz::reference::largest_error<V>(nz::reference::multiply_exactly<V>(V{-2.5}, a, x, V{0.75}, y0), y),
      1.0L)
      << made.kernel();
  made.multiply(x, y);
  EXPECT_LE(nz::reference::largest_error<V>(nz::reference::multiply_exactly<V>(1, a, x, 0, y0), y), 1.0L)
      << made.kernel();
}

TYPED_TEST(Plan, IsWithinTheErrorBoundOnTheWholeBattery) {
  using V = TypeParam;
  for (const auto& [name, a] : battery::matrices<V>())
    for (const std::int64_t multiplies : {std::int64_t{1}, std::int64_t{200}, std::int64_t{1} << 40}) {
      SCOPED_TRACE(name + " for " + std::to_string(multiplies));
      const auto made = nz::make_plan(a, {.expected_multiplies = multiplies});
      expect_right(made, a);
      EXPECT_EQ(made.rows(), a.rows);
      EXPECT_EQ(made.cols(), a.cols);
    }
}

TYPED_TEST(Plan, TakesEveryKernelOfTheCpuByName) {
  using V = TypeParam;
  for (const nz::kernel_row& kernel : nz::kernels()) {
    if (kernel.runs_on != nz::device_kind::cpu || kernel.is_peer) continue;
    const auto a = nz::generate::from_spec<V>(kernel.format.ends_with("bsr") ? "fem:5" : "poisson2d:40");
    const auto made = nz::make_plan(a, {.deterministic = false, .kernel = std::string(kernel.name)});
    EXPECT_EQ(made.kernel(), kernel.name);
    expect_right(made, a);
  }
}

TYPED_TEST(Plan, MeasuresASmallMatrixOnlyForManyMultiplies) {
  using V = TypeParam;
  const auto a = nz::generate::from_spec<V>("poisson2d:30");  // 4380 entries
  const auto for_few = nz::make_plan(a, {.expected_multiplies = 400}).report();
  EXPECT_TRUE(for_few.candidates.empty());
  EXPECT_EQ(for_few.kernel, "packed_slices");
  EXPECT_NE(for_few.reason.find("fewer than 20000 entries"), std::string::npos) << for_few.reason;
  const auto for_many = nz::make_plan(a, {.expected_multiplies = 500});
  EXPECT_GT(for_many.report().candidates.size(), 1U);
  EXPECT_GT(for_many.report().csr_seconds, 0);
  expect_right(for_many, a);
}

TYPED_TEST(Plan, ConvertsWithoutMeasuringWhatHasAThousandEntriesForAHundredMultiplies) {
  using V = TypeParam;
  const auto kernel_for = [](const char* spec, nz::plan_options options) {
    const auto a = nz::generate::from_spec<V>(spec);
    const auto made = nz::make_plan(a, options);
    expect_right(made, a);
    EXPECT_TRUE(made.report().candidates.empty());
    return made.kernel();
  };
  EXPECT_EQ(kernel_for("poisson2d:16", {}), "packed_slices");  // 1216 entries
  EXPECT_EQ(kernel_for("poisson2d:14", {}), "csr_balanced");   // 924
  EXPECT_EQ(kernel_for("poisson2d:30", {.expected_multiplies = 100}), "packed_slices");
  EXPECT_EQ(kernel_for("poisson2d:30", {.expected_multiplies = 99}), "csr_balanced");
}

TYPED_TEST(Plan, NeverTakesMoreThanTheMemoryBudget) {
  using V = TypeParam;
  for (const char* spec : {"poisson2d:150", "fem:9", "uniform:5000", "dense_rows:3000:2:4"}) {
    const auto a = nz::generate::from_spec<V>(spec);
    const auto csr = static_cast<double>(nz::footprint_of(a).bytes);
    for (const double times : {1.0, 1.15, 8.0}) {
      SCOPED_TRACE(std::string(spec) + " with " + std::to_string(times));
      const auto made = nz::make_plan(a, {.expected_multiplies = 1'000'000, .memory_budget = times * csr});
      EXPECT_LE(static_cast<double>(made.storage().bytes), times * csr);
      EXPECT_EQ(made.storage().bytes, made.report().bytes);
      expect_right(made, a);
    }
  }
}

TYPED_TEST(Plan, SaysWhatFitsNowhere) {
  const auto a = measured_matrix<TypeParam>();
  for (const double budget : {0.0, 1000.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    expect_refusal<nz::unsupported>([&] { nz::make_plan(a, {.memory_budget = budget}); },
                                    {"within", "csr_balanced"});
    expect_refusal<nz::unsupported>(
        [&] { nz::make_plan(a, {.memory_budget = budget, .kernel = "csr_balanced"}); },
        {"csr_balanced", "memory budget"});
  }
}

TYPED_TEST(Plan, HasTheSameBitsForAnyNumberOfThreads) {
  using V = TypeParam;
  for (const char* spec : {"poisson2d:150", "rmat:12", "dense_rows:20000:3:2"}) {
    const auto a = nz::generate::from_spec<V>(spec);
    const auto made = nz::make_plan(a, {.expected_multiplies = 1'000'000});
    const auto x = battery::numbers<V>(static_cast<std::size_t>(a.cols), 3);
    std::vector<V> first(static_cast<std::size_t>(a.rows)), again(first.size());
    made.multiply(x, first);
    for (const int threads : {1, 2, 3, 7}) {
      const nz::thread_limit scope(threads);
      made.multiply(x, again);
      EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(V)), 0)
          << spec << ", " << threads;
    }
  }
}

TYPED_TEST(Plan, LeavesTheNumberOfThreadsAsItWas) {
  const nz::thread_limit scope(3);
  nz::make_plan(measured_matrix<TypeParam>(), {.expected_multiplies = 1'000'000});
  EXPECT_EQ(nz::thread_count(), 3);
}

TYPED_TEST(Plan, ConvertsNothingForOneMultiply) {
  const auto a = measured_matrix<TypeParam>();
  for (const std::int64_t multiplies : {-5, 0, 1}) {
    const auto made = nz::make_plan(a, {.expected_multiplies = multiplies});
    EXPECT_EQ(made.kernel(), "csr_balanced");
    EXPECT_TRUE(made.report().candidates.empty());
    EXPECT_NE(made.explain().find("no conversion could pay"), std::string::npos);
  }
}

TYPED_TEST(Plan, KeepsBorrowedAndMovedMatricesUncopied) {
  using V = TypeParam;
  auto a = measured_matrix<V>();
  const auto copy = a;
  const V* const held = a.val.data();
  const auto borrowing = nz::make_plan(nz::csr_view<V>(a), {.expected_multiplies = 1});
  a.val[0] = 100;  // seen by the one that borrows, and by no other
  std::vector<V> x(static_cast<std::size_t>(a.cols), 0), y(static_cast<std::size_t>(a.rows));
  x[0] = 1;
  borrowing.multiply(x, y);
  EXPECT_EQ(y[0], V{100});
  const auto copying = nz::make_plan(a, {.expected_multiplies = 1});
  a.val[0] = copy.val[0];
  copying.multiply(x, y);
  EXPECT_EQ(y[0], V{100});
  EXPECT_EQ(a.val.data(), held);
  const auto moved = nz::make_plan(std::move(a), {.expected_multiplies = 1});
  expect_right(moved, copy);
}

TYPED_TEST(Plan, FusedStepsGiveTheProduct) {
  using V = TypeParam;
  const auto a = measured_matrix<V>();
  const auto made = nz::make_plan(a);
  const std::vector<V> x(static_cast<std::size_t>(a.cols), 1);
  std::vector<V> y(static_cast<std::size_t>(a.rows)), fused(y.size());
  made.multiply(x, y);
  const double rows = made.apply(x, [&](nz::index first, std::span<V> sums) {
    std::copy(sums.begin(), sums.end(), fused.begin() + first);
    return static_cast<double>(sums.size());
  });
  EXPECT_EQ(rows, a.rows);
  EXPECT_EQ(fused, y);
}

TEST(Explanation, SaysWhyAKernelIsKeptThatPaysTooLate) {
  nz::plan_report r;
  r.base_kernel = "csr_balanced";
  r.entries = r.rows = r.cols = 1;
  r.csr_seconds = 2e-3, r.chosen_seconds = 1e-3, r.seconds = 5.805;
  r.memory_budget = 1000;
  r.expected_multiplies = 200;
  const std::string why = "; chosen nevertheless, because that time is spent by now";
  EXPECT_NE(nz::explain(r).find("; 200 multiplies are expected; paid back after 5805" + why),
            std::string::npos)
      << nz::explain(r);
  EXPECT_NE(nz::explain(r).find("1 × 1, 1 entry;"), std::string::npos);
  r.expected_multiplies = 6000;
  EXPECT_EQ(nz::explain(r).find(why), std::string::npos);
  r.csr_bytes = 2000;  // past the budget: it had to be converted, and nothing is to be paid back
  EXPECT_EQ(nz::explain(r).find("paid back"), std::string::npos);
}

TYPED_TEST(Plan, ExplainsTheChoiceAndEveryOther) {
  const auto a = measured_matrix<TypeParam>();
  const auto made = nz::make_plan(a, {.expected_multiplies = 1'000'000});
  const std::string text = made.explain();
  EXPECT_TRUE(text.starts_with(made.kernel()));
  std::size_t chosen = 0;
  const auto all = nz::cpu_kernels();
  EXPECT_EQ(made.report().candidates.size(),
            static_cast<std::size_t>(std::count_if(
                all.begin(), all.end(), [](const nz::kernel_row& kernel) { return kernel.is_candidate; })));
  for (const nz::plan_candidate& c : made.report().candidates) {
    EXPECT_NE(text.find("\n  " + c.kernel + " "), std::string::npos) << text;
    EXPECT_FALSE(c.verdict.empty()) << c.kernel;
    EXPECT_NE(text.find(c.verdict), std::string::npos) << text;
    chosen += c.is_chosen;
    if (c.is_chosen) {
      EXPECT_EQ(c.kernel, made.kernel());
    }
  }
  EXPECT_EQ(chosen, 1u);
  EXPECT_GT(made.report().seconds, 0);
}

TYPED_TEST(Plan, ThinksOfOneTriangleWhereTheMatrixIsSymmetric) {
  using V = TypeParam;
  const auto judged = [](const nz::csr<V>& a) {
    const auto made = nz::make_plan(a, {.expected_multiplies = 1'000'000});
    expect_right(made, a);
    const auto& all = made.report().candidates;
    return *std::find_if(all.begin(), all.end(), [](const auto& c) { return c.kernel == "sbsr_chunks"; });
  };
  auto a = nz::generate::from_spec<V>("fem:12");
  EXPECT_TRUE(judged(a).predicted_seconds.has_value()) << judged(a).verdict;
  a.val[3] += 1;  // among those that are looked at first
  const auto refused = judged(a);
  EXPECT_FALSE(refused.predicted_seconds.has_value());
  EXPECT_NE(refused.verdict.find("not symmetric"), std::string::npos) << refused.verdict;
  // Where no sample shows it, converting does; the plan is right all the same.
  a = nz::generate::from_spec<V>("fem:12");
  a.val[a.val.size() / 2 + 3] += 1;
  judged(a);
}

TYPED_TEST(Plan, RefusesWhatThereIsNot) {
  const auto a = measured_matrix<TypeParam>();
  expect_refusal<nz::unsupported>([&] { nz::make_plan(a, {.kernel = "csr_magic"}); },
                                  {"csr_magic", "csr_balanced"});
  expect_refusal<nz::unsupported>([&] { nz::make_plan(a, {.simd = "MMX"}); }, {"MMX"});
}

TYPED_TEST(Plan, ReordersAScatteredMeshAndNothingElseChanges) {
  using V = TypeParam;
  // A mesh whose nodes were numbered by drawing lots. Whether it is reordered is for the clock to say.
  const auto mesh = nz::generate::from_spec<V>("fem:12");
  nz::array<nz::index> order(static_cast<std::size_t>(mesh.rows));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<nz::index>(i * 2741 % order.size());
  const auto a = nz::permute_symmetric(mesh, order);
  const auto made = nz::make_plan(a, {.expected_multiplies = 1'000'000, .memory_budget = 1e9});
  expect_right(made, a);
  const auto as_it_is = nz::make_plan(a, {.expected_multiplies = 1'000'000, .may_reorder = false});
  EXPECT_FALSE(as_it_is.report().is_reordered);
  EXPECT_EQ(as_it_is.report().reorder_seconds, 0);
}

class Choices : public testing::Test {
 protected:
  std::string text() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) const { std::ofstream(file_) << text; }
  nz::plan<double> plan_for(const nz::csr<double>& a, std::int64_t multiplies = 200) const {
    return nz::make_plan(a, {.expected_multiplies = multiplies, .remembered = file_});
  }
  /// The file, with the kernel of its only choice replaced.
  void choose(const std::string& from, const std::string& to) const {
    std::string all = text();
    const std::string quoted = '"' + from + '"';
    const auto at = all.find(quoted);
    ASSERT_NE(at, std::string::npos);
    write(all.replace(at, quoted.size(), '"' + to + '"'));
  }

  temporary_folder temporary_;
  const std::filesystem::path& folder_ = temporary_.path;
  std::string file_ = (folder_ / "choices.json").string();
  nz::csr<double> a_ = measured_matrix<double>();
};

TEST_F(Choices, AreFoundAgain) {
  const auto first = plan_for(a_);
  EXPECT_FALSE(first.report().is_remembered);
  const std::string written = text();
  const auto second = plan_for(a_);
  EXPECT_TRUE(second.report().is_remembered);
  EXPECT_EQ(second.kernel(), first.kernel());
  EXPECT_TRUE(second.report().candidates.empty());
  EXPECT_NE(second.explain().find("remembered"), std::string::npos);
  EXPECT_EQ(text(), written);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1)
      << "something was left beside it";
  expect_right(second, a_);
}

TEST_F(Choices, AreUsed) {
  const auto first = plan_for(a_);
  choose(first.kernel(), "jds_serial");
  const auto second = plan_for(a_, 250);  // of the same class
  EXPECT_EQ(second.kernel(), first.kernel() == "jds_serial" ? first.kernel() : "jds_serial");
  expect_right(second, a_);
}

TEST_F(Choices, OfANewOrderAreReorderedAgain) {
  const nz::plan_options options{.memory_budget = 1e9, .remembered = file_};
  std::string kernel = nz::make_plan(a_, options).kernel();
  std::string all = text();
  write(all.replace(all.find("false"), 5, "true"));
  for (const char* next : {"csr_balanced", "jds_serial"}) {
    choose(kernel, next);
    kernel = next;
    const auto made = nz::make_plan(a_, options);
    EXPECT_TRUE(made.report().is_remembered && made.report().is_reordered);
    EXPECT_EQ(made.kernel(), kernel);
    expect_right(made, a_);
  }
}

TEST_F(Choices, OfANewOrderThatIsNotAllowedAreMadeAnew) {
  const nz::plan_options options{.memory_budget = 1e9, .may_reorder = false, .remembered = file_};
  nz::make_plan(a_, options);
  std::string all = text();
  write(all.replace(all.find("false"), 5, "true"));
  const auto made = nz::make_plan(a_, options);
  EXPECT_FALSE(made.report().is_remembered || made.report().is_reordered);
  EXPECT_TRUE(nz::make_plan(a_, options).report().is_remembered);
}

TEST_F(Choices, OfAnotherMatrixOrOtherTermsAreNot) {
  plan_for(a_);
  EXPECT_FALSE(plan_for(nz::generate::from_spec<double>("poisson2d:151")).report().is_remembered);
  auto other_values = a_;
  for (double& value : other_values.val) value += 1;
  EXPECT_FALSE(plan_for(other_values).report().is_remembered);
  EXPECT_FALSE(plan_for(a_, 100'000).report().is_remembered);
  EXPECT_FALSE(nz::make_plan(a_, {.deterministic = false, .remembered = file_}).report().is_remembered);
  const auto singles = measured_matrix<float>();
  EXPECT_FALSE(nz::make_plan(singles, {.remembered = file_}).report().is_remembered);
  EXPECT_TRUE(plan_for(a_).report().is_remembered);  // the others were added
}

TEST_F(Choices, OfAKernelThatIsGoneAreMadeAnew) {
  const auto first = plan_for(a_);
  choose(first.kernel(), "csr_of_tomorrow");
  const auto second = plan_for(a_);
  EXPECT_FALSE(second.report().is_remembered);
  EXPECT_EQ(text().find("csr_of_tomorrow"), std::string::npos);
  EXPECT_TRUE(plan_for(a_).report().is_remembered);
}

TEST_F(Choices, OverTheBudgetAreMadeAnew) {
  const auto first = plan_for(a_);
  choose(first.kernel(), "coo_serial");  // 1.2 times CSR and more
  const auto second = plan_for(a_);
  EXPECT_FALSE(second.report().is_remembered);
  EXPECT_LE(static_cast<double>(second.storage().bytes), second.report().memory_budget);
}

TEST_F(Choices, InAFileOfSomethingElseAreRefusedAndTheFileIsLeft) {
  plan_for(a_);
  const std::string good = text();
  const auto with = [&](const std::string& text, const std::string& other) {
    return std::string(good).replace(good.find(text), text.size(), other);
  };
  const auto choice = good.find('{', good.find("choices\": {") + 10);  // the braces of the only one
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string("null"),
        std::string(200'000, '['), std::string("{\"nonzero_choices\": 2, \"choices\": {}}"),
        std::string("{\"nonzero_choices\": 1}"), std::string("{\"nonzero_choices\": 1, \"choices\": []}"),
        std::string("\x00\xff\xfe", 3), with("\"kernel\"", "\"colonel\""), with("false", "0"),
        with(good.substr(choice, good.find('}') - choice + 1), "7")}) {
    write(bad);
    expect_refusal<nz::parse_error>([&] { plan_for(a_); }, {file_, "not a file of choices"});
    EXPECT_EQ(text(), bad);
  }
}

TEST_F(Choices, ThatCannotBeWrittenSaySo) {
  file_ = (folder_ / "missing" / "choices.json").string();
  expect_refusal<nz::error>([&] { plan_for(a_); }, {file_, "cannot write"});
  file_ = folder_.string();
  expect_refusal<nz::parse_error>([&] { plan_for(a_); }, {"no regular file"});
}

TEST_F(Choices, AreNotAskedForWhatNeedsNoPlan) {
  write("{");
  EXPECT_EQ(plan_for(nz::generate::from_spec<double>("poisson2d:10")).kernel(), "csr_balanced");
  EXPECT_EQ(plan_for(a_, 1).kernel(), "csr_balanced");
  EXPECT_EQ(text(), "{");
}

}  // namespace
