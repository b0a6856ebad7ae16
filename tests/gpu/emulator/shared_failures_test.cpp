#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/language_internal.hpp>

#include "tests/gpu/emulator/failure.hpp"

namespace {

using nz::test::about;
using nz::test::failure;

constexpr unsigned all = 0xffffffff;

volatile int sink;  // what is read only to be read

TEST(Emulator, ReportsSharedMemoryReadBeforeAnyWrite) {
  const auto fixed = [](unsigned i) {
    __shared__ nz::gpu::shared<int> cell[64];
    if (blockIdx.y == 0 || i == 0) cell[i] = 1;  // what the first block wrote is not the second's
#line 1111
    __syncthreads();
    sink = cell[i];
  };
  EXPECT_EQ(failure(33, fixed),
            "broken: block (0,1,0), lane (32,0,0) reads shared memory that no lane of its block "
            "has written after shared_failures_test.cpp:1111");
  const auto dynamic = [](unsigned i) {
    auto* cell = nz::gpu::dynamic_shared<float>();
    if (blockIdx.y == 0 || i != 2) cell[i] = 1;
    cell[i] += 1;
  };
  EXPECT_EQ(failure(16, dynamic),
            "broken: block (0,1,0), lane (2,0,0) reads shared memory that no lane of its block has written");
}

TEST(Emulator, ReportsSharedMemoryReadWithNoBarrierSinceItsWrite) {
  const auto across = [](unsigned i) {
    __shared__ nz::gpu::shared<int> cell[64];
    cell[i] = 1;
#line 1121
    __syncthreads();
    cell[i] = 2;
#line 1122
    __syncwarp();  // orders a warp, but not its neighbour
    if (i < 32) sink = cell[i + 32];
  };
  EXPECT_EQ(failure(64, across),
            about("(31,0,0) reads shared memory that lane (63,0,0) wrote, with no barrier in "
                  "between after shared_failures_test.cpp:1122"));
  const auto within = [](unsigned i) {
    __shared__ nz::gpu::shared<int> cell[32];
    cell[i] = 1;
#line 1123
    __shfl_sync(all, 1, 0);  // brings lanes together, but orders no memory
    sink = cell[31 - i];
  };
  EXPECT_EQ(failure(32, within),
            about("(31,0,0) reads shared memory that lane (0,0,0) wrote, with no barrier in "
                  "between after shared_failures_test.cpp:1123"));
  const auto elsewhere = [](unsigned i) {
    __shared__ nz::gpu::shared<int> cell[32];
    __syncwarp();
    cell[i] = 1;
    if (i % 2 == 0) __syncwarp(0x55555555);  // of the even lanes only
    sink = cell[i ^ 1];
  };
  EXPECT_NE(failure(32, elsewhere), "no failure");
}

// Of two warps, the second goes on first: it came to the barrier last.
TEST(Emulator, ReportsSharedMemoryWrittenWithNoBarrierSinceItsRead) {
  const auto by_one = [](unsigned i) {
    __shared__ nz::gpu::shared<int> cell[64];
    cell[i] = 1;
#line 1131
    __syncthreads();
    if (i >= 32) sink = cell[i - 32];
    if (i == 3) cell[3] = 2;
  };
  EXPECT_EQ(failure(64, by_one),
            about("(3,0,0) writes shared memory that lane (35,0,0) read, with no barrier in "
                  "between after shared_failures_test.cpp:1131"));
  const auto by_many = [](unsigned i) {
    __shared__ nz::gpu::shared<int> cell;
    if (i == 0) cell = 1;
#line 1132
    __syncthreads();
    sink = cell;
    if (i == 40) cell = 2;
  };
  EXPECT_EQ(failure(64, by_many),
            about("(40,0,0) writes shared memory that more than one lane read, with no barrier "
                  "in between after shared_failures_test.cpp:1132"));
  const auto next_window = [](unsigned i) {
    __shared__ nz::gpu::shared<int> window[64];
    for (int turn = 0; turn < 2; ++turn) {
      window[i] = turn;
      __syncthreads();
      sink = window[63 - i];  // and no barrier before the window moves on
    }
  };
  for (std::uint64_t order = 0; order < 10; ++order) EXPECT_NE(failure(64, next_window, order), "no failure");
}

TEST(Emulator, ReportsSharedMemoryWrittenTwiceWithNoBarrierBetween) {
  const auto same_value = [](unsigned i) {
    __shared__ nz::gpu::shared<int> is_found;
    if (i == 0) is_found = 0;
#line 1141
    __syncthreads();
    if (i % 32 == 7) is_found = 1;  // the same from all, but which of them wrote it?
  };
  EXPECT_EQ(failure(64, same_value),
            about("(7,0,0) writes shared memory that lane (39,0,0) wrote, with no barrier in "
                  "between after shared_failures_test.cpp:1141"));
  EXPECT_EQ(failure(32, same_value), "no failure");
  const auto neighbours = [](unsigned i) {
    __shared__ nz::gpu::shared<unsigned> cell[32];
    cell[i / 2] = i;
  };
  EXPECT_EQ(failure(2, neighbours),
            about("(1,0,0) writes shared memory that lane (0,0,0) wrote, with no barrier in between"));
  const auto in_turn = [](unsigned i) {
    __shared__ nz::gpu::shared<unsigned> cell;
    for (unsigned turn = 0; turn < 32; ++turn) {
      if (turn == i) cell = i;
      __syncwarp();
    }
  };
  for (std::uint64_t order = 0; order < 10; ++order) EXPECT_EQ(failure(32, in_turn, order), "no failure");
}

TEST(Emulator, ReportsAnIndexOutsideOfASharedArray) {
  const auto past_the_end = [](unsigned i) {
    __shared__ nz::gpu::shared_array<float, 64> window;
    window[i] = 1;
#line 1151
    __syncthreads();
    sink = static_cast<int>(window[i + 1]);  // the last lane has no neighbour
  };
  EXPECT_EQ(failure(64, past_the_end),
            about("(63,0,0) takes element 64 of a shared array of 64 after shared_failures_test.cpp:1151"));
  EXPECT_NE(failure(63, past_the_end).find("no lane of its block has written"), std::string::npos);
  const auto before_the_start = [](unsigned i) {
    __shared__ nz::gpu::shared_array<double, 64> window;
    window[static_cast<int>(i) - 1] = 1;
  };
  EXPECT_EQ(failure(64, before_the_start), about("(0,0,0) takes element -1 of a shared array of 64"));
  const auto far_away = [](unsigned i) {
    __shared__ nz::gpu::shared_array<int, 64> window;
    window[i - 1] = 1;
  };
  EXPECT_EQ(failure(64, far_away), about("(0,0,0) takes element 4294967295 of a shared array of 64"));
}

TEST(Emulator, ReportsMoreSharedMemoryThanABlockCanHave) {
  const auto two_arrays = [](unsigned i) {
    __shared__ nz::gpu::shared_array<double, 4096> a;
    __shared__ nz::gpu::shared_array<float, 4096> b;
    a[i] = 1;
    a[i + 100] = 1;
    b[i] = 1;
  };
  EXPECT_EQ(failure(64, two_arrays, 0, 0), "no failure");  // 49,152 bytes, in each of two blocks
  EXPECT_EQ(failure(64, two_arrays, 0, 1),
            about("(0,0,0) uses 49152 bytes of static shared memory and the launch gave 1 of dynamic; the "
                  "most is 49152 together"));
}

template <class T, std::size_t N> constexpr bool is_array = requires {
  typename nz::gpu::shared_array<T, N>;
};

TEST(Emulator, CompilesNoSharedArrayThatNoBlockCanHave) {
  EXPECT_TRUE((is_array<double, 6144>));
  EXPECT_FALSE((is_array<double, 6145>));
  EXPECT_FALSE((is_array<int, 0>));
  EXPECT_FALSE((is_array<int, std::size_t{1} << 63>));
}

TEST(Emulator, ReportsAtomicsOnSharedMemoryThatNoLaneHasWritten) {
  const auto body = [](unsigned) {
    __shared__ nz::gpu::shared<int> sum;
    atomicAdd(&sum, 1);
  };
  EXPECT_EQ(failure(32, body), about("(0,0,0) reads shared memory that no lane of its block has written"));
}

TEST(Emulator, ReportsAtomicsThatRaceWithPlainReadsAndWrites) {
  const auto after_write = [](unsigned i) {
    __shared__ nz::gpu::shared<int> sum;
    if (i == 0) sum = 0;
    atomicAdd(&sum, 1);  // lane 0's too, which must not hide that it wrote just before
  };
  EXPECT_EQ(failure(2, after_write), about("(1,0,0) changes atomically shared memory that lane (0,0,0) "
                                           "wrote, with no barrier in between"));
  const auto then_read = [](unsigned i) {
    __shared__ nz::gpu::shared<int> sum;
    if (i == 0) sum = 0;
#line 1161
    __syncthreads();
    atomicAdd(&sum, 1);
    if (i == 5) sink = sum;
  };
  EXPECT_EQ(failure(32, then_read), about("(5,0,0) reads shared memory that more than one lane changed "
                                          "atomically, with no barrier in between after "
                                          "shared_failures_test.cpp:1161"));
  const auto after_read = [](unsigned i) {
    __shared__ nz::gpu::shared<int> sum;
    if (i == 0) sum = 0;
#line 1162
    __syncwarp();
    if (i == 30) sink = sum;
    if (i == 31) atomicMax(&sum, 1);
  };
  EXPECT_NE(failure(32, after_read), "no failure");
  const auto then_write = [](unsigned i) {
    __shared__ nz::gpu::shared<int> sum;
    if (i == 0) sum = 0;
#line 1163
    __syncthreads();
    if (i < 32) atomicExch(&sum, 1);
    if (i == 32) sum = 2;
  };
  for (std::uint64_t order = 0; order < 10; ++order) EXPECT_NE(failure(64, then_write, order), "no failure");
}

TEST(Emulator, ReportsDynamicSharedMemoryOfTwoTypes) {
  const auto body = [](unsigned i) {
    if (i == 1) nz::gpu::dynamic_shared<float>();
    nz::gpu::dynamic_shared<int>();
  };
  EXPECT_EQ(failure(2, body), about("(1,0,0) asks for dynamic shared memory of two types"));
}

}  // namespace
