#pragma once

#include <cstdint>
#include <type_traits>

#include <nonzero/gpu/shared.cuh>
#include <nonzero/gpu/threads.cuh>

// What the lanes of a warp, or the threads of a block, do together; and searching in sorted arrays.
namespace nz::gpu {

constexpr unsigned full_warp = 0xffffffffU;

/// The lanes, as a mask for __shfl_sync, of this thread's group of `Lanes` neighbours.
template <int Lanes> __device__ unsigned group_mask() {
  const unsigned first = threadIdx.x % 32 / Lanes * Lanes;
  return full_warp >> (32 - Lanes) << first;
}

/// The sum over a group's lanes, in its first lane; always added in the same order.
template <int Lanes, class V> __device__ V group_sum(V value) {
  for (int step = Lanes / 2; step > 0; step /= 2)
    value += __shfl_down_sync(group_mask<Lanes>(), value, step, Lanes);
  return value;
}

/// The values of a warp's lanes combined by an operation that may take them in any order; in every lane.
template <class T, class Combine> __device__ T warp_reduce(T value, Combine combine) {
  for (int distance = 16; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(full_warp, value, distance));
  return value;
}
template <class T> __device__ T warp_minimum(T value) {
  return warp_reduce(value, [](T a, T b) { return b < a ? b : a; });
}
template <class T> __device__ T warp_maximum(T value) {
  return warp_reduce(value, [](T a, T b) { return a < b ? b : a; });
}
/// Of integers: floating-point sums are rounded differently in each lane.
template <class T> __device__ T warp_sum(T value) {
  static_assert(std::is_integral_v<T>);
  return warp_reduce(value, [](T a, T b) { return a + b; });
}

/// Sorts `Count` keys, a power of two, by Batcher's bitonic network (1968). Every thread of the block calls
/// it, after the keys are written and a barrier.
template <int Count> __device__ void sort_in_block(shared_array<std::uint64_t, Count>& key) {
  for (int size = 2; size <= Count; size *= 2)
    for (int step = size / 2; step > 0; step /= 2) {
      for (int pair = threadIdx.x; pair < Count / 2; pair += blockDim.x) {
        const int low = 2 * pair - pair % step, high = low + step;
        const bool rises = (low & size) == 0;
        const std::uint64_t a = key[low], b = key[high];
        if ((a > b) == rises) {
          key[low] = b;
          key[high] = a;
        }
      }
      __syncthreads();
    }
}

/// Replaces each of `Count` numbers by the sum of those before it; returns the sum of all. Every thread of a
/// block of threads_per_block calls it, after the numbers are written and a barrier; they can be read after
/// the next barrier.
template <int Count> __device__ unsigned exclusive_sum_in_block(shared_array<unsigned, Count>& numbers) {
  constexpr int each = Count / threads_per_block, warps = threads_per_block / 32;
  static_assert(Count % threads_per_block == 0);
  __shared__ shared_array<unsigned, warps> of_warp;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = threadIdx.x * each;
  unsigned mine = 0;
  for (int i = 0; i < each; ++i) mine += numbers[first + i];
  unsigned before = mine;  // and mine
  for (int step = 1; step < 32; step *= 2) {
    const unsigned left = __shfl_up_sync(full_warp, before, step);
    if (lane >= step) before += left;
  }
  if (lane == 31) of_warp[warp] = before;
  before -= mine;
  __syncthreads();
  unsigned all = 0;
  for (int w = 0; w < warps; ++w) {
    const unsigned sum = of_warp[w];
    if (w < warp) before += sum;
    all += sum;
  }
  for (int i = 0; i < each; ++i) {
    const unsigned number = numbers[first + i];
    numbers[first + i] = before;
    before += number;
  }
  return all;
}

/// The first i in [low, high) for which is_before(i) is false, or high: binary search, as
/// std::partition_point.
template <class T, class Predicate> __device__ T partition_point(T low, T high, Predicate is_before) {
  while (low < high) {
    const T middle = low + (high - low) / 2;
    if (is_before(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace nz::gpu
