#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>

namespace {

using nz::emulator::launch;
using nz::emulator::launch_options;

// Counts each lane's visits where its coordinates, in grid and block, say.
__global__ void visit(unsigned* visits) {
  const unsigned lanes = blockDim.x * blockDim.y * blockDim.z;
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned lane = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  visits[block * lanes + lane] += 1;
}

TEST(Emulator, RunsEveryLaneOnceWhateverTheShapeOrderAndThreads) {
  const std::vector<std::pair<dim3, dim3>> shapes{
      {1, 1},  {1000, 1}, {3, 1024}, {{7, 3}, {5, 9}}, {{2, 3, 4}, {8, 2, 3}}, {{1, 1, 5}, {1, 1, 64}},
      {65, 33}};
  for (const auto& [grid, block] : shapes) {
    for (const launch_options options : {launch_options{1, 0}, {1, 7}, {3, 0}, {3, 8}, {0, 9}}) {
      std::vector<unsigned> visits(grid.x * grid.y * grid.z * block.x * block.y * block.z);
      launch("visit", {grid, block}, options, visit, visits.data());
      EXPECT_EQ(visits, std::vector<unsigned>(visits.size(), 1));
    }
  }
}

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = a * __ldg(&x[i]) + y[i];
}

TEST(Emulator, ConvertsArgumentsToTheKernelsParameters) {
  std::vector<float> x(1000), y(1000, 1), expected(1000);
  std::iota(x.begin(), x.end(), 0.0F);
  for (int i = 0; i < 1000; ++i) expected[i] = 2 * x[i] + 1;
  const short n = 1000;
  launch("saxpy", {4, 256}, {}, saxpy, n, 2.0, x.data(), y.data());
  EXPECT_EQ(y, expected);
}

__global__ void take_a_number(unsigned* next, unsigned* number) {
  number[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(next, 1);
}

std::vector<unsigned> numbers_taken(launch_options options, unsigned blocks, unsigned lanes) {
  unsigned next = 0;
  std::vector<unsigned> number(blocks * lanes);
  launch("take_a_number", {blocks, lanes}, options, take_a_number, &next, number.data());
  return number;
}

TEST(Emulator, RunsBlocksAndLanesInOrderUnlessTold) {
  std::vector<unsigned> in_order(100 * 96);
  std::iota(in_order.begin(), in_order.end(), 0U);
  EXPECT_EQ(numbers_taken({1, 0}, 100, 96), in_order);
}

TEST(Emulator, ShufflesBlocksWarpsAndLanesBySeed) {
  for (const auto& [blocks, lanes] : {std::pair{100U, 1U}, {1U, 1024U}, {1U, 32U}}) {
    const auto shuffled = numbers_taken({1, 5}, blocks, lanes);
    EXPECT_NE(shuffled, numbers_taken({1, 0}, blocks, lanes)) << blocks;
    EXPECT_NE(shuffled, numbers_taken({1, 6}, blocks, lanes)) << blocks;
    EXPECT_EQ(shuffled, numbers_taken({1, 5}, blocks, lanes)) << blocks;
  }
}

__global__ void fill(int* target, int value) { target[blockIdx.x * blockDim.x + threadIdx.x] = value; }

TEST(Emulator, RunsLaunchesOfSeveralUserThreadsAtOnce) {
  std::vector<std::vector<int>> filled(4, std::vector<int>(64 * 64));
  {
    std::vector<std::jthread> users;
    users.reserve(4);
    for (int user = 0; user < 4; ++user) {
      users.emplace_back([&filled, user] {
        for (int value = 0; value <= 20 + user; ++value) {
          launch("fill", {64, 64}, {2}, fill, filled[user].data(), value);
        }
      });
    }
  }
  for (int user = 0; user < 4; ++user) EXPECT_EQ(filled[user], std::vector<int>(64 * 64, 20 + user));
}

// Which OS threads ran blocks. The system hands out a number that was used long after the others.
__global__ void note_thread(pid_t* ran) { ran[blockIdx.x] = gettid(); }

std::set<pid_t> threads_of_a_launch(int threads) {
  std::vector<pid_t> ran(64);
  launch("note_thread", {64, 1}, {threads}, note_thread, ran.data());
  return {ran.begin(), ran.end()};
}

TEST(EmulatorTeam, KeepsItsThreadsFromLaunchToLaunch) {
  std::set<pid_t> seen;
  for (int i = 0; i < 1000; ++i) seen.merge(threads_of_a_launch(3));
  // As many as the largest team that any test of this process asked for, not two more for each launch.
  EXPECT_LE(seen.size(), static_cast<std::size_t>(std::max(nz::thread_count(0), 64)));
}

TEST(EmulatorTeam, UsesNoMoreThreadsThanALaunchAsksFor) {
  threads_of_a_launch(4);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(threads_of_a_launch(1), std::set{gettid()});
    EXPECT_LE(threads_of_a_launch(2).size(), 2U);
  }
}

__global__ void fail_at(unsigned block) {
  if (blockIdx.x == block) throw std::runtime_error("block " + std::to_string(block));
}

TEST(EmulatorTeam, SurvivesKernelsThatThrowOnSeveralUserThreads) {
  std::atomic<int> thrown{0};
  {
    std::vector<std::jthread> users;
    users.reserve(4);
    for (int user = 0; user < 4; ++user) {
      users.emplace_back([&thrown] {
        for (unsigned i = 0; i < 50; ++i) {
          try {
            launch("fail_at", {64, 1}, {3}, fail_at, i);
          } catch (const std::runtime_error& e) {
            if (e.what() == "block " + std::to_string(i)) ++thrown;
          }
        }
      });
    }
  }
  EXPECT_EQ(thrown, 4 * 50);
  EXPECT_GE(threads_of_a_launch(3).size(), 1U);
}

TEST(EmulatorTeam, WorksInAChildProcess) {
  threads_of_a_launch(3);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // ends it where it hangs
    std::vector<int> filled(400);
    launch("fill", {400, 1}, {3}, fill, filled.data(), 7);
    _exit(filled == std::vector<int>(400, 7) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

std::string refusal(nz::emulator::launch_shape shape) {
  int untouched = 0;
  try {
    launch("fill", shape, {}, fill, &untouched, 1);
  } catch (const nz::device_error& e) {
    EXPECT_EQ(untouched, 0);
    return e.what();
  }
  return "launched";
}

TEST(Emulator, RefusesWhatNoDeviceCanLaunch) {
  const std::string grid = "each size must be from 1 to (2147483647,65535,65535)";
  EXPECT_EQ(refusal({0, 1}), "fill: cannot launch a grid of (0,1,1): " + grid);
  EXPECT_EQ(refusal({{1, 0}, 1}), "fill: cannot launch a grid of (1,0,1): " + grid);
  EXPECT_EQ(refusal({{1, 1, 0}, 1}), "fill: cannot launch a grid of (1,1,0): " + grid);
  EXPECT_EQ(refusal({0x80000000, 1}), "fill: cannot launch a grid of (2147483648,1,1): " + grid);
  EXPECT_EQ(refusal({{1, 65536}, 1}), "fill: cannot launch a grid of (1,65536,1): " + grid);
  EXPECT_EQ(refusal({{1, 1, 65536}, 1}), "fill: cannot launch a grid of (1,1,65536): " + grid);
  const std::string block = "each size must be from 1 to (1024,1024,64)";
  EXPECT_EQ(refusal({1, 0}), "fill: cannot launch blocks of (0,1,1): " + block);
  EXPECT_EQ(refusal({1, {1, 0, 1}}), "fill: cannot launch blocks of (1,0,1): " + block);
  EXPECT_EQ(refusal({1, 1025}), "fill: cannot launch blocks of (1025,1,1): " + block);
  EXPECT_EQ(refusal({1, {1, 1, 65}}), "fill: cannot launch blocks of (1,1,65): " + block);
  EXPECT_EQ(refusal({1, {32, 33}}), "fill: cannot launch blocks of 1056 threads; the most is 1024");
  EXPECT_EQ(refusal({1, 1, 49153}),
            "fill: cannot launch with 49153 bytes of shared memory; the most is 49152");
}

TEST(Emulator, RefusesALineOfMoreBlocksThanAGpuCanHave) {
  const auto most = nz::emulator::line_of_blocks("long", 2147483647, 256);
  EXPECT_EQ(most.grid.x, 2147483647U);
  EXPECT_EQ(most.block.x, 256U);
  for (const std::int64_t blocks : {std::int64_t{1} << 31, (std::int64_t{1} << 32) + 1}) {
    try {
      nz::emulator::line_of_blocks("long", blocks, 256);
      FAIL();
    } catch (const nz::unsupported& e) {
      EXPECT_EQ(e.what(),
                "long needs a grid of " + std::to_string(blocks) + " blocks, more than a GPU can have");
    }
  }
}

__global__ void launch_another(int* target) { launch("fill", {1, 1}, {}, fill, target, 1); }

TEST(Emulator, RefusesALaunchFromWithinAKernel) {
  int untouched = 0;
  try {
    launch("launch_another", {1, 1}, {}, launch_another, &untouched);
    FAIL();
  } catch (const nz::device_error& e) {
    EXPECT_STREQ(e.what(), "fill: cannot launch from within a kernel");
  }
  EXPECT_EQ(untouched, 0);
}

TEST(Emulator, RefusesLaneOperationsOutsideOfAKernel) {
  EXPECT_THROW(__syncthreads(), nz::device_error);
  EXPECT_THROW(__syncwarp(), nz::device_error);
  EXPECT_THROW(nz::gpu::dynamic_shared<int>(), nz::device_error);
}

// Counts itself while a lane holds it.
struct held {
  explicit held(std::atomic<int>* now) : count(now) { ++*count; }
  held(const held&) = delete;
  held& operator=(const held&) = delete;
  ~held() { --*count; }
  std::atomic<int>* count;
};

// Some lanes wait for the block, some for their warp, and some have not begun when one throws.
__global__ void throw_amid_others(std::atomic<int>* count, unsigned thrower) {
  const held here(count);
  if (threadIdx.x == thrower) throw std::out_of_range("thrown by " + std::to_string(blockIdx.x));
  if (threadIdx.x < 32) __shfl_sync(0xffffffff, 1, 0);
  __syncthreads();
}

TEST(Emulator, EndsTheLaunchAndUnwindsEveryLaneWhenOneThrows) {
  for (const unsigned thrower : {0U, 31U, 32U, 70U, 99U}) {
    for (const launch_options options : {launch_options{1, 0}, {1, 3}, {3, 0}, {3, 4}}) {
      std::atomic<int> count{0};
      try {
        launch("throw_amid_others", {50, 100}, options, throw_amid_others, &count, thrower);
        FAIL();
      } catch (const std::out_of_range& e) {
        if (options.order == 0) {
          EXPECT_STREQ(e.what(), "thrown by 0");
        }
      }
      EXPECT_EQ(count, 0);
      std::vector<int> filled(1000);  // the emulator goes on as if nothing had been
      launch("fill", {10, 100}, options, fill, filled.data(), 1);
      EXPECT_EQ(filled, std::vector<int>(1000, 1));
    }
  }
}

}  // namespace
