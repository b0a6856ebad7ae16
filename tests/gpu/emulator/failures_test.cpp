#include <string>

#include <gtest/gtest.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>

namespace {

using nz::emulator::launch;

constexpr unsigned all = 0xffffffff;

volatile int sink;  // what is read only to be read

__global__ void nothing() {}

// Each body below breaks a rule; the line after a #line is where.
template <class Body> __global__ void run_body(Body body) { body(threadIdx.x); }

template <class Body> std::string failure(unsigned lanes, Body body, std::uint64_t order = 0) {
  try {
    launch("broken", {{1, 2}, lanes, 64}, {1, order}, run_body<Body>, body);
  } catch (const nz::device_error& e) {
    launch("nothing", {1, 32}, {}, nothing);  // usable as before
    return e.what();
  }
  return "no failure";
}

// Failures are in block 0 when blocks run in order, and a message begins so.
std::string about(const std::string& rest) { return "broken: block (0,0,0), lane " + rest; }

TEST(Emulator, ReportsABarrierThatOnlySomeLanesReach) {
  const auto late = [](unsigned i) {
#line 1001
    if (i != 5) __syncthreads();
  };
  EXPECT_EQ(failure(100, late), about("(5,0,0) left the kernel without reaching the __syncthreads at "
                                      "failures_test.cpp:1001, where lane (0,0,0) waits"));
  const auto early = [](unsigned i) {
    if (i < 40) return;
#line 1002
    __syncthreads();
  };
  EXPECT_EQ(failure(100, early),
            about("(40,0,0) waits at __syncthreads at failures_test.cpp:1002, which lane "
                  "(0,0,0) left the kernel without reaching"));
  for (std::uint64_t order = 1; order < 20; ++order) {
    EXPECT_NE(failure(100, late, order), "no failure");
    EXPECT_NE(failure(100, early, order), "no failure");
  }
}

TEST(Emulator, ReportsLanesAtDifferentBarriers) {
  const auto body = [](unsigned i) {
#line 1011
    if (i < 64) __syncthreads();
#line 1012
    if (i >= 64) __syncthreads();
  };
  EXPECT_EQ(failure(65, body),
            about("(64,0,0) waits at __syncthreads at failures_test.cpp:1012, but lane (0,0,0) "
                  "waits at another, at failures_test.cpp:1011"));
  EXPECT_EQ(failure(64, body), "no failure");
}

TEST(Emulator, ReportsAMaskThatNamesALaneThatHasLeft) {
  const auto before = [](unsigned i) {
    if (i == 3) return;
#line 1021
    __shfl_sync(all, 1.0, 0);
  };
  const auto after = [](unsigned i) {
    if (i == 30) return;
#line 1022
    __ballot_sync(all, 1);
  };
  EXPECT_EQ(failure(64, before),
            about("(4,0,0) calls __shfl_sync with mask 0xffffffff at failures_test.cpp:1021, "
                  "which names lane (3,0,0), which has left the kernel"));
  EXPECT_EQ(failure(32, after),
            about("(31,0,0) calls __ballot_sync with mask 0xffffffff at "
                  "failures_test.cpp:1022, which names lane (30,0,0), which has left the kernel"));
  const auto last = [](unsigned i) {
    if (i == 31) return;
#line 1023
    __syncwarp();
  };
  EXPECT_EQ(failure(32, last),
            about("(0,0,0) calls __syncwarp with mask 0xffffffff at failures_test.cpp:1023 and "
                  "waits for lane (31,0,0), which has left the kernel"));
}

TEST(Emulator, ReportsAMaskThatNamesALaneAtABarrier) {
  const auto body = [](unsigned i) {
#line 1031
    if (i == 7) __syncthreads();
#line 1032
    __shfl_down_sync(all, 1, 1);
#line 1033
    if (i != 7) __syncthreads();
  };
  EXPECT_EQ(failure(32, body),
            about("(0,0,0) calls __shfl_down_sync with mask 0xffffffff at failures_test.cpp:1032 "
                  "and waits for lane (7,0,0), which waits at __syncthreads at "
                  "failures_test.cpp:1031"));
}

TEST(Emulator, ReportsLanesThatMeetWithDifferentOperations) {
  const auto body = [](unsigned i) {
    if (i == 9) {
#line 1041
      __any_sync(all, 1);
    } else {
#line 1042
      __all_sync(all, 1);
    }
  };
  EXPECT_EQ(failure(32, body),
            about("(0,0,0) calls __all_sync with mask 0xffffffff at failures_test.cpp:1042 and waits "
                  "for lane (9,0,0), which calls __any_sync with mask 0xffffffff at "
                  "failures_test.cpp:1041"));
  EXPECT_NE(failure(32, [](unsigned i) { i == 0 ? __shfl_up_sync(all, 1, 1) : __shfl_xor_sync(all, 1, 1); }),
            "no failure");
  EXPECT_NE(failure(32,
                    [](unsigned i) {
                      if (i == 0) __shfl_sync(all, 1, 1);
                      if (i != 0) __shfl_sync(all, 1.0, 1);
                    }),
            "no failure");
}

TEST(Emulator, ReportsLanesThatMeetWithDifferentMasks) {
  const auto body = [](unsigned i) {
#line 1051
    __shfl_xor_sync(i < 16 ? all : 0xffff0000, i, 1);
  };
  EXPECT_EQ(failure(32, body),
            about("(0,0,0) calls __shfl_xor_sync with mask 0xffffffff at failures_test.cpp:1051 and waits "
                  "for lane (16,0,0), which has left the kernel"));
  const auto circle = [](unsigned i) { __syncwarp(1U << i | 1U << (i + 1) % 3); };
  EXPECT_NE(failure(3, circle).find("waits for lane (1,0,0), which calls __syncwarp with mask 0x00000006"),
            std::string::npos);
}

TEST(Emulator, ReportsACallerThatIsNotInItsMask) {
  const auto body = [](unsigned) {
#line 1061
    __shfl_up_sync(0x0000ffff, 1.0F, 1);
  };
  EXPECT_EQ(failure(32, body),
            about("(16,0,0) calls __shfl_up_sync with mask 0x0000ffff at failures_test.cpp:1061, "
                  "which does not name itself"));
}

TEST(Emulator, ReportsAShuffleFromALaneOutsideTheMask) {
  const auto body = [](unsigned i) {
    if (i >= 16) return;
#line 1071
    __shfl_xor_sync(0x0000ffff, 1, 16);
  };
  EXPECT_EQ(failure(32, body),
            about("(0,0,0) calls __shfl_xor_sync with mask 0x0000ffff at failures_test.cpp:1071 and "
                  "reads from lane 16 of its warp, which the mask does not name"));
  const auto one = [](unsigned i) {
    if (i < 16) __shfl_sync(0x0000ffff, 1, i == 6 ? 20 : 2);
  };
  EXPECT_NE(failure(32, one).find("lane (6,0,0) calls"), std::string::npos);
}

TEST(Emulator, ReportsAWidthThatIsNoPowerOfTwoUpToAWarp) {
  for (const int width : {0, -1, 3, 31, 33, 64}) {
    const auto body = [width](unsigned) {
#line 1081
      __shfl_down_sync(all, 1, 1, width);
    };
    EXPECT_EQ(
        failure(32, body),
        about("(0,0,0) calls __shfl_down_sync with mask 0xffffffff at failures_test.cpp:1081 and width " +
              std::to_string(width) + "; that must be 1, 2, 4, 8, 16 or 32"));
  }
}

TEST(Emulator, ReportsAShuffleFurtherThanAWarp) {
  const auto body = [](unsigned) {
#line 1091
    __shfl_xor_sync(all, 1, -2);
  };
  EXPECT_EQ(failure(32, body),
            about("(0,0,0) calls __shfl_xor_sync with mask 0xffffffff at failures_test.cpp:1091 to "
                  "move by -2; a warp has 32 lanes"));
  EXPECT_NE(failure(32, [](unsigned) { __shfl_up_sync(all, 1, 32); }), "no failure");
  EXPECT_NE(failure(32, [](unsigned) { __shfl_down_sync(all, 1, 33); }), "no failure");
}

TEST(Emulator, ReportsAMaskThatNamesLanesTheLastWarpLacks) {
  const auto body = [](unsigned) {
#line 1101
    __syncwarp();
  };
  EXPECT_EQ(failure(40, body),
            about("(32,0,0) calls __syncwarp with mask 0xffffffff at failures_test.cpp:1101, which "
                  "names lane 8 of a warp that has only 8"));
}

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
            "has written after failures_test.cpp:1111");
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
                  "between after failures_test.cpp:1122"));
  const auto within = [](unsigned i) {
    __shared__ nz::gpu::shared<int> cell[32];
    cell[i] = 1;
#line 1123
    __shfl_sync(all, 1, 0);  // brings lanes together, but orders no memory
    sink = cell[31 - i];
  };
  EXPECT_EQ(failure(32, within),
            about("(31,0,0) reads shared memory that lane (0,0,0) wrote, with no barrier in "
                  "between after failures_test.cpp:1123"));
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
                  "between after failures_test.cpp:1131"));
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
                  "in between after failures_test.cpp:1132"));
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

TEST(Emulator, ReportsDynamicSharedMemoryOfTwoTypes) {
  const auto body = [](unsigned i) {
    if (i == 1) nz::gpu::dynamic_shared<float>();
    nz::gpu::dynamic_shared<int>();
  };
  EXPECT_EQ(failure(2, body), about("(1,0,0) asks for dynamic shared memory of two types"));
}

// Lanes of a 3-D block in a 3-D grid are named by their coordinates.
__global__ void fail_far_inside() {
  const bool is_last = threadIdx.x == 1 && threadIdx.y == 2 && threadIdx.z == 3 && blockIdx.x == 1 &&
                       blockIdx.y == 2 && blockIdx.z == 3;
  if (!is_last) __syncthreads();
}

TEST(Emulator, NamesBlockAndLaneByCoordinates) {
  try {
    launch("fail_far_inside", {{2, 3, 4}, {2, 3, 4}}, {3}, fail_far_inside);
    FAIL();
  } catch (const nz::device_error& e) {
    EXPECT_EQ(std::string(e.what()).find("fail_far_inside: block (1,2,3), lane (1,2,3) left the kernel"), 0U);
  }
}

}  // namespace
