#pragma once

#include <cstdint>
#include <type_traits>

// What the kernels of this folder have in common: how threads are numbered and how many blocks they take.
// Every file of this folder is plain CUDA C++. nvcc compiles it for the card (gpu/cuda); the host's compiler
// compiles it for the emulator, whose language_internal.hpp stands in for what nvcc knows by itself.
namespace nz::gpu {

constexpr unsigned full_warp = 0xffffffffU;
constexpr int threads_per_block = 256;

/// This thread's number in the grid.
__device__ inline std::int64_t thread_in_grid() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// In a kernel before one that is launched by launch_dependent: that one may be set up once all blocks of
/// this one are under way.
__device__ inline void trigger_dependent_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
/// In a kernel that is launched by launch_dependent: waits until all that was launched before it is done.
/// What that writes is not touched before, and does not come in as const __restrict__: for all that the
/// compiler knows then, it may be read ahead of the wait.
__device__ inline void wait_for_prerequisite() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The lanes, as a mask for __shfl_sync, of the group of `Lanes` neighbours that this thread is in.
template <int Lanes> __device__ unsigned group_mask() {
  const unsigned first = threadIdx.x % 32 / Lanes * Lanes;
  return full_warp >> (32 - Lanes) << first;
}

/// The sum over a group's lanes, in its first lane; always added in the same order.
/// Shuffles exchange registers. The lectures of 2013 add through volatile shared memory and count on a warp
/// running in lockstep, which no card since Volta (2017) promises.
template <int Lanes, class V> __device__ V group_sum(V value) {
  for (int step = Lanes / 2; step > 0; step /= 2)
    value += __shfl_down_sync(group_mask<Lanes>(), value, step, Lanes);
  return value;
}

/// How many blocks give `count` segments of work a thread each.
inline std::int64_t blocks_for(std::int64_t count) {
  return (count + threads_per_block - 1) / threads_per_block;
}

/// The smallest power of two, 2 to 32, that is at least the mean row length; 32 for longer rows.
inline int lanes_for(std::int64_t rows, std::int64_t nnz) {
  int lanes = 2;
  while (lanes < 32 && lanes * rows < nnz) lanes *= 2;
  return lanes;
}

/// Calls body with the number, which is one of Choices, as a compile-time constant.
template <int... Choices, class Body> void with_one_of(int number, Body body) {
  const auto try_one = [&](auto choice) {
    if (number == choice.value) body(choice);
  };
  (try_one(std::integral_constant<int, Choices>{}), ...);
}
/// The same for the lanes of lanes_for.
template <class Body> void with_lanes(int lanes, Body body) { with_one_of<2, 4, 8, 16, 32>(lanes, body); }

}  // namespace nz::gpu
