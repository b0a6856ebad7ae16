#include <gtest/gtest.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
// After the language that it is written in.
#include <nonzero/gpu/convert/blocks.cuh>
#include <nonzero/gpu/steps/vector_kernels.cuh>

#include "tests/gpu/many_threads.hpp"

namespace {

TEST(ManyThreads, MultiplyAndStepWithOneMatrixByEveryKernelOfTheEmulator) {
  for (const nz::kernel_row& kernel : nz::emulator_kernels()) {
    SCOPED_TRACE(kernel.name);
    many_threads::check(kernel, nz::emulator_device(), {nz::stream{}}, 2);
  }
}

TEST(ManyThreads, FindProductsOfTheirOwnVectorsByOneObject) {
  constexpr std::size_t size = 3000;
  const auto on = nz::emulator_device();
  const nz::gpu::device_vector_kernels<double, nz::emulator_queue> blas(on, size);
  const nz::vector<double> ones(on, std::vector<double>(size, 1.0));
  std::vector<nz::vector<double>> found;
  found.reserve(many_threads::threads);
  for (int t = 0; t < many_threads::threads; ++t) found.emplace_back(on, std::size_t{20});
  std::vector<std::thread> team;
  team.reserve(many_threads::threads);
  for (int t = 0; t < many_threads::threads; ++t)
    team.emplace_back([&, t] {
      const nz::vector<double> x(on, std::vector<double>(size, t + 1.0));
      for (std::size_t i = 0; i < 20; ++i) blas.dot(x, ones, found[static_cast<std::size_t>(t)], i);
    });
  for (std::thread& each : team) each.join();
  for (int t = 0; t < many_threads::threads; ++t)
    EXPECT_EQ(found[static_cast<std::size_t>(t)].to_host(), std::vector<double>(20, size * (t + 1.0)));
}

// Each block of 1,024 waiting lanes takes 1,024 stacks, of which Linux allows a process some 30,000.
__global__ void wait_together_kernel(int* count) {
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(count, 1);
}

TEST(ManyThreads, LaunchMoreLanesThanThereAreStacks) {
  int count = 0;
  std::vector<std::thread> team;
  team.reserve(40);
  for (int t = 0; t < 40; ++t)
    team.emplace_back([&] {
      nz::emulator_queue queue(*nz::emulator_device(), {});
      queue.launch("wait_together", 1, 1024, wait_together_kernel, &count);
    });
  for (std::thread& each : team) each.join();
  EXPECT_EQ(count, 40);
}

TEST(ScratchSets, AreZeroAgainAfterAMultiplyThatFailed) {
  nz::gpu::scratch_layout layout;
  const auto counters = layout.add<unsigned>(3);
  const nz::emulator_scratch pool(nz::emulator_device(), layout);
  const std::uint64_t bytes = pool.bytes();
  try {
    const auto one = pool.lend({}), two = pool.lend({}), three = pool.lend({}), four = pool.lend({}),
               five = pool.lend({});
    for (const auto* set : {&one, &two, &three, &four, &five}) counters.in(set->data())[2] = 7;
    throw nz::device_error("a kernel failed");
  } catch (const nz::device_error&) {
  }
  EXPECT_GT(pool.bytes(), bytes) << "more were lent at once than it began with";
  const auto one = pool.lend({}), two = pool.lend({}), three = pool.lend({}), four = pool.lend({}),
             five = pool.lend({});
  for (const auto* set : {&one, &two, &three, &four, &five}) EXPECT_EQ(counters.in(set->data())[2], 0U);
}

TEST(Launches, OfAChoiceThatWasNotCompiledAreRefused) {
  int called = 0;
  nz::gpu::with_one_of<2, 4>(4, [&](auto) { ++called; });
  EXPECT_EQ(called, 1);
  EXPECT_THROW((nz::gpu::with_one_of<2, 4>(3, [&](auto) { ++called; })), nz::unsupported);
  EXPECT_THROW(nz::gpu::with_block_size(7, [&](auto) { ++called; }), nz::unsupported);
  EXPECT_EQ(called, 1);
}

}  // namespace
