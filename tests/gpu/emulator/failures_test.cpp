#include <string>

#include <gtest/gtest.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>

#include "tests/gpu/emulator/failure.hpp"

namespace {

using nz::emulator::launch;
using nz::test::about;
using nz::test::failure;

constexpr unsigned all = 0xffffffff;

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
