#pragma once

#include <cstdint>

#include <nonzero/core/types.hpp>
#include <nonzero/gpu/threads.cuh>
#include <nonzero/gpu/value_bits.cuh>

// Questions about all values of a matrix, answered on the device.
namespace nz::gpu {

/// Whether single precision does not hold a value.
struct is_no_float {
  template <class V> __device__ bool operator()(V value, V) const {
    return static_cast<V>(static_cast<float>(value)) != value;
  }
};

/// Whether a value differs from the first by a bit.
struct is_not_first {
  template <class V> __device__ bool operator()(V value, V first) const {
    return bits_of_value(value) != bits_of_value(first);
  }
};

/// For each warp 1 where it met a value of which test(value, first value) is true; it looks no further then.
template <class V, class Test>
__global__ void find_any_kernel(offset nnz, const V* __restrict__ val, Test test,
                                std::int32_t* __restrict__ found) {
  bool is_met = false;
  for (std::int64_t k = thread_in_grid(); k < nnz && !is_met; k += std::int64_t{gridDim.x} * blockDim.x)
    is_met = test(val[k], val[0]);
  is_met = __any_sync(full_warp, is_met) != 0;
  if (threadIdx.x % 32 == 0) found[thread_in_grid() / 32] = is_met ? 1 : 0;
}

template <class Queue, class V, class Test>
bool is_any_value(Queue& queue, offset nnz, const V* val, Test test) {
  const std::int64_t blocks = queue.resident_threads() / threads_per_block,
                     warps = blocks * (threads_per_block / 32);
  auto found = queue.template temporary<std::int32_t>(static_cast<std::size_t>(warps));
  auto any = queue.template temporary<std::int32_t>(1);
  queue.launch("find_any", blocks, threads_per_block, find_any_kernel<V, Test>, nnz, val, test, found.data());
  queue.largest(found.data(), any.data(), warps);
  return queue.read(any.data()) != 0;
}

}  // namespace nz::gpu
