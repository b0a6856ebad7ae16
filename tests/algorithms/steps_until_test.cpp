#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <nonzero/algorithms/steps_until_internal.hpp>

namespace {

/// A loop whose state is the number of steps behind it, and whose steps leave that number and its square.
struct counting {
  nz::step_loop loop;
  nz::vector<double> sums;
  std::vector<std::int64_t> states;
  std::int64_t steps_run = 0;

  counting(int batch, std::int64_t most_steps) : loop{.most_steps = most_steps, .batch = batch} {
    sums = nz::vector<double>(nz::cpu_device(), std::vector<double>(loop.sums_size(), -1));
    sums.data()[loop.before_first()] = 0;
    states.assign(static_cast<std::size_t>(loop.states()), -1);
    states[0] = 0;
  }

  nz::steps_result run_until(const auto& is_last) {
    return nz::steps_until(
        loop, sums,
        [&](const nz::step_place& place) {
          ++steps_run;
          const std::int64_t before = states[static_cast<std::size_t>(place.from)];
          EXPECT_EQ(before, place.number) << "the state that step " << place.number << " begins with";
          EXPECT_EQ(sums.data()[place.before], static_cast<double>(place.number)) << "the sum before it";
          EXPECT_NE(place.from, place.to);
          states[static_cast<std::size_t>(place.to)] = before + 1;
          sums.data()[place.at] = static_cast<double>(before + 1);
          sums.data()[place.at + 1] = static_cast<double>((before + 1) * (before + 1));
        },
        is_last);
  }
};

TEST(StepsUntil, EndWithTheStateOfTheLastStepForAnySizeOfBlocks) {
  for (const int batch : {1, 2, 3, 4, 7, 16})
    for (std::int64_t last = 1; last <= 40; ++last) {
      SCOPED_TRACE(testing::Message() << "batches of " << batch << ", the last step is " << last);
      counting c(batch, 1000);
      std::int64_t asked = 0;
      const nz::steps_result found = c.run_until([&](std::int64_t number, std::span<const double> sums) {
        EXPECT_EQ(number, asked++);
        EXPECT_EQ(sums[0], static_cast<double>(number + 1));
        EXPECT_EQ(sums[1], static_cast<double>((number + 1) * (number + 1)));
        return number + 1 == last;
      });
      EXPECT_TRUE(found.is_done);
      EXPECT_EQ(found.steps, last);
      EXPECT_EQ(c.states[static_cast<std::size_t>(found.state)], last);
      EXPECT_LT(c.steps_run, last + 2 * batch);
      EXPECT_TRUE(batch > 1 || c.steps_run == last);
    }
}

TEST(StepsUntil, EndWhereThereAreNoMoreSteps) {
  for (const int batch : {1, 3, 16})
    for (const std::int64_t most : {0, 1, 2, 15, 16, 17, 33}) {
      SCOPED_TRACE(testing::Message() << "batches of " << batch << ", at most " << most);
      counting c(batch, most);
      const nz::steps_result found = c.run_until([](auto&&...) { return false; });
      EXPECT_FALSE(found.is_done);
      EXPECT_EQ(found.steps, most);
      EXPECT_EQ(c.states[static_cast<std::size_t>(found.state)], most);
      EXPECT_EQ(c.steps_run, most);
    }
}

/// The host's memory, which notes what is copied.
struct counting_device final : nz::host_memory_device {
  std::size_t bytes = 0, copies = 0;

  nz::device_kind kind() const override { return nz::device_kind::emulator; }
  std::string description() const override { return "counting"; }
  void copy(void* to, const void* from, std::size_t size, nz::stream in) override {
    bytes += size;
    ++copies;
    host_memory_device::copy(to, from, size, in);
  }
};

TEST(StepsUntil, CopyTheSumsOfABlockAtOnce) {
  const auto on = std::make_shared<counting_device>();
  const nz::step_loop loop{.most_steps = 160, .batch = nz::steps_per_batch(*on)};
  const nz::vector<double> sums(on, loop.sums_size());
  nz::steps_until(
      loop, sums, [](const nz::step_place&) {}, [](auto&&...) { return false; });
  EXPECT_EQ(on->copies, 10U);
  EXPECT_EQ(on->bytes, 160U * 16);
}

TEST(StepClock, CountsTheTimeOfStepsAlone) {
  // Bounds that hold however long the machine lets either of them wait.
  constexpr auto nap = std::chrono::milliseconds(30);
  const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
  const auto start = std::chrono::steady_clock::now();
  nz::step_clock clock;
  clock.add(1);
  clock.add(1);  // the first that counts
  std::this_thread::sleep_for(nap);
  clock.leave_out();
  clock.add(1);
  const auto passed = std::chrono::steady_clock::now() - start;
  EXPECT_LE(2 * clock.step_seconds(), seconds(passed - nap));
  std::this_thread::sleep_for(nap);
  clock.add(1);
  EXPECT_GE(3 * clock.step_seconds(), seconds(nap) * 0.999);
}

}  // namespace
