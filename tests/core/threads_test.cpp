#include <atomic>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/gpu/emulator/sanitizer_internal.hpp>

namespace {

using nz::team_thread;

constexpr unsigned most_seconds = 60;  // for a child that should take none

/// The status with which a forked child ends, whose work is `body`; that of SIGALRM where it hangs.
int status_of_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(most_seconds);
    bool is_right = false;
    try {
      is_right = body();
    } catch (...) {
    }
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

/// How many threads ran the body; each must have a number of its own.
int team_size(int threads) {
  std::vector<std::atomic<int>> runs(static_cast<std::size_t>(threads));
  std::atomic<int> size{0};
  nz::in_team(threads, [&](const team_thread& me) {
    ++runs[static_cast<std::size_t>(me.number)];
    size = me.threads;
  });
  for (int i = 0; i < threads; ++i)
    if (runs[static_cast<std::size_t>(i)] != (i < size ? 1 : 0)) return -1;
  return size;
}

TEST(InTeam, HasAsManyThreadsAsAskedFor) {
  for (const int threads : {1, 2, 3, 8, 5, 33}) EXPECT_EQ(team_size(threads), threads);
}

TEST(InTeam, WaitsForOthersAsOftenAsItIsAskedTo) {
  constexpr int threads = 5, phases = 200;
  std::atomic<int> arrived{0}, early{0};
  nz::in_team(threads, [&](const team_thread& me) {
    for (int phase = 1; phase <= phases; ++phase) {
      ++arrived;
      me.wait_for_others();
      if (arrived < phase * me.threads) ++early;
      me.wait_for_others();
    }
  });
  EXPECT_EQ(arrived, threads * phases);
  EXPECT_EQ(early, 0);
}

TEST(InTeam, RethrowsTheLowestThreadsExceptionAndWaitsForNobodyThatThrew) {
  for (const int good : {0, 3}) {
    try {
      nz::in_team(4, [&](const team_thread& me) {
        me.wait_for_others();
        if (me.number != good) throw std::runtime_error(std::to_string(me.number));
        for (int i = 0; i < 10; ++i) me.wait_for_others();
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(e.what(), std::string(good == 0 ? "1" : "0"));
    }
    EXPECT_EQ(team_size(4), 4);
  }
}

TEST(InTeam, OfATeamWorksAlone) {
  std::atomic<int> alone{0};
  nz::in_team(3, [&](const team_thread&) {
    nz::in_team(3, [&](const team_thread& me) { alone += me.threads == 1 ? 1 : 0; });
  });
  EXPECT_EQ(alone, 3);
}

TEST(InTeam, IsSharedByCallersAtTheSameTime) {
  constexpr int callers = 8, calls = 200, threads = 4;
  std::atomic<int> working{0}, most{0};
  std::atomic<std::int64_t> wrong{0};
  {
    std::vector<std::jthread> all;
    all.reserve(callers);
    for (int c = 0; c < callers; ++c)
      all.emplace_back([&] {
        for (int i = 0; i < calls; ++i) {
          std::atomic<int> sum{0};
          int size = 0;
          nz::in_team(threads, [&](const team_thread& me) {
            const int now = ++working;
            for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
            }
            if (me.number == 0) size = me.threads;
            sum += me.number + 1;
            --working;
          });
          if (sum != size * (size + 1) / 2) ++wrong;
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(most, callers + threads - 1);
}

TEST(InTeam, WorksInAForkedChild) {
  EXPECT_EQ(team_size(4), 4);
  EXPECT_EQ(status_of_child([] { return team_size(4) == 4; }), 0);
  EXPECT_EQ(team_size(4), 4);
}

TEST(InTeam, WorksInAChildThatIsForkedWhileOthersWork) {
  if (nz::emulator::sanitizer::is_on)
    GTEST_SKIP() << "AddressSanitizer's allocator may be locked by another thread, and stays so in the child";
  std::atomic<bool> is_over{false};
  std::jthread other([&] {
    while (!is_over) team_size(3);
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of_child([] { return team_size(4) == 4; }), 0);
  is_over = true;
}

TEST(InTeam, MakesDoWithTheThreadsItGets) {
  const int status = status_of_child([] {
    if (geteuid() == 0 && setuid(65534) != 0) return false;  // root may have any number of threads
    const rlimit one{1, 1};
    setrlimit(RLIMIT_NPROC, &one);
    int calls = 0;
    nz::parallel_tasks(100, 8, [&](std::int64_t) { ++calls; });  // by this thread, so without a race
    return calls == 100 && team_size(8) == 1;
  });
  EXPECT_EQ(status, 0);
}

TEST(ThreadCount, IsWhatWasAskedForLast) {
  nz::set_threads(3);
  EXPECT_EQ(nz::thread_count(), 3);
  {
    const nz::thread_limit here(2);
    EXPECT_EQ(nz::thread_count(), 2);
    EXPECT_EQ(nz::thread_count(7), 7);
    std::jthread([] { EXPECT_EQ(nz::thread_count(), 3); });
  }
  EXPECT_EQ(nz::thread_count(), 3);
  nz::set_threads(0);
  EXPECT_GE(nz::thread_count(), 1);
  for (const int wrong : {-1, -1000, nz::most_threads + 1})
    EXPECT_THROW(nz::set_threads(wrong), nz::unsupported);
}

TEST(Threads, RunEveryTaskOnce) {
  for (int threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> runs(1000);
    nz::parallel_tasks(1000, threads, [&](std::int64_t i) { ++runs[i]; });
    for (const auto& r : runs) EXPECT_EQ(r, 1);
  }
}

TEST(Threads, RethrowTheLowestTasksException) {
  for (int threads : {1, 2, 7}) {
    try {
      nz::parallel_tasks(1000, threads, [](std::int64_t i) {
        if (i >= 400 && i % 3 == 0) throw std::runtime_error(std::to_string(i));
      });
      FAIL();
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "402");
    }
  }
}

TEST(Threads, RangesCoverEverythingOnce) {
  for (std::int64_t count : {0, 1, 5, 1000, 12345}) {
    std::vector<std::atomic<int>> runs(count);
    nz::parallel_ranges(count, 10, 3, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++runs[i];
    });
    for (const auto& r : runs) EXPECT_EQ(r, 1);
  }
}

}  // namespace
