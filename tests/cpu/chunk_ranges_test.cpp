#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/cpu/chunk_ranges_internal.hpp>

namespace {

using nz::chunk_range;
using nz::offset;

/// What `find` gives each thread of a team.
std::vector<chunk_range> ranges_of(int threads, const auto& find) {
  std::vector<chunk_range> out(static_cast<std::size_t>(threads));
  for (int number = 0; number < threads; ++number)
    out[static_cast<std::size_t>(number)] = find({.number = number, .threads = threads});
  return out;
}

void expect_in_order_and_whole(const std::vector<chunk_range>& ranges, offset count) {
  offset next = 0;
  for (const chunk_range& s : ranges) {
    EXPECT_EQ(s.begin, next);
    EXPECT_LE(s.begin, s.end);
    next = s.end;
  }
  EXPECT_EQ(next, count);
}

constexpr int numbers_of_threads[] = {1, 2, 3, 7};

TEST(ChunkRange, OfEqualCountsDifferByOneAtMost) {
  for (const int threads : numbers_of_threads)
    for (const offset count : {0, 1, 2, 6, 7, 8, 1000}) {
      SCOPED_TRACE(testing::Message() << count << " by " << threads << " threads");
      const auto ranges =
          ranges_of(threads, [&](const nz::team_thread& me) { return me.equal_range(count); });
      expect_in_order_and_whole(ranges, count);
      for (const chunk_range& s : ranges) {
        EXPECT_GE(s.end - s.begin, count / threads);
        EXPECT_LE(s.end - s.begin, (count + threads - 1) / threads);
      }
    }
}

TEST(ChunkRange, OfCostsIsWholeWhereverTheCostsStart) {
  const std::vector<std::vector<offset>> all_costs{
      {},
      {0},
      {5},
      {0, 0, 0, 0},
      {0, 0, 7, 0, 0},
      {1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
      {1000, 1, 1, 1},
      {1, 1, 1, 1000},
      {0, 3, 0, 900, 4, 4, 0, 0, 2, 300, 0},
  };
  for (const int threads : numbers_of_threads)
    for (const offset start : {offset{0}, offset{1}, offset{12345}, offset{1} << 40})
      for (const std::vector<offset>& costs : all_costs) {
        SCOPED_TRACE(testing::Message() << costs.size() << " costs from " << start << " by " << threads);
        std::vector<offset> before{start};
        for (const offset cost : costs) before.push_back(before.back() + cost);
        const auto ranges = ranges_of(
            threads, [&](const nz::team_thread& me) { return nz::cpu::equal_cost_range(me, before); });
        expect_in_order_and_whole(ranges, static_cast<offset>(costs.size()));
      }
}

// A range that started at the wrong cost would give one thread nearly all.
TEST(ChunkRange, OfCostsIsNearlyEqualWhereverTheyStart) {
  constexpr offset count = 1000, each = 10;
  for (const int threads : numbers_of_threads)
    for (const offset start : {offset{0}, 3 * count * each, offset{1} << 40}) {
      std::vector<offset> before{start};
      for (offset i = 0; i < count; ++i) before.push_back(before.back() + each);
      for (const chunk_range& s : ranges_of(
               threads, [&](const nz::team_thread& me) { return nz::cpu::equal_cost_range(me, before); })) {
        EXPECT_GE(s.end - s.begin, count / threads - 1) << threads << " threads, from " << start;
        EXPECT_LE(s.end - s.begin, count / threads + 1) << threads << " threads, from " << start;
      }
    }
}

TEST(ForEachInTeam, CallsEachOnce) {
  for (const int threads : numbers_of_threads) {
    const nz::thread_limit scope(threads);
    for (const offset count : {0, 1, 5, 1000}) {
      std::vector<int> times(static_cast<std::size_t>(count), 0);
      nz::cpu::for_each_in_team(count, [&](offset i) { ++times[static_cast<std::size_t>(i)]; });
      EXPECT_EQ(times, std::vector<int>(static_cast<std::size_t>(count), 1)) << threads << " threads";
    }
  }
}

TEST(ForEachInTeam, ThrowsWhatAThreadThrewAfterTheOthersAreDone) {
  for (const int threads : numbers_of_threads) {
    const nz::thread_limit scope(threads);
    for (const offset failing : {0, 3, 699}) {
      std::atomic<int> calls = 0;
      try {
        nz::cpu::for_each_in_team(700, [&](offset i) {
          ++calls;
          if (i == failing) throw std::runtime_error("at " + std::to_string(i));
        });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& e) {
        EXPECT_EQ(e.what(), "at " + std::to_string(failing));
      }
      // Only the rest of the failing thread's range is left out.
      EXPECT_GE(calls, 700 - 700 / threads);
    }
    // All of them.
    EXPECT_THROW(nz::cpu::for_each_in_team(700, [](offset) { throw std::bad_alloc(); }), std::bad_alloc);
  }
}

}  // namespace
