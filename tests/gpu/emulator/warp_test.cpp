#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>

namespace {

using nz::emulator::launch;

constexpr unsigned all = 0xffffffff;

// What each lane of a warp gets when lane i brings 100 + i. Each result is what CUDA's guide defines.
template <class T, class Shuffle> __global__ void shuffle_once(T* got, Shuffle shuffle) {
  got[threadIdx.x] = shuffle(100 + static_cast<T>(threadIdx.x));
}

template <class Shuffle> std::vector<int> shuffled(Shuffle shuffle) {
  std::vector<int> got(32);
  launch("shuffle_once", {1, 32}, {}, shuffle_once<int, Shuffle>, got.data(), shuffle);
  for (int& each : got) each -= 100;
  return got;
}

// The lanes that lanes 0 … 31 should get their values from.
template <class Source> std::vector<int> sources(Source source) {
  std::vector<int> from(32);
  for (int lane = 0; lane < 32; ++lane) from[lane] = source(lane);
  return from;
}

TEST(Emulator, BroadcastsFromALane) {
  EXPECT_EQ(shuffled([](int v) { return __shfl_sync(all, v, 5); }), sources([](int) { return 5; }));
  EXPECT_EQ(shuffled([](int v) { return __shfl_sync(all, v, 5, 8); }),
            sources([](int i) { return i / 8 * 8 + 5; }));
  EXPECT_EQ(shuffled([](int v) { return __shfl_sync(all, v, 13, 8); }),
            sources([](int i) { return i / 8 * 8 + 5; }));
  EXPECT_EQ(shuffled([](int v) { return __shfl_sync(all, v, -1); }), sources([](int) { return 31; }));
  EXPECT_EQ(shuffled([](int v) { return __shfl_sync(all, v, v + 1); }),
            sources([](int i) { return (i + 5) % 32; }));
}

TEST(Emulator, ShufflesUpWithinSegments) {
  EXPECT_EQ(shuffled([](int v) { return __shfl_up_sync(all, v, 3); }),
            sources([](int i) { return i < 3 ? i : i - 3; }));
  EXPECT_EQ(shuffled([](int v) { return __shfl_up_sync(all, v, 3, 16); }),
            sources([](int i) { return i % 16 < 3 ? i : i - 3; }));
  EXPECT_EQ(shuffled([](int v) { return __shfl_up_sync(all, v, 1, 1); }), sources([](int i) { return i; }));
  EXPECT_EQ(shuffled([](int v) { return __shfl_up_sync(all, v, 31); }),
            sources([](int i) { return i < 31 ? i : 0; }));
}

TEST(Emulator, ShufflesDownWithinSegments) {
  EXPECT_EQ(shuffled([](int v) { return __shfl_down_sync(all, v, 3); }),
            sources([](int i) { return i < 29 ? i + 3 : i; }));
  EXPECT_EQ(shuffled([](int v) { return __shfl_down_sync(all, v, 2, 4); }),
            sources([](int i) { return i % 4 < 2 ? i + 2 : i; }));
  EXPECT_EQ(shuffled([](int v) { return __shfl_down_sync(all, v, 0); }), sources([](int i) { return i; }));
}

TEST(Emulator, ShufflesByXorIntoEarlierSegmentsButNotLaterOnes) {
  EXPECT_EQ(shuffled([](int v) { return __shfl_xor_sync(all, v, 5); }), sources([](int i) { return i ^ 5; }));
  EXPECT_EQ(shuffled([](int v) { return __shfl_xor_sync(all, v, 1, 2); }),
            sources([](int i) { return i ^ 1; }));
  EXPECT_EQ(shuffled([](int v) { return __shfl_xor_sync(all, v, 4, 4); }),
            sources([](int i) { return i % 8 < 4 ? i : i - 4; }));
}

template <class T> class EmulatorShuffles : public testing::Test {};
using shuffled_types =
    testing::Types<float, int, unsigned, double, long, unsigned long, long long, unsigned long long>;
TYPED_TEST_SUITE(EmulatorShuffles, shuffled_types);

template <class T> __global__ void sum_by_butterfly(const T* value, T* sum) {
  T mine = value[threadIdx.x];
  for (int bits = 16; bits > 0; bits /= 2) mine += __shfl_xor_sync(all, mine, bits);
  sum[threadIdx.x] = mine;
}

TYPED_TEST(EmulatorShuffles, SumAWarpByButterfly) {
  std::vector<TypeParam> value(32), sum(32);
  for (int i = 0; i < 32; ++i) value[i] = static_cast<TypeParam>(i) * 1000 + static_cast<TypeParam>(i) / 2;
  TypeParam expected = 0;
  for (const TypeParam each : value) expected += each;  // all exact
  launch("sum_by_butterfly", {1, 32}, {}, sum_by_butterfly<TypeParam>, value.data(), sum.data());
  EXPECT_EQ(sum, std::vector<TypeParam>(32, expected));
}

TYPED_TEST(EmulatorShuffles, KeepEveryBit) {
  constexpr auto least = std::numeric_limits<TypeParam>::lowest();
  std::vector<TypeParam> got(32);
  const auto shuffle = [](TypeParam v) {
    constexpr auto instead = std::numeric_limits<TypeParam>::lowest();
    return __shfl_sync(all, v == 107 ? instead : v, 7);
  };
  launch("shuffle_once", {1, 32}, {}, shuffle_once<TypeParam, decltype(shuffle)>, got.data(), shuffle);
  EXPECT_EQ(got, std::vector<TypeParam>(32, least));
}

__global__ void vote(unsigned* ballots, int* anys, int* alls) {
  const unsigned i = threadIdx.x;
  ballots[i] = __ballot_sync(all, i % 3 == 0 ? 4 : 0);
  anys[i] = __any_sync(all, i == 9) + 2 * __any_sync(all, i == 99);
  alls[i] = __all_sync(all, i < 99) + 2 * __all_sync(all, i != 9);
}

TEST(Emulator, CountsVotes) {
  std::vector<unsigned> ballots(32);
  std::vector<int> anys(32), alls(32);
  launch("vote", {1, 32}, {}, vote, ballots.data(), anys.data(), alls.data());
  unsigned expected = 0;
  for (int i = 0; i < 32; i += 3) expected |= 1U << i;
  EXPECT_EQ(ballots, std::vector<unsigned>(32, expected));
  EXPECT_EQ(anys, std::vector<int>(32, 1));
  EXPECT_EQ(alls, std::vector<int>(32, 1));
}

// Quarter q of each warp sums its lanes' numbers 1 + q times, at its own pace and with a mask of its own; the
// second half of the warp meets in between.
__global__ void sum_quarters(int* sum) {
  const unsigned lane = threadIdx.x % 32, quarter = lane / 8;
  const unsigned mask = 0xffU << quarter * 8;
  int mine = static_cast<int>(threadIdx.x);
  for (unsigned turn = 0; turn <= quarter; ++turn) {
    if (turn == 1 && quarter >= 2) __syncwarp(0xffff0000);
    for (int bits = 4; bits > 0; bits /= 2) mine += __shfl_xor_sync(mask, mine, bits, 8);
    if (turn == 0) __syncwarp(mask);
  }
  sum[threadIdx.x] = mine;
}

TEST(Emulator, LetsPartsOfAWarpWorkAtDifferentSpeeds) {
  for (const std::uint64_t order : {0, 1, 2, 3}) {
    std::vector<int> sum(256), expected(256);
    launch("sum_quarters", {1, 256}, {1, order}, sum_quarters, sum.data());
    for (int i = 0; i < 256; ++i) {
      expected[i] = 8 * (i / 8 * 8) + 28;
      for (int turn = 1; turn <= i % 32 / 8; ++turn) expected[i] *= 8;
    }
    EXPECT_EQ(sum, expected) << order;
  }
}

// Two lanes in turn ask lane 0, which serves them in the other order than they came.
__global__ void serve_two(int* got) {
  const int i = static_cast<int>(threadIdx.x);
  if (i == 0) {
    got[0] = __shfl_sync(0b101, 10, 2) + __shfl_sync(0b011, 20, 1);
  } else {
    got[i] = __shfl_sync(i == 2 ? 0b101 : 0b011, i, 0);
  }
}

TEST(Emulator, LetsALaneMeetOthersOneByOne) {
  std::vector<int> got(3);
  launch("serve_two", {1, 3}, {}, serve_two, got.data());
  EXPECT_EQ(got, (std::vector<int>{3, 20, 10}));
}

__global__ void sum_last_warp(int* sum) {
  const unsigned left = blockDim.x - threadIdx.x / 32 * 32;
  const unsigned mask = left >= 32 ? all : (1U << left) - 1;
  int mine = 1;
  for (unsigned delta = 16; delta > 0; delta /= 2) {
    const int other = __shfl_sync(
        mask, mine, static_cast<int>(std::min(threadIdx.x % 32 + delta, std::min(left, 32U) - 1)));
    if (threadIdx.x % 32 + delta < std::min(left, 32U)) mine += other;
  }
  if (threadIdx.x % 32 == 0) sum[threadIdx.x / 32] = mine;
}

TEST(Emulator, RunsALastWarpThatIsNotFull) {
  for (const int lanes : {1, 5, 31, 33, 100}) {
    std::vector<int> sum((lanes + 31) / 32), expected(sum.size(), 32);
    launch("sum_last_warp", {1, lanes}, {}, sum_last_warp, sum.data());
    if (lanes % 32 != 0) expected.back() = lanes % 32;
    EXPECT_EQ(sum, expected) << lanes;
  }
}

// Warps are cut from the block with x fastest, then y, then z.
__global__ void lead(unsigned* leader) {
  const unsigned number = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  leader[number] = __shfl_sync(all, number, 0);
}

TEST(Emulator, CutsWarpsWithXFastest) {
  std::vector<unsigned> leader(4 * 4 * 6);
  launch("lead", {1, {4, 4, 6}}, {}, lead, leader.data());
  for (unsigned i = 0; i < leader.size(); ++i) EXPECT_EQ(leader[i], i / 32 * 32);
}

TEST(Emulator, CountsBits) {
  EXPECT_EQ(__popc(0xf00000f1), 9);
  EXPECT_EQ(__popc(0), 0);
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__clz(1), 31);
  EXPECT_EQ(__clz(-1), 0);
  EXPECT_EQ(__ffs(0), 0);
  EXPECT_EQ(__ffs(1), 1);
  EXPECT_EQ(__ffs(std::numeric_limits<int>::min()), 32);
}

}  // namespace
