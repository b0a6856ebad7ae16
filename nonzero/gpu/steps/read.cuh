#pragma once

#include <algorithm>
#include <cstdint>

#include <nonzero/core/device.hpp>
#include <nonzero/gpu/threads.cuh>

// What a GPU cannot do faster: a launch that does nothing, and reading an array. plan/limit.hpp measures
// them.
namespace nz::gpu {

/// What a lane loads at once.
struct alignas(16) four_words {
  std::uint32_t word[4];
};

/// Few enough that all blocks run at once on a large GPU.
constexpr std::int64_t most_reading_blocks = 1024;
/// The words that a thread has in flight.
constexpr int reads_in_flight = 4;

// Each thread reads words a grid's width apart, four of them in flight, and adds them up.
// Good: always, no kernel reads an array faster.
// Bad: small arrays, for which the launch is the time.
// Traffic: the array.
// Source: ours.
template <class Words>
__global__ void read_kernel(std::int64_t count, const Words* __restrict__ from,
                            std::uint32_t* __restrict__ sink) {
  const std::int64_t width = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::uint32_t sum = 0;
  for (std::int64_t first = thread_in_grid(); first < count; first += reads_in_flight * width) {
    Words seen[reads_in_flight] = {};
    for (int j = 0; j < reads_in_flight; ++j)
      if (const std::int64_t i = first + j * width; i < count) seen[j] = from[i];
    for (const Words& one : seen)
      for (const std::uint32_t word : one.word) sum += word;
  }
  constexpr std::uint32_t unlikely = 0x9e3779b9;  // the compiler must not know that nobody wants the sum
  if (sum == unlikely) *sink = sum;
}

/// The back_end::read of kernel/back_end.hpp, for one Queue.
template <class Queue>
void read(device& on, const void* from, std::size_t bytes, std::uint32_t* sink, stream in) {
  const auto count = static_cast<std::int64_t>(bytes / sizeof(four_words));
  const std::int64_t blocks =
      std::clamp(blocks_for(count / reads_in_flight), std::int64_t{1}, most_reading_blocks);
  Queue(on, in).launch("read", blocks, threads_per_block, read_kernel<four_words>, count,
                       static_cast<const four_words*>(from), sink);
}

}  // namespace nz::gpu
