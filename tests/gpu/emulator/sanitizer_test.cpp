#include <vector>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/fibers_internal.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>
#include <nonzero/gpu/emulator/sanitizer_internal.hpp>

// Bugs planted in kernels: AddressSanitizer must see through the fibers.
#ifdef NONZERO_ADDRESS_SANITIZER

namespace {

using nz::emulator::launch;

__global__ void write_past_the_end(int* y, unsigned n, bool waits) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (waits) __syncthreads();
  if (i <= n) y[i] = 1;  // < meant
}

TEST(EmulatorDeathTest, ALaneThatWritesPastTheEndIsCaught) {
  for (const bool waits : {false, true}) {
    EXPECT_DEATH(
        {
          std::vector<int> y(100);
          launch("write_past_the_end", {4, 32}, {1}, write_past_the_end, y.data(), 100, waits);
        },
        "heap-buffer-overflow");
  }
}

__global__ void write_past_dynamic_shared() {
  auto* cell = nz::gpu::dynamic_shared<double>();
  cell[threadIdx.x] = 1;
  __syncthreads();
  cell[threadIdx.x + 1] = 2;
}

TEST(EmulatorDeathTest, ALaneThatWritesPastDynamicSharedMemoryIsCaught) {
  EXPECT_DEATH(
      launch("write_past_dynamic_shared", {1, 32, 32 * sizeof(double)}, {1}, write_past_dynamic_shared),
      "heap-buffer-overflow");
}

__global__ void write_past_own_array(volatile unsigned* n) {
  volatile int mine[4] = {};
  volatile int* volatile hidden = mine;  // from the compiler, whose own checks would see it first
  __syncthreads();
  hidden[*n] = 1;
}

TEST(EmulatorDeathTest, ALaneThatWritesPastItsOwnArrayIsCaught) {
  volatile unsigned n = 4;
  EXPECT_DEATH(launch("write_past_own_array", {1, 32}, {1}, write_past_own_array, &n),
               "stack-buffer-overflow");
}

__global__ void call_itself(volatile int* depth) {
  *depth = *depth + 1;
  __syncwarp();
  if (*depth > 0) call_itself(depth);
}

TEST(EmulatorDeathTest, ALaneThatOverflowsItsStackIsCaught) {
  volatile int depth = 0;
  EXPECT_DEATH(launch("call_itself", {1, 32}, {1}, call_itself, &depth), "stack-overflow");
}

// What is mapped there next, by any library, must not inherit them.
TEST(Emulator, AnEndedFiberLeavesNoRedZonesOnItsStack) {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  {
    nz::emulator::fibers* all = nullptr;
    nz::emulator::fibers owner([&all] {
      if (!all->is_ending()) all->go_on(all->own());
    });
    all = &owner;
    auto& fiber = owner.take_idle();
    owner.go_on(fiber);
    bottom = fiber.stack_bottom;
    bytes = fiber.stack_bytes;
    ASSERT_NE(__asan_region_is_poisoned(const_cast<void*>(bottom), bytes), nullptr);
  }
  EXPECT_EQ(__asan_region_is_poisoned(const_cast<void*>(bottom), bytes), nullptr);
}

}  // namespace

#endif
