#pragma once

#include <algorithm>
#include <cstdint>

#include <nonzero/core/array.hpp>
#include <nonzero/core/device.hpp>
#include <nonzero/gpu/shared.cuh>
#include <nonzero/gpu/threads.cuh>
#include <nonzero/gpu/warp.cuh>

namespace nz::gpu {

// Blocks take the integers in turn, and each writes a record.
// Good: always, it reads each integer once; the one after it comes from the cache.
// Bad: nothing known.
// Traffic: the integers.
// Source: ours.
template <class T>
__global__ void integer_facts_kernel(const T* __restrict__ numbers, std::int64_t count,
                                     integer_facts* __restrict__ records) {
  __shared__ shared_array<integer_facts, threads_per_block / 32> found_by_warp;
  integer_facts found;
  const std::int64_t step = std::int64_t{gridDim.x} * threads_per_block;
  for (std::int64_t i = thread_in_grid(); i < count; i += step) {
    const std::int64_t number = numbers[i];
    found.smallest = number < found.smallest ? number : found.smallest;
    found.largest = number > found.largest ? number : found.largest;
    if (i + 1 < count && numbers[i + 1] < number) found.is_ascending = false;
  }
  found.smallest = warp_minimum(found.smallest);
  found.largest = warp_maximum(found.largest);
  found.is_ascending = __ballot_sync(full_warp, !found.is_ascending) == 0;
  if (threadIdx.x % 32 == 0) found_by_warp[threadIdx.x / 32] = found;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < threads_per_block / 32; ++w) {
    const integer_facts other = found_by_warp[w];
    found.smallest = other.smallest < found.smallest ? other.smallest : found.smallest;
    found.largest = other.largest > found.largest ? other.largest : found.largest;
    found.is_ascending = found.is_ascending && other.is_ascending;
  }
  records[blockIdx.x] = found;
}

template <class Queue, class T>
integer_facts examine(device& on, const T* numbers, std::size_t count, stream in) {
  Queue queue(on, in);
  const auto size = static_cast<std::int64_t>(count);
  const std::int64_t blocks = std::min((size + threads_per_block - 1) / threads_per_block,
                                       4 * queue.resident_threads() / threads_per_block);
  auto records = queue.template temporary<integer_facts>(static_cast<std::size_t>(blocks));
  queue.launch("integer_facts", blocks, threads_per_block, integer_facts_kernel<T>, numbers, size,
               records.data());
  array<integer_facts> all(static_cast<std::size_t>(blocks));
  on.copy(all.data(), records.data(), all.size() * sizeof(integer_facts), in);
  on.synchronize(in);
  integer_facts out;
  for (const integer_facts& found : all) {
    out.smallest = std::min(out.smallest, found.smallest);
    out.largest = std::max(out.largest, found.largest);
    out.is_ascending = out.is_ascending && found.is_ascending;
  }
  return out;
}

}  // namespace nz::gpu
