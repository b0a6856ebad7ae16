#include <cli/bench.hpp>
#include <cli/checking.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <nonzero/io/generate.hpp>

// Kernels that no table has: what nz check and nz bench make of one that is wrong, fails or refuses.
namespace {

using nz::cli::outcome;
using nz::cli::ready_matrix;

enum class kind { right, wrong_in_one_row, reads_y, fails, out_of_memory, refuses };

template <kind Kind> class planted final : public nz::prepared_matrix<double> {
 public:
  explicit planted(nz::csr_view<double> a)
      : prepared_matrix(a.rows, a.cols, nz::cpu_device()), right_(nz::find_kernel("csr_serial").prepare(a)) {}
  nz::footprint storage() const override { return {1, 0}; }

 private:
  void run(double alpha, const double* x, double beta, double* y, nz::stream) const override {
    if (Kind == kind::fails) throw nz::device_error("the GPU is gone");
    if (Kind == kind::reads_y && beta == 0) y[0] *= 1;  // keeps its NaN
    const double y0 = y[0];
    right_->multiply(alpha, std::span(x, static_cast<std::size_t>(cols())), beta,
                     std::span(y, static_cast<std::size_t>(rows())));
    if (Kind == kind::wrong_in_one_row) y[rows() - 1] += 1e-6;
    if (Kind == kind::reads_y && beta == 0) y[0] = y0 * 0 + y[0];
  }
  std::unique_ptr<prepared_matrix<double>> right_;
};

template <kind Kind>
std::unique_ptr<nz::prepared_matrix<double>> prepare(nz::csr_view<double> a, const nz::prepare_options&) {
  if (Kind == kind::refuses) throw nz::unsupported("not for this matrix");
  if (Kind == kind::out_of_memory) throw std::bad_alloc();
  return std::make_unique<planted<Kind>>(a);
}

template <kind Kind> nz::kernel_row make_row() {
  nz::kernel_row out{.name = "planted", .format = "csr", .summary = "for a test"};
  static_cast<nz::prepare_functions<double, double>&>(out.functions).host = prepare<Kind>;
  return out;
}
template <kind Kind> const nz::kernel_row row = make_row<Kind>();

struct tried {
  outcome what;
  bool was_right_enough_to_time = false;
};

template <kind Kind> tried try_planted() {
  const auto a = nz::generate::poisson_2d<double>(20, 20);
  const auto against = nz::cli::make_trials(a, 3);
  tried out;
  ready_matrix<double> ready;
  out.what = nz::cli::try_kernel<double>(
      row<Kind>, a, against, {}, [&] { return nz::cli::make_ready(row<Kind>, a, against.x, {}); }, &ready);
  out.was_right_enough_to_time = ready.prepared != nullptr;
  return out;
}

TEST(Checking, TimesOnlyWhatIsRight) {
  EXPECT_TRUE(try_planted<kind::right>().was_right_enough_to_time);
  EXPECT_FALSE(try_planted<kind::wrong_in_one_row>().was_right_enough_to_time);
  EXPECT_FALSE(try_planted<kind::reads_y>().was_right_enough_to_time);
  EXPECT_FALSE(try_planted<kind::fails>().was_right_enough_to_time);
  EXPECT_FALSE(try_planted<kind::out_of_memory>().was_right_enough_to_time);
  EXPECT_FALSE(try_planted<kind::refuses>().was_right_enough_to_time);
}

TEST(Checking, TellsWrongFromFailedFromRefused) {
  EXPECT_STREQ(try_planted<kind::right>().what.verdict(), "ok");
  EXPECT_STREQ(try_planted<kind::wrong_in_one_row>().what.verdict(), "wrong");
  EXPECT_STREQ(try_planted<kind::reads_y>().what.verdict(), "wrong");
  EXPECT_STREQ(try_planted<kind::fails>().what.verdict(), "failed");
  EXPECT_STREQ(try_planted<kind::out_of_memory>().what.verdict(), "failed");
  EXPECT_STREQ(try_planted<kind::refuses>().what.verdict(), "refused");
}

TEST(Checking, CountsWhatIsWrongAndWhatFailedAndNoRefusal) {
  nz::cli::tally count;
  count.add(try_planted<kind::refuses>().what);
  EXPECT_TRUE(count.is_good());
  nz::cli::tally failed = count;
  failed.add(try_planted<kind::out_of_memory>().what);
  EXPECT_EQ(failed.text(), "1 of 1 kernel failed: out of memory");
  count.add(try_planted<kind::wrong_in_one_row>().what);
  EXPECT_EQ(count.text(), "1 of 1 result is wrong");
  count.add(failed);
  EXPECT_FALSE(count.is_good());
  EXPECT_EQ(count.text(), "1 of 2 results is wrong; 1 of 2 kernels failed: out of memory");
}

TEST(BenchReport, SaysWhyAKernelWasNotTimed) {
  nz::cli::bench_matrix matrix{"planted", "double", 400, 400, 1920, 30000, {}};
  const auto add = [&](const outcome& what) {
    nz::cli::bench_result result;
    static_cast<outcome&>(result) = what;
    matrix.results.push_back(result);
  };
  add(try_planted<kind::wrong_in_one_row>().what);
  add(try_planted<kind::fails>().what);
  add(try_planted<kind::refuses>().what);
  const nz::cli::bench_setting setting{nz::cpu_device(), 1e9, {}, {"csr_serial"}, {}, 0.1};
  const std::string text = nz::cli::matrix_text(matrix, setting);
  EXPECT_NE(text.find("WRONG, "), std::string::npos) << text;
  EXPECT_NE(text.find("not timed"), std::string::npos) << text;
  EXPECT_NE(text.find("FAILED: the GPU is gone"), std::string::npos) << text;
  EXPECT_NE(text.find("refused: not for this matrix"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(nz::cli::text_of(nz::cli::json_of(matrix, setting)));
  ASSERT_EQ(json.at("results").size(), 3U);
  for (const auto& result : json.at("results")) EXPECT_FALSE(result.contains("seconds"));
}

TEST(BenchReport, SaysAfterHowManyMultipliesAConversionHasPaid) {
  nz::cli::bench_matrix matrix{"m", "double", 1, 1, 1, 1, {}};
  const auto add = [&](const char* kernel, double seconds, double prepare_seconds) {
    nz::cli::bench_result result;
    result.name = kernel;
    result.format = nz::find_kernel(kernel).format;
    result.time.seconds = seconds;
    result.prepare_seconds = prepare_seconds;
    matrix.results.push_back(result);
  };
  add("csr_serial", 3.0, 10.0);
  add("ell_serial", 1.0, 15.0);  // 5 more to convert, 2 won each time
  add("hyb_serial", 4.0, 10.0);  // slower
  add("coo_serial", 2.0, 9.0);   // faster, and sooner ready
  const nz::cli::bench_setting setting{nz::cpu_device(), 1e9, {}, {"not_there", "csr_serial"}, {}, 0.1};
  const auto pays = [&](int i) { return matrix.pays_after(matrix.results[i], setting); };
  EXPECT_EQ(pays(0), std::nullopt);
  EXPECT_EQ(pays(1), 3.0);
  EXPECT_EQ(pays(2), std::nullopt);
  EXPECT_EQ(pays(3), 0.0);
}

nlohmann::json json_of(const nz::cli::bench_summary& summary) {
  return nlohmann::json::parse(nz::cli::text_of(summary.json_value()));
}

/// On one matrix: a kernel, the plan and a peer.
nz::cli::bench_matrix three_rows(const char* name, double ours, double plan, double peer) {
  nz::cli::bench_matrix out{name, "double", 1, 1, 1, 200};
  out.csr_bytes = 160;
  out.results = {{{}, "csr_serial", "csr", false, "", {ours}},
                 {{}, "plan", "csr", false, "", {plan}},
                 {{}, "eigen", "csr", true, "Eigen", {peer}}};
  out.results[1].size.bytes = 80;
  out.results[1].prepare_seconds = 10;
  return out;
}

nz::cli::bench_setting against(std::string_view plan_baseline) {
  nz::cli::bench_setting out{nz::cpu_device(), 1000, {}, {"csr_serial"}, {}, 0.1};
  out.plan_baseline = plan_baseline;
  return out;
}

TEST(BenchSummary, IsTheGeometricMeanAndTheWorst) {
  nz::cli::bench_summary summary;
  const auto setting = against("");
  summary.add(three_rows("a", 1, 2, 4), setting);  // ours 4 times as fast, the plan 2
  summary.add(three_rows("b", 3, 4, 3), setting);  // the kernel is even with it
  const auto json = json_of(summary);
  EXPECT_DOUBLE_EQ(json["double"]["best"]["geometric_mean"], 2);
  EXPECT_DOUBLE_EQ(json["double"]["best"]["worst"], 1);
  EXPECT_EQ(json["double"]["best"]["worst_matrix"], "b");
  EXPECT_DOUBLE_EQ(json["double"]["plan"]["worst"], 0.75);
  EXPECT_TRUE(json["float"]["best"].is_null());
  EXPECT_NE(summary.text().find("2.00 ×, at worst 1.00 × (b)"), std::string::npos) << summary.text();
}

TEST(BenchSummary, SaysWhatPlansReachAndTakeAndWhenTheyArePaidBack) {
  nz::cli::bench_summary summary;
  const auto setting = against("eigen");
  summary.add(three_rows("a", 9, 2, 4), setting);  // 10 seconds for the plan, 2 won each time: 5
  summary.add(three_rows("b", 9, 1, 6), setting);  // 2
  auto json = json_of(summary)["double"];
  EXPECT_DOUBLE_EQ(json["plan_fraction_of_ceiling"]["least"], 0.1);
  EXPECT_DOUBLE_EQ(json["plan_fraction_of_ceiling"]["most"], 0.2);
  EXPECT_DOUBLE_EQ(json["plan_times_csr_bytes"]["most"], 0.5);
  EXPECT_DOUBLE_EQ(json["plan_pays_after"]["most"], 5);
  EXPECT_NE(summary.text().find("at most 0.50 ×"), std::string::npos) << summary.text();
  EXPECT_NE(summary.text().find("5 at worst"), std::string::npos) << summary.text();
  summary.add(three_rows("c", 9, 2, 1), setting);  // never
  EXPECT_TRUE(json_of(summary)["double"]["plan_pays_after"]["most"].is_null());
  EXPECT_NE(summary.text().find("never at worst"), std::string::npos) << summary.text();
}

TEST(BenchSummary, ComparesThePlanWithTheFastestPeerInCsrToo) {
  nz::cli::bench_summary summary;
  auto matrix = three_rows("a", 1, 2, 4);
  matrix.results.push_back({{}, "librsb", "rsb", true, "librsb", {3}});
  summary.add(matrix, against(""));
  const auto json = json_of(summary)["double"];
  EXPECT_DOUBLE_EQ(json["plan"]["geometric_mean"], 1.5);
  EXPECT_DOUBLE_EQ(json["plan_in_csr"]["geometric_mean"], 2);
}

TEST(BenchSummary, CountsThePlansThatAreNearlyAsFastAsOurFastestKernel) {
  nz::cli::bench_summary summary;
  summary.add(three_rows("a", 1, 1.04, 4), against(""));
  summary.add(three_rows("b", 1, 1.06, 4), against(""));
  summary.add(three_rows("c", 1, 0.5, 4), against(""));
  EXPECT_EQ(json_of(summary)["double"]["plan_within_5_percent"]["within"], 2);
  EXPECT_NE(summary.text().find(" 2 of 3"), std::string::npos) << summary.text();
}

TEST(BenchSummary, SaysHowMuchOfTheLimitPlansReachOrElseTheFastestKernel) {
  auto matrix = three_rows("a", 1, 2, 4);
  matrix.limit_seconds = 0.5;
  nz::cli::bench_summary of_plans, of_kernels;
  for (int i = 0; i < 2; ++i) of_plans.add(matrix, against(""));
  EXPECT_DOUBLE_EQ(json_of(of_plans)["double"]["fraction_of_limit"]["median"], 0.25);
  EXPECT_NE(of_plans.text().find("plan, percent of the limit"), std::string::npos) << of_plans.text();
  matrix.results.erase(matrix.results.begin() + 1);
  for (int i = 0; i < 2; ++i) of_kernels.add(matrix, against(""));
  EXPECT_DOUBLE_EQ(json_of(of_kernels)["double"]["fraction_of_limit"]["median"], 0.5);
  EXPECT_NE(of_kernels.text().find("fastest of ours, percent of the limit"), std::string::npos)
      << of_kernels.text();
}

TEST(BenchSummary, HasAColumnForLargerMatrices) {
  nz::cli::bench_summary summary;
  for (const nz::offset entries : {10'000, 10'001, 20'000}) {
    auto matrix = three_rows("a", 1, 2, entries > 10'000 ? 4 : 2);
    matrix.entries = entries;
    summary.add(matrix, against(""));
  }
  const auto json = json_of(summary)["double"];
  EXPECT_EQ(json["matrices"], 3);
  EXPECT_EQ(json["of_more_than_10000_entries"]["matrices"], 2);
  EXPECT_DOUBLE_EQ(json["of_more_than_10000_entries"]["plan"]["worst"], 2);
  EXPECT_DOUBLE_EQ(json["plan"]["worst"], 1);
  EXPECT_NE(summary.text().find("2 of more than 10,000 entries"), std::string::npos) << summary.text();
}

TEST(BenchSummary, CountsWhatCouldNotBeRead) {
  nz::cli::bench_summary summary;
  summary.add_unread("a.mtx", "a.mtx: broken");
  EXPECT_EQ(summary.text(), "  1 matrix could not be read\n");
  EXPECT_EQ(json_of(summary)["could_not_be_read"][0]["why"], "a.mtx: broken");
}

TEST(BenchSummary, LeavesOutWhatHasNoPeer) {
  auto alone = three_rows("a", 1, 2, 4);
  alone.results.pop_back();
  nz::cli::bench_summary summary;
  summary.add(alone, against(""));
  EXPECT_TRUE(json_of(summary)["double"]["best"].is_null());
  EXPECT_EQ(summary.text(), "");
  EXPECT_EQ(nz::cli::comparison_text(alone), "");
}

}  // namespace
