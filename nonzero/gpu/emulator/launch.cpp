#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/gpu/emulator/block_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>
#include <nonzero/gpu/emulator/order_internal.hpp>

namespace nz::emulator {
namespace {

// CUDA's limits, those that hold for every device since compute capability 3.0.
constexpr std::uint64_t most_lanes = 1024;
constexpr dim3 most_blocks{0x7fffffff, 65535, 65535};
constexpr dim3 longest_block{1024, 1024, 64};

// Each lane that waits takes a stack, and each stack two of the 65,530 mappings that Linux allows a process.
constexpr std::uint64_t most_stacks = 8192;

// Not worth a thread of their own: one begins with the shared arrays of all kernels cleared, megabytes of
// them.
constexpr std::uint64_t few_blocks = 4;

std::uint64_t volume(dim3 size) { return std::uint64_t{size.x} * size.y * size.z; }

void check_size(const char* kernel, const char* what, dim3 size, dim3 most) {
  const bool fits = size.x <= most.x && size.y <= most.y && size.z <= most.z;
  if (fits && size.x > 0 && size.y > 0 && size.z > 0) return;
  throw device_error(fmt::format("{}: cannot launch {} of ({},{},{}): each size must be from 1 to ({},{},{})",
                                 kernel, what, size.x, size.y, size.z, most.x, most.y, most.z));
}

void check(const bound_kernel& kernel) {
  check_size(kernel.name, "a grid", kernel.shape.grid, most_blocks);
  check_size(kernel.name, "blocks", kernel.shape.block, longest_block);
  if (volume(kernel.shape.block) > most_lanes) {
    throw device_error(fmt::format("{}: cannot launch blocks of {} threads; the most is {}", kernel.name,
                                   volume(kernel.shape.block), most_lanes));
  }
  if (kernel.shape.shared_bytes > most_shared_bytes) {
    throw device_error(fmt::format("{}: cannot launch with {} bytes of shared memory; the most is {}",
                                   kernel.name, kernel.shape.shared_bytes, most_shared_bytes));
  }
  if (block::running() != nullptr) {
    throw device_error(fmt::format("{}: cannot launch from within a kernel", kernel.name));
  }
}

uint3 index_of(std::uint64_t number, dim3 grid) {
  return {static_cast<unsigned>(number % grid.x), static_cast<unsigned>(number / grid.x % grid.y),
          static_cast<unsigned>(number / grid.x / grid.y)};
}

}  // namespace

launch_shape line_of_blocks(const char* kernel, std::int64_t blocks, int threads) {
  if (blocks > most_blocks.x) {
    throw unsupported(fmt::format("{} needs a grid of {} blocks, more than a card can have", kernel, blocks));
  }
  return {dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads))};
}

// Blocks are handed out in order, so the lowest that fails is always found, whatever the number of threads.
void run_blocks(const bound_kernel& kernel, const launch_options& options) {
  check(kernel);
  const std::uint64_t blocks = volume(kernel.shape.grid);
  const auto workers = static_cast<int>(std::min<std::uint64_t>(
      {static_cast<std::uint64_t>(thread_count(options.threads)), most_stacks / volume(kernel.shape.block),
       (blocks + few_blocks - 1) / few_blocks}));
  std::atomic<std::uint64_t> next{0};
  std::mutex failure_mutex;
  std::uint64_t failed = blocks;
  std::exception_ptr failure;
  parallel_tasks(workers, workers, [&](std::int64_t) {
    block runner(kernel, options.order);
    for (std::uint64_t i; (i = next.fetch_add(1)) < blocks;) {
      try {
        runner.run(index_of(in_order(options.order, blocks, i), kernel.shape.grid));
      } catch (...) {
        next = blocks;
        const std::lock_guard lock(failure_mutex);
        if (i < failed) {
          failed = i;
          failure = std::current_exception();
        }
      }
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace nz::emulator
