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

/// The words that a thread has in flight.
constexpr int reads_in_flight = 4;

// A block reads words that follow each other, four for each thread, and adds them up.
// Good: always. Of blocks of 128 to 1,024 threads with 1 to 8 words each, none reads 2 to 40 MB from L2 in
// less than 0.93 of its time (H200).
// Bad: small arrays, for which the launch is the time.
// Traffic: the array.
// Source: ours.
template <class Words>
__global__ void read_kernel(std::int64_t count, const Words* __restrict__ from,
                            std::uint32_t* __restrict__ sink) {
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x * reads_in_flight + threadIdx.x;
  Words seen[reads_in_flight] = {};
  for (int j = 0; j < reads_in_flight; ++j)
    if (const std::int64_t i = first + j * std::int64_t{blockDim.x}; i < count) seen[j] = from[i];
  std::uint32_t sum = 0;
  for (const Words& one : seen)
    for (const std::uint32_t word : one.word) sum += word;
  constexpr std::uint32_t unlikely = 0x9e3779b9;  // the compiler must not know that nobody wants the sum
  if (sum == unlikely) *sink = sum;
}

/// The back_end::read of kernel/back_end.hpp, for one Queue.
template <class Queue>
void read(device& on, const void* from, std::size_t bytes, std::uint32_t* sink, stream in) {
  const auto count = static_cast<std::int64_t>(bytes / sizeof(four_words));
  const std::int64_t blocks =
      std::max(blocks_for((count + reads_in_flight - 1) / reads_in_flight), std::int64_t{1});
  Queue(on, in).launch("read", blocks, threads_per_block, read_kernel<four_words>, count,
                       static_cast<const four_words*>(from), sink);
}

}  // namespace nz::gpu
