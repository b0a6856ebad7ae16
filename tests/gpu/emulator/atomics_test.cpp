#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>

namespace {

using nz::emulator::launch;

// Enough blocks on enough OS threads that an atomic that is none would lose some.
constexpr unsigned blocks = 500, lanes = 128, total = blocks * lanes;

__device__ unsigned my_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <class T> class EmulatorAtomicAdd : public testing::Test {};
using added_types = testing::Types<float, int, unsigned, unsigned long long, double>;
TYPED_TEST_SUITE(EmulatorAtomicAdd, added_types);

template <class T> __global__ void add(T* sum) { atomicAdd(sum, my_number() % 3); }

TYPED_TEST(EmulatorAtomicAdd, LosesNothing) {
  TypeParam sum = 7;
  launch("add", {blocks, lanes}, {8, 3}, add<TypeParam>, &sum);
  TypeParam expected = 7;  // exact also in float
  for (unsigned i = 0; i < total; ++i) expected += static_cast<TypeParam>(i % 3);
  EXPECT_EQ(sum, expected);
}

__global__ void count(unsigned* counter, unsigned* seen) { atomicAdd(&seen[atomicInc(counter, 999)], 1U); }

TEST(Emulator, IncrementsRoundAndRound) {
  unsigned counter = 0;
  std::vector<unsigned> seen(1000);
  launch("count", {blocks, lanes}, {8}, count, &counter, seen.data());
  EXPECT_EQ(seen, std::vector<unsigned>(1000, total / 1000));
  EXPECT_EQ(counter, total % 1000);
}

template <class T> __global__ void extremes(T* most, T* least) {
  const T mine = static_cast<T>(my_number() * 2654435761U);
  atomicMax(most, mine);
  atomicMin(least, mine);
}

template <class T> void find_extremes() {
  T most = 0, least = 0, expected_most = 0, expected_least = 0;
  launch("extremes", {blocks, lanes}, {8}, extremes<T>, &most, &least);
  for (unsigned i = 0; i < total; ++i) {
    expected_most = std::max(expected_most, static_cast<T>(i * 2654435761U));
    expected_least = std::min(expected_least, static_cast<T>(i * 2654435761U));
  }
  EXPECT_EQ(most, expected_most);
  EXPECT_EQ(least, expected_least);
}

TEST(Emulator, FindsExtremesAtomically) {
  find_extremes<int>();
  find_extremes<unsigned>();
}

template <class T> __global__ void pass_on(T* held, T* got) {
  got[my_number()] = atomicExch(held, static_cast<T>(my_number()) + 1);
}

template <class T> void exchange_all() {
  T held = 0;
  std::vector<T> got(total);
  launch("pass_on", {blocks, lanes}, {8}, pass_on<T>, &held, got.data());
  got.push_back(held);  // every number was put in once, so came out once
  std::sort(got.begin(), got.end());
  for (unsigned i = 0; i <= total; ++i) ASSERT_EQ(got[i], static_cast<T>(i));
}

TEST(Emulator, ExchangesAtomically) {
  exchange_all<int>();
  exchange_all<unsigned>();
  exchange_all<unsigned long long>();
  exchange_all<float>();
}

template <class T> __global__ void add_by_cas(T* sum) {
  T seen = atomicAdd(sum, 0), expected;
  do {
    expected = seen;
    seen = atomicCAS(sum, expected, expected + 1);
  } while (seen != expected);
}

template <class T> void add_all_by_cas() {
  T sum = 0;
  launch("add_by_cas", {blocks, lanes}, {8}, add_by_cas<T>, &sum);
  EXPECT_EQ(sum, static_cast<T>(total));
}

TEST(Emulator, ComparesAndSwaps) {
  add_all_by_cas<int>();
  add_all_by_cas<unsigned>();
  add_all_by_cas<unsigned long long>();
}

__global__ void claim(int* owner, int* claims) {
  if (atomicCAS(&owner[my_number() % 100], -1, static_cast<int>(my_number())) == -1) {
    atomicAdd(&claims[my_number() % 100], 1);
  }
}

TEST(Emulator, LetsOneLaneOnlyWinACompareAndSwap) {
  std::vector<int> owner(100, -1), claims(100);
  launch("claim", {blocks, lanes}, {8, 1}, claim, owner.data(), claims.data());
  EXPECT_EQ(claims, std::vector<int>(100, 1));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(owner[i] % 100, i);
}

// Each block counts in its own cells, then hands on what it counted.
template <class T> __global__ void count_in_block(T* sums) {
  __shared__ nz::gpu::shared<T> sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, threadIdx.x % 3);
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

TYPED_TEST(EmulatorAtomicAdd, AddsInSharedMemoryToo) {
  for (const std::uint64_t order : {0, 4}) {
    std::vector<TypeParam> sums(blocks);
    launch("count_in_block", {blocks, lanes}, {8, order}, count_in_block<TypeParam>, sums.data());
    EXPECT_EQ(sums, std::vector<TypeParam>(blocks, 127));  // 42 times 0 + 1 + 2, then 0 + 1
  }
}

__global__ void change_shared(unsigned* got) {
  __shared__ nz::gpu::shared_array<unsigned, 5> cell;
  if (threadIdx.x < 5) cell[threadIdx.x] = 50;
  __syncthreads();
  atomicMax(&cell[0], threadIdx.x);
  atomicMin(&cell[1], threadIdx.x);
  atomicInc(&cell[2], 99);
  if (atomicCAS(&cell[3], 50, 1000 + threadIdx.x) == 50) atomicExch(&cell[4], 1000 + threadIdx.x);
  __syncthreads();
  if (threadIdx.x < 5) got[threadIdx.x] = cell[threadIdx.x];
}

TEST(Emulator, HasEveryAtomicInSharedMemory) {
  std::vector<unsigned> got(5);
  launch("change_shared", {1, lanes}, {1, 2}, change_shared, got.data());
  EXPECT_EQ(got[0], 127U);
  EXPECT_EQ(got[1], 0U);
  EXPECT_EQ(got[2], (50 + 128) % 100U);
  EXPECT_GE(got[3], 1000U);
  EXPECT_EQ(got[4], got[3]);
}

__global__ void add_once(int* sum) { atomicAdd(sum, 1); }

TEST(Emulator, WrapsIntegersRoundAtomically) {
  int sum = std::numeric_limits<int>::max();
  launch("add_once", {1, 1}, {}, add_once, &sum);
  EXPECT_EQ(sum, std::numeric_limits<int>::min());
}

__global__ void publish(int* data, int* ready) {
  *data = 42;
  __threadfence();
  atomicExch(ready, *data);
}

TEST(Emulator, HasAFence) {
  int data = 0, ready = 0;
  launch("publish", {1, 1}, {}, publish, &data, &ready);
  EXPECT_EQ(ready, 42);
}

}  // namespace
