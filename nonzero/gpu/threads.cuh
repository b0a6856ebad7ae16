#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <nonzero/core/errors.hpp>

// How threads are numbered and how many blocks they take.
// Every .cuh file is plain CUDA C++. nvcc compiles it for the GPU (gpu/cuda). The host's compiler compiles
// it for the emulator, whose language_internal.hpp supplies what nvcc has built in.
namespace nz::gpu {

constexpr int threads_per_block = 256;

/// This thread's number in the grid.
__device__ inline std::int64_t thread_in_grid() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// In a kernel that a launch_dependent follows: its blocks may start once all blocks of this one have called
/// this or ended. Without it they start when all have ended, which still saves the time of a launch.
__device__ inline void trigger_dependent_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
/// In a kernel that is launched by launch_dependent: waits until all earlier launches are done. What they may
/// write must not be read before, must not be a const __restrict__ parameter, and must not be read by
/// load_constant: the compiler might read it ahead of the wait. A matrix may be read before: its arrays are
/// complete when it is prepared, and do not change while it is used. Every thread that reads or writes
/// anything else must call it, and in every grid at least one: the next launch waits for this one, and
/// through it for those before.
__device__ inline void wait_for_prerequisite() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// How many blocks give each of `count` items a thread.
inline std::int64_t blocks_for(std::int64_t count) {
  return (count + threads_per_block - 1) / threads_per_block;
}

/// Launches a kernel with a thread for each of `count` items.
template <class Queue, class Kernel, class... Args>
void launch_threads(Queue& queue, const char* name, std::int64_t count, Kernel* kernel, const Args&... args) {
  queue.launch(name, blocks_for(count), threads_per_block, kernel, args...);
}

/// The smallest power of two, 2 to 32, that is at least the mean row length; 32 for longer rows.
inline int lanes_for(std::int64_t rows, std::int64_t nnz) {
  int lanes = 2;
  while (lanes < 32 && lanes * rows < nnz) lanes *= 2;
  return lanes;
}

/// Calls body with the number, which is one of Choices, as a compile-time constant. Throws `unsupported` for
/// any other: nothing would be launched, and y would keep what it had.
template <int... Choices, class Body> void with_one_of(int number, Body body) {
  const auto try_one = [&](auto choice) {
    if (number != choice.value) return false;
    body(choice);
    return true;
  };
  if (!(try_one(std::integral_constant<int, Choices>{}) || ...))
    throw unsupported("no kernel is compiled for the number " + std::to_string(number));
}
/// The same for the lanes of lanes_for.
template <class Body> void with_lanes(int lanes, Body body) { with_one_of<2, 4, 8, 16, 32>(lanes, body); }

}  // namespace nz::gpu
