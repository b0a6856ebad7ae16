#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>

namespace {

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
