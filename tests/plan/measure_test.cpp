#include <limits>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/plan/measure.hpp>

namespace {

/// A device whose clock says what a test wants it to: call number i takes takes(i) seconds.
class clockwork final : public nz::host_memory_device {
 public:
  clockwork(nz::device_kind kind, std::function<double(int)> takes) : kind_(kind), takes_(std::move(takes)) {}
  nz::device_kind kind() const override { return kind_; }
  std::string description() const override { return "a clock"; }
  std::uint64_t cache_bytes() const override { return 1 << 20; }
  std::uint64_t memory_bytes() const override { return memory; }

  void* allocate(std::size_t bytes) override {
    asked_for.push_back(bytes);
    if (bytes > free) throw nz::device_error("full");
    return host_memory_device::allocate(bytes);
  }
  double measure(int times, const std::function<void(nz::stream)>& body) override {
    double seconds = 0;
    for (int i = 0; i < times; ++i) {
      if (runs_body) body({});
      seconds += takes_(calls++);
    }
    samples.push_back(seconds);
    return seconds;
  }

  std::uint64_t memory = std::uint64_t{64} << 20;
  std::size_t free = std::numeric_limits<std::size_t>::max();
  bool runs_body = true;
  int calls = 0;
  std::vector<double> samples;
  std::vector<std::size_t> asked_for;

 private:
  nz::device_kind kind_;
  std::function<double(int)> takes_;
};

const auto nothing = [](nz::stream) {};

TEST(Measure, MakesASampleOfAsManyCallsAsTheClockNeeds) {
  for (const auto& [kind, shortest] :
       {std::pair{nz::device_kind::cuda, 1e-3}, {nz::device_kind::cpu, 2e-3}}) {
    clockwork on(kind, [](int) { return 1e-6; });
    const nz::timing found = nz::measure(on, nothing);
    EXPECT_NEAR(found.seconds, 1e-6, 1e-12);
    EXPECT_GE(found.calls_per_sample * 1e-6, shortest);
    EXPECT_LE(found.calls_per_sample * 1e-6, 2 * shortest);
    EXPECT_GE(on.samples.back(), shortest);
  }
}

TEST(Measure, TakesOneCallWhereThatIsLong) {
  clockwork on(nz::device_kind::cpu, [](int) { return 0.01; });
  const nz::timing found = nz::measure(on, nothing);
  EXPECT_EQ(found.calls_per_sample, 1);
  EXPECT_EQ(found.samples, 50);
}

TEST(Measure, TakesSamplesForAsLongAsItMayAndElevenAtLeast) {
  clockwork on(nz::device_kind::cpu, [](int) { return 0.01; });
  EXPECT_EQ(nz::measure(on, nothing, {.budget_seconds = 0.2}).samples, 20);
  EXPECT_EQ(nz::measure(on, nothing, {.budget_seconds = 0.02}).samples, 11);
  EXPECT_EQ(nz::measure(on, nothing, {.budget_seconds = 1e9}).samples, 1000);
}

TEST(Measure, TakesThreeWhereElevenWouldTakeTooLong) {
  clockwork on(nz::device_kind::cpu, [](int) { return 1.0; });
  EXPECT_EQ(nz::measure(on, nothing, {.budget_seconds = 0.5}).samples, 3);
}

TEST(Measure, TakesThreeSingleCallsInTheEmulator) {
  clockwork on(nz::device_kind::emulator, [](int) { return 1e-6; });
  const nz::timing found = nz::measure(on, nothing, {.budget_seconds = 1e-6});
  EXPECT_EQ(found.samples, 3);
  EXPECT_EQ(found.calls_per_sample, 1);
}

TEST(Measure, LeavesTheFirstCallsOut) {
  clockwork on(nz::device_kind::cpu, [](int call) { return call == 0 ? 100.0 : 0.01; });
  const nz::timing found = nz::measure(on, nothing);
  EXPECT_DOUBLE_EQ(found.seconds, 0.01);
  EXPECT_DOUBLE_EQ(found.high, 0.01);
}

TEST(Measure, ACallThatIsHeldUpAtFirstDoesNotDecideHowManyMakeASample) {
  clockwork on(nz::device_kind::cpu, [](int call) { return call == 1 ? 0.003 : 1e-6; });
  EXPECT_GE(nz::measure(on, nothing).calls_per_sample, 2000);
}

TEST(Measure, TakesABudgetThatIsNoneForTheShortest) {
  for (const double budget : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    clockwork on(nz::device_kind::cpu, [](int) { return 0.01; });
    EXPECT_GE(nz::measure(on, nothing, {.budget_seconds = budget}).samples, 3);
  }
}

// The second call says that 12 samples fit into the budget. Two are taken before them: they count up from
// 0.02.
TEST(Measure, GivesMedianAndQuartiles) {
  clockwork on(nz::device_kind::emulator, [](int call) { return call < 2 ? 1.0 : 0.01 * call; });
  const nz::timing found = nz::measure(on, nothing, {.budget_seconds = 12});
  ASSERT_EQ(found.samples, 12);
  EXPECT_DOUBLE_EQ(found.seconds, 0.075);
  EXPECT_DOUBLE_EQ(found.low, 0.0475);
  EXPECT_DOUBLE_EQ(found.high, 0.1025);
}

TEST(Measure, AStrayLongCallDoesNotMoveTheMedian) {
  clockwork on(nz::device_kind::cpu, [](int call) { return call % 10 == 7 ? 5.0 : 0.01; });
  EXPECT_DOUBLE_EQ(nz::measure(on, nothing).seconds, 0.01);
}

TEST(Measure, AClockThatStandsStillDoesNotHoldIt) {
  clockwork on(nz::device_kind::cpu, [](int) { return 0.0; });
  on.runs_body = false;
  EXPECT_EQ(nz::measure(on, nothing, {.budget_seconds = 1e-12}).seconds, 0);
}

TEST(Measure, PassesOnWhatTheBodyThrows) {
  clockwork on(nz::device_kind::cpu, [](int) { return 0.01; });
  EXPECT_THROW(nz::measure(on, [](nz::stream) { throw nz::device_error("broken"); }), nz::device_error);
}

TEST(Measure, TimesRealWork) {
  const auto on = nz::cpu_device();
  std::vector<double> numbers(100000, 1.0);
  volatile double sum = 0;
  const auto add = [&](nz::stream) {
    double s = 0;
    for (const double number : numbers) s += number;
    sum = s;
  };
  const nz::timing found = nz::measure(*on, add, {.budget_seconds = 0.02});
  EXPECT_GT(found.seconds, 1e-6);
  EXPECT_LT(found.seconds, 1);
  EXPECT_LE(found.low, found.seconds);
  EXPECT_GE(found.high, found.seconds);
}

TEST(CopyCeiling, CountsWhatIsReadAndWhatIsWritten) {
  const auto on = std::make_shared<clockwork>(nz::device_kind::cpu, [](int) { return 0.5; });
  const double ceiling = nz::copy_ceiling(on);
  ASSERT_EQ(on->asked_for, (std::vector<std::size_t>{8 << 20, 8 << 20}));  // an eighth of its memory each
  EXPECT_DOUBLE_EQ(ceiling, 2 * (8 << 20) / 0.5);
}

TEST(CopyCeiling, TakesTheBestOfSeveralRounds) {
  const auto on = std::make_shared<clockwork>(nz::device_kind::emulator, [](int call) {
    return call < 5 ? 1.0 : call < 10 ? 0.25 : 0.5;  // two calls before the three samples of a round
  });
  EXPECT_DOUBLE_EQ(nz::copy_ceiling(on), 2 * (4 << 20) / 0.25);
}

TEST(CopyCeiling, MakesDoWithTheMemoryThatIsFree) {
  const auto on = std::make_shared<clockwork>(nz::device_kind::cpu, [](int) { return 0.5; });
  on->free = 3 << 20;
  EXPECT_DOUBLE_EQ(nz::copy_ceiling(on), 2 * (2 << 20) / 0.5);
  on->free = 0;
  EXPECT_THROW(nz::copy_ceiling(on), nz::device_error);
}

TEST(CompulsoryBytes, CountEveryArrayOnce) {
  const auto a = nz::generate::uniform<double>(10, 30, 4);  // 40 entries
  EXPECT_EQ(nz::compulsory_bytes(a), 40u * 12 + 11 * 4 + 30 * 8 + 10 * 8);
  const auto b = nz::generate::uniform<float>(10, 30, 4);
  EXPECT_EQ(nz::compulsory_bytes(b), 40u * 8 + 11 * 4 + 30 * 4 + 10 * 4);
  EXPECT_EQ(nz::compulsory_bytes(nz::csr<double>{}), 4u);
}

}  // namespace
