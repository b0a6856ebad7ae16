#include <cli/bench.hpp>
#include <gtest/gtest.h>

namespace {

using nz::cli::bench_matrix;
using nz::cli::bench_result;

/// A row whose products are right, timed.
bench_result row(const char* name, double seconds, double spread) {
  bench_result out;
  out.name = name;
  out.format = "csr";
  out.time = {
      .seconds = seconds, .low = seconds * (1 - spread), .high = seconds * (1 + spread), .samples = 11};
  return out;
}

class FastestRow : public testing::Test {
 protected:
  std::string line_of(const std::string& name) const {
    const std::string text = nz::cli::matrix_text(matrix_, setting_);
    const std::size_t at = text.find("  " + name + " ");
    return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
  }
  nz::cli::bench_setting setting_{.on = nz::cpu_device(), .copy_ceiling = 1e9};
  bench_matrix matrix_{.name = "a.mtx", .precision = "double", .rows = 4, .cols = 4, .entries = 7};
};

TEST_F(FastestRow, CallsNoRowFastestWhoseTimesVaryTooMuch) {
  matrix_.results = {row("noisy", 1e-6, 2.3), row("steady", 2e-6, 0.01), row("slow", 3e-6, 0.01)};
  EXPECT_EQ(matrix_.fastest()->name, "steady");
  EXPECT_TRUE(line_of("noisy").ends_with("varies too much to compare")) << line_of("noisy");
  EXPECT_TRUE(line_of("steady").ends_with("  fastest")) << line_of("steady");
  EXPECT_TRUE(line_of("slow").ends_with(" µs")) << line_of("slow");
}

TEST_F(FastestRow, SaysWhichRowsAreAsFastWithinTheSpread) {
  matrix_.results = {row("first", 1.00e-6, 0.05), row("second", 1.03e-6, 0.05), row("third", 2e-6, 0.05)};
  EXPECT_TRUE(line_of("first").ends_with("  fastest"));
  EXPECT_TRUE(line_of("second").ends_with("as fast, within the spread")) << line_of("second");
  EXPECT_FALSE(line_of("third").ends_with("spread"));
}

TEST_F(FastestRow, SaysSoWhereNoRowIsSteady) {
  matrix_.results = {row("one", 1e-6, 0.5), row("other", 2e-6, 0.5)};
  EXPECT_EQ(matrix_.fastest(), nullptr);
  EXPECT_NE(nz::cli::matrix_text(matrix_, setting_).find("no row is called fastest"), std::string::npos);
  EXPECT_EQ(nz::cli::comparison_text(matrix_), "");
}

TEST_F(FastestRow, IsComparedWithTheLimitUnlessThereIsAPlan) {
  matrix_.results = {row("first", 2e-6, 0.01)};
  EXPECT_EQ(nz::cli::matrix_text(matrix_, setting_).find("limit"), std::string::npos);
  matrix_.limit_seconds = 1e-6;
  EXPECT_NE(nz::cli::matrix_text(matrix_, setting_)
                .find("\n  limit 1.00 µs, to read the compulsory bytes: first reaches 50 %\n"),
            std::string::npos);
  matrix_.results.push_back(row("plan", 4e-6, 0.01));
  EXPECT_NE(nz::cli::matrix_text(matrix_, setting_).find(": plan reaches 25 %\n"), std::string::npos);
}

TEST_F(FastestRow, NamesThePlanInOneWord) {
  matrix_.results = {row("plan", 1e-6, 0.01)};
  matrix_.results[0].chosen = "csr_balanced";
  EXPECT_TRUE(line_of("plan:csr_balanced").starts_with("  plan:csr_balanced  csr "))
      << line_of("plan:csr_balanced");
}

}  // namespace
