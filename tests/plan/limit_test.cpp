#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <tests/temporary_folder.hpp>

#include <nonzero/core/vector.hpp>
#include <nonzero/plan/back_ends.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/limit.hpp>

namespace {

TEST(ReadCurve, InterpolatesBetweenPointsAndGoesOnAtTheLastBandwidth) {
  const nz::read_curve curve{{{0, 1e-6}, {100, 2e-6}, {1000, 11e-6}}};
  EXPECT_DOUBLE_EQ(curve.seconds_for(0), 1e-6);
  EXPECT_DOUBLE_EQ(curve.seconds_for(50), 1.5e-6);
  EXPECT_DOUBLE_EQ(curve.seconds_for(100), 2e-6);
  EXPECT_DOUBLE_EQ(curve.seconds_for(200), 3e-6);
  EXPECT_DOUBLE_EQ(curve.seconds_for(1000), 11e-6);
  EXPECT_DOUBLE_EQ(curve.seconds_for(5000), 55e-6);
  EXPECT_EQ(nz::read_curve{}.seconds_for(5), 0);
}

/// A CPU that takes as long as a test wants for each call.
class slow_cpu final : public nz::host_memory_device {
 public:
  nz::device_kind kind() const override { return nz::device_kind::cpu; }
  std::string description() const override { return name; }
  std::uint64_t cache_bytes() const override { return 1 << 20; }
  std::uint64_t memory_bytes() const override { return std::uint64_t{4} << 20; }
  double measure(int times, const std::function<void(nz::stream)>&, bool) override {
    ++samples;
    return times * seconds;
  }

  std::string name = "a slow CPU";
  double seconds = 0.01;
  int samples = 0;
};

TEST(ReadCurve, OfACpuHasNoLaunchAndSizesUpToAnEighthOfTheMemory) {
  const auto on = std::make_shared<slow_cpu>();
  const nz::read_curve found = nz::measure_read_curve(on);
  ASSERT_EQ(found.points.size(), 3u);  // 0, 256 KiB and 512 KiB
  EXPECT_EQ(found.points[0].seconds, 0);
  EXPECT_DOUBLE_EQ(found.points[1].seconds, 0.01);
  EXPECT_LE(found.points[2].bytes, 512u << 10);
  EXPECT_GT(found.points[2].bytes, (512u << 10) * 9 / 10);
}

/// The GPUs, and the emulator.
std::vector<std::shared_ptr<nz::device>> gpus() {
  std::vector<std::shared_ptr<nz::device>> out = nz::devices();
  std::erase_if(out, [](const auto& on) { return on->kind() == nz::device_kind::cpu; });
  return out;
}

TEST(ReadCurve, OfAGpuBeginsWithALaunchAndRises) {
  for (const auto& on : gpus()) {
    SCOPED_TRACE(on->description());
    const nz::read_curve found = nz::measure_read_curve(on, true);
    ASSERT_GE(found.points.size(), 2u);
    EXPECT_EQ(found.points[0].bytes, 0u);
    EXPECT_GT(found.points[0].seconds, 0);
    for (std::size_t i = 1; i < found.points.size(); ++i) {
      EXPECT_GT(found.points[i].bytes, found.points[i - 1].bytes);
      EXPECT_GE(found.points[i].seconds, found.points[i - 1].seconds);
    }
  }
}

/// In a folder of its own.
class RememberedReadCurve : public testing::Test {
 protected:
  int samples_to_recall() {
    const int before = on_->samples;
    found_ = nz::recall_read_curve(on_, false, file_);
    return on_->samples - before;
  }
  void write(const std::string& text) { std::ofstream(file_) << text; }
  std::string text() const {
    std::stringstream out;
    out << std::ifstream(file_).rdbuf();
    return out.str();
  }

  temporary_folder folder_;
  std::filesystem::path file_ = folder_.path / "cache" / "curves.json";
  std::shared_ptr<slow_cpu> on_ = std::make_shared<slow_cpu>();
  nz::read_curve found_;
};

TEST_F(RememberedReadCurve, IsMeasuredOnce) {
  EXPECT_GT(samples_to_recall(), 0);
  const nz::read_curve measured = found_;
  EXPECT_EQ(samples_to_recall(), 0);
  ASSERT_EQ(found_.points.size(), measured.points.size());
  for (std::size_t i = 0; i < measured.points.size(); ++i) {
    EXPECT_EQ(found_.points[i].bytes, measured.points[i].bytes);
    EXPECT_DOUBLE_EQ(found_.points[i].seconds, measured.points[i].seconds);
  }
}

TEST_F(RememberedReadCurve, IsThatOfItsDevice) {
  samples_to_recall();
  on_->name = "another";
  on_->seconds = 0.02;
  EXPECT_GT(samples_to_recall(), 0);
  EXPECT_DOUBLE_EQ(found_.points.back().seconds, 0.02);
  on_->name = "a slow CPU";
  EXPECT_EQ(samples_to_recall(), 0);  // both are there
  EXPECT_DOUBLE_EQ(found_.points.back().seconds, 0.01);
}

TEST_F(RememberedReadCurve, IsMeasuredAgainWhereTheFileHoldsSomethingElse) {
  samples_to_recall();
  const std::string good = text(), bytes = std::to_string(found_.points[1].bytes);
  const auto with = [&](const std::string& was, const std::string& is) {
    std::string out = good;
    return out.replace(out.find(was), was.size(), is);
  };
  for (const std::string& bad :
       {std::string(), std::string("[[["), std::string("[]"), std::string("{}"),
        good.substr(0, good.size() / 2), with("\"nonzero_read_curves\": 2", "\"nonzero_read_curves\": 1"),
        with("0.01", "-0.01"), with("0.01", "\"fast\""), with(bytes, "0"), with(bytes, "99999999"),
        with(bytes, "-1")}) {
    SCOPED_TRACE(bad);
    write(bad);
    EXPECT_GT(samples_to_recall(), 0);
    EXPECT_EQ(text(), good);  // and kept
  }
}

TEST_F(RememberedReadCurve, NeedsNoFile) {
  file_ = folder_.path;  // a folder
  EXPECT_GT(samples_to_recall(), 0);
  EXPECT_GT(samples_to_recall(), 0);
  file_.clear();
  EXPECT_GT(samples_to_recall(), 0);
  file_ = "/proc/nowhere/curves.json";
  EXPECT_GT(samples_to_recall(), 0);
  EXPECT_EQ(found_.points.size(), 3u);
}

// The kernel writes the sum that no array is likely to have, which tells what a thread has read.
TEST(ReadKernel, ReadsEveryWordOnce) {
  constexpr std::uint32_t unlikely = 0x9e3779b9;
  constexpr std::size_t width = 1024 * 256;  // threads of the largest grid
  const auto is_read_once = [&](const std::shared_ptr<nz::device>& on, std::size_t words, std::size_t at) {
    std::vector<std::uint32_t> numbers(4 * words);
    numbers[at] = unlikely;
    const nz::vector<std::uint32_t> from(on, numbers);
    nz::vector<std::uint32_t> sink(on, std::vector<std::uint32_t>{1});
    nz::back_end_for(on->kind()).read(*on, from.data(), from.bytes(), sink.data(), {});
    return sink.to_host()[0] == unlikely;
  };
  for (const auto& on : gpus()) {
    SCOPED_TRACE(on->description());
    for (std::size_t at = 0; at < 4 * 300; at += 7) EXPECT_TRUE(is_read_once(on, 300, at)) << at;
    for (const std::size_t at :
         {std::size_t{0}, 4 * width, 16 * width - 1, 16 * width, 4 * (5 * width + 3) - 1})
      EXPECT_TRUE(is_read_once(on, 5 * width + 3, at)) << at;
  }
}

TEST(ReadKernel, OfNothingIsALaunch) {
  for (const auto& on : gpus()) {
    nz::vector<std::uint32_t> sink(on, std::vector<std::uint32_t>{1});
    nz::back_end_for(on->kind()).read(*on, nullptr, 0, sink.data(), {});
    EXPECT_EQ(sink.to_host()[0], 1u);
  }
}

}  // namespace
