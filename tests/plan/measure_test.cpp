#include <algorithm>
#include <limits>
#include <new>
#include <string>
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
  double measure(int times, const std::function<void(nz::stream)>& body, bool) override {
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

/// One whose calls take so long, and which writes down whose turn it was.
nz::timed_calls scripted(char name, std::string& turns, std::function<double(int)> takes) {
  return [name, &turns, takes = std::move(takes), turn = 0](int calls) mutable {
    turns += name;
    return calls * takes(turn++);
  };
}

TEST(MeasureInTurns, SamplesEachInEveryRound) {
  std::string turns;
  const nz::timed_calls all[] = {scripted('a', turns, [](int) { return 0.01; }),
                                 scripted('b', turns, [](int) { return 0.03; })};
  const auto found = nz::measure_in_turns(nz::device_kind::cpu, all, {.budget_seconds = 0.4});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_DOUBLE_EQ(found[0].seconds, 0.01);
  EXPECT_DOUBLE_EQ(found[1].seconds, 0.03);
  // Two budgets of 0.4 s hold 20 rounds of 0.04 s.
  EXPECT_EQ(found[0].samples, 20);
  EXPECT_EQ(found[1].samples, 20);
  std::string rounds;
  for (int i = 0; i < 20; ++i) rounds += "ab";
  ASSERT_GE(turns.size(), rounds.size());
  EXPECT_EQ(turns.substr(turns.size() - rounds.size()), rounds);
}

TEST(MeasureInTurns, GivesEachAsManyCallsAsTheClockNeeds) {
  std::string turns;
  const nz::timed_calls all[] = {scripted('a', turns, [](int) { return 1e-6; }),
                                 scripted('b', turns, [](int) { return 0.5; })};
  const auto found = nz::measure_in_turns(nz::device_kind::cpu, all);
  EXPECT_GE(found[0].calls_per_sample, 2000);
  EXPECT_EQ(found[1].calls_per_sample, 1);
  EXPECT_NEAR(found[0].seconds, 1e-6, 1e-12);
}

TEST(MeasureInTurns, GivesMoreCallsToOneThatWasSlowWhileTheyWereCounted) {
  std::string turns;
  const nz::timed_calls all[] = {scripted('a', turns, [](int turn) { return turn < 8 ? 1e-3 : 1e-5; })};
  const auto found = nz::measure_in_turns(nz::device_kind::cpu, all, {.budget_seconds = 0.2});
  EXPECT_GE(found[0].calls_per_sample, 200);
  EXPECT_DOUBLE_EQ(found[0].seconds, 1e-5);
}

TEST(MeasureInTurns, WhatDisturbsForAWhileDisturbsAllAlike) {
  // From its fortieth to its sixtieth turn each takes twice as long; the medians of both show it, or of none.
  const auto disturbed = [](int turn) { return turn >= 40 && turn < 60 ? 0.02 : 0.01; };
  std::string turns;
  const nz::timed_calls all[] = {scripted('a', turns, disturbed), scripted('b', turns, disturbed)};
  const auto found = nz::measure_in_turns(nz::device_kind::cpu, all, {.budget_seconds = 0.6});
  EXPECT_DOUBLE_EQ(found[0].seconds, found[1].seconds);
  EXPECT_DOUBLE_EQ(found[0].high, found[1].high);
}

TEST(MeasureInTurns, OneThatCanNoMoreIsOutAndTheOthersGoOn) {
  constexpr double never = std::numeric_limits<double>::infinity();
  for (const int last : {0, 1, 10}) {
    std::string turns;
    const nz::timed_calls all[] = {
        scripted('a', turns, [last](int turn) { return turn < last ? 0.01 : never; }),
        scripted('b', turns, [](int) { return 0.01; })};
    const auto found = nz::measure_in_turns(nz::device_kind::cpu, all, {.budget_seconds = 0.2});
    EXPECT_EQ(found[0].samples, 0);
    EXPECT_EQ(std::count(turns.begin(), turns.end(), 'a'), last + 1);
    EXPECT_GE(found[1].samples, 20);
    EXPECT_DOUBLE_EQ(found[1].seconds, 0.01);
  }
}

TEST(MeasureInTurns, OfNobodyIsNothing) {
  EXPECT_TRUE(nz::measure_in_turns(nz::device_kind::cpu, {}).empty());
}

TEST(MeasureInTurns, SaysHowFarItIs) {
  std::vector<double> fractions;
  std::string turns;
  const nz::timed_calls all[] = {scripted('a', turns, [](int) { return 0.01; })};
  nz::measure_in_turns(nz::device_kind::cpu, all, {.budget_seconds = 0.2, .report = [&](double fraction) {
                                                     fractions.push_back(fraction);
                                                   }});
  ASSERT_EQ(fractions.size(), 20u);
  EXPECT_DOUBLE_EQ(fractions.front(), 0);
  EXPECT_DOUBLE_EQ(fractions.back(), 0.95);
}

TEST(ReadCeiling, CountsWhatIsReadOnce) {
  const auto on = std::make_shared<clockwork>(nz::device_kind::cpu, [](int) { return 0.5; });
  const std::optional<double> ceiling = nz::read_ceiling(on);
  ASSERT_EQ(on->asked_for.size(), 1u);
  EXPECT_LE(on->asked_for[0], std::size_t{8} << 20);  // an eighth of its memory, but for what does not divide
  EXPECT_GT(on->asked_for[0], (std::size_t{8} << 20) * 9 / 10);
  ASSERT_TRUE(ceiling.has_value());
  EXPECT_DOUBLE_EQ(*ceiling, static_cast<double>(on->asked_for[0]) / 0.5);
}

TEST(ReadCeiling, IsOnlyForTheCpu) {
  const auto on = std::make_shared<clockwork>(nz::device_kind::emulator, [](int) { return 0.5; });
  EXPECT_FALSE(nz::read_ceiling(on).has_value());
}

TEST(CopyCeiling, CountsWhatIsReadAndWhatIsWritten) {
  const auto on = std::make_shared<clockwork>(nz::device_kind::cpu, [](int) { return 0.5; });
  const double ceiling = nz::copy_ceiling(on);
  ASSERT_EQ(on->asked_for, (std::vector<std::size_t>{8 << 20, 8 << 20}));  // an eighth of its memory each
  EXPECT_DOUBLE_EQ(ceiling, 2 * (8 << 20) / 0.5);
}

TEST(Ceilings, AreOfLittleMemoryInAHurry) {
  const auto on = std::make_shared<clockwork>(nz::device_kind::cpu, [](int) { return 0.5; });
  on->memory = std::uint64_t{64} << 30;
  on->runs_body = false;
  nz::copy_ceiling(on, {.budget_seconds = 0.001});
  nz::read_ceiling(on, {.budget_seconds = 0.001});
  ASSERT_EQ(on->asked_for.size(), 3u);
  for (const std::size_t bytes : on->asked_for) EXPECT_LE(bytes, std::size_t{32} << 20);
  nz::copy_ceiling(on);
  EXPECT_EQ(on->asked_for[3], std::size_t{256} << 20);
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
