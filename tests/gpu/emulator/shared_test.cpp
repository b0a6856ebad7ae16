#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>

namespace {

using nz::emulator::launch;
using nz::emulator::launch_options;

// A tree: half of the lanes add what the other half holds, then a quarter …
template <class T> __device__ T sum_block(nz::gpu::shared<T>* part, T mine) {
  part[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  return part[0];
}

template <class T> __global__ void __launch_bounds__(256) sum_static(const T* value, T* sum) {
  __shared__ nz::gpu::shared<T> part[256];
  const T total = sum_block<T>(part, value[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x == 0) sum[blockIdx.x] = total;
}

template <class T> __global__ void sum_dynamic(const T* value, T* sum) {
  const T total = sum_block<T>(nz::gpu::dynamic_shared<T>(), value[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x == 0) sum[blockIdx.x] = total;
}

template <class T> class EmulatorShared : public testing::Test {};
using shared_types = testing::Types<float, double, int>;
TYPED_TEST_SUITE(EmulatorShared, shared_types);

TYPED_TEST(EmulatorShared, SumsBlocksByATree) {
  using T = TypeParam;
  constexpr unsigned blocks = 200, lanes = 256;
  std::vector<T> value(blocks * lanes), expected(blocks);
  for (unsigned i = 0; i < value.size(); ++i) value[i] = static_cast<T>(i % 1009);
  for (unsigned b = 0; b < blocks; ++b) {
    expected[b] = std::accumulate(&value[b * lanes], &value[b * lanes] + lanes, T{0});
  }
  for (const launch_options options : {launch_options{1, 0}, {1, 5}, {4, 0}, {4, 6}}) {
    std::vector<T> sum(blocks);
    launch("sum_static", {blocks, lanes}, options, sum_static<T>, value.data(), sum.data());
    EXPECT_EQ(sum, expected);
    sum.assign(blocks, 0);
    launch("sum_dynamic", {blocks, lanes, lanes * sizeof(T)}, options, sum_dynamic<T>, value.data(),
           sum.data());
    EXPECT_EQ(sum, expected);
  }
}

__global__ void transpose(const int* a, int* b) {
  __shared__ nz::gpu::shared<int> tile[32][33];
  for (unsigned y = threadIdx.y; y < 32; y += blockDim.y) tile[y][threadIdx.x] = a[y * 32 + threadIdx.x];
  __syncthreads();
  for (unsigned y = threadIdx.y; y < 32; y += blockDim.y) b[y * 32 + threadIdx.x] = tile[threadIdx.x][y];
}

TEST(Emulator, TransposesATileInA2DBlock) {
  std::vector<int> a(1024), b(1024);
  std::iota(a.begin(), a.end(), 0);
  launch("transpose", {1, {32, 8}}, {}, transpose, a.data(), b.data());
  for (int i = 0; i < 1024; ++i) EXPECT_EQ(b[i], i % 32 * 32 + i / 32);
}

// Every block finds plain shared memory its own, whatever else runs on other OS threads.
__global__ void shift(unsigned* got) {
  __shared__ unsigned cell[64];
  for (unsigned turn = 0; turn < 10; ++turn) {
    cell[threadIdx.x] = blockIdx.x * 64 + threadIdx.x;
    __syncthreads();
    got[blockIdx.x * 64 + threadIdx.x] = cell[(threadIdx.x + 1) % 64];
    __syncthreads();
  }
}

TEST(Emulator, GivesEachBlockItsOwnSharedMemory) {
  std::vector<unsigned> got(64 * 100);
  launch("shift", {100, 64}, {4}, shift, got.data());
  for (unsigned i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i / 64 * 64 + (i + 1) % 64);
}

// A warp's lanes trade places through shared memory, with barriers of the warp alone.
__global__ void reverse_warp(int* value) {
  __shared__ nz::gpu::shared<int> cell[64];
  const unsigned i = threadIdx.x;
  for (int turn = 0; turn < 3; ++turn) {
    cell[i] = value[i];
    __syncwarp();
    value[i] = cell[i / 32 * 32 + 31 - i % 32];
    __syncwarp();
  }
}

TEST(Emulator, AcceptsABarrierOfTheWarpBetweenLanesOfAWarp) {
  std::vector<int> value(64);
  std::iota(value.begin(), value.end(), 0);
  launch("reverse_warp", {1, 64}, {}, reverse_warp, value.data());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(value[i], i / 32 * 32 + 31 - i % 32);
}

__global__ void copy_cells(int* got) {
  __shared__ nz::gpu::shared<int> from[32], to[32];
  from[threadIdx.x] = static_cast<int>(threadIdx.x);
  to[threadIdx.x] = from[threadIdx.x];
  __syncwarp();
  // Several lanes may read a cell, and read it again.
  got[threadIdx.x] = to[0] + to[31] + 2 * to[threadIdx.x] + to[0];
}

TEST(Emulator, CopiesCellsByValue) {
  std::vector<int> got(32);
  launch("copy_cells", {1, 32}, {}, copy_cells, got.data());
  for (int i = 0; i < 32; ++i) EXPECT_EQ(got[i], 31 + 2 * i);
}

__global__ void count_dynamic(std::ptrdiff_t* cells) {
  auto* cell = nz::gpu::dynamic_shared<double>();
  for (int i = 0; i < 6144; ++i) cell[i] = i;
  double sum = 0;
  for (int i = 0; i < 6144; ++i) sum += cell[i];
  *cells = static_cast<std::ptrdiff_t>(sum);
}

TEST(Emulator, GivesAllTheDynamicSharedMemoryLaunched) {
  std::ptrdiff_t sum = 0;
  launch("count_dynamic", {1, 1, 48 * 1024}, {}, count_dynamic, &sum);
  EXPECT_EQ(sum, 6143 * 6144 / 2);
}

}  // namespace
