#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>

#include <fmt/format.h>
#include <pthread.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/hash.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/gpu/emulator/block_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>

namespace nz::emulator {
namespace {

// CUDA's limits, those that hold for every device since compute capability 3.0.
constexpr std::uint64_t most_lanes = 1024;
constexpr dim3 most_blocks{0x7fffffff, 65535, 65535};
constexpr dim3 longest_block{1024, 1024, 64};

// Each lane that waits takes a stack, and each stack two of the 65,530 mappings that Linux allows a process.
constexpr std::uint64_t most_stacks = 8192;

// Stacks that the lanes of all launches together have left.
struct stack_count {
  std::mutex mutex;
  std::condition_variable returned;
  std::uint64_t left = most_stacks;
};

// The stacks that a block's lanes may take: waits until they are left. Who has some never waits for more.
class some_stacks {
 public:
  some_stacks(stack_count& all, std::uint64_t count) : all_(all), count_(count) {
    std::unique_lock lock(all_.mutex);
    all_.returned.wait(lock, [&] { return all_.left >= count_; });
    all_.left -= count_;
  }
  some_stacks(const some_stacks&) = delete;
  some_stacks& operator=(const some_stacks&) = delete;
  ~some_stacks() {
    const std::lock_guard lock(all_.mutex);
    all_.left += count_;
    all_.returned.notify_all();
  }

 private:
  stack_count& all_;
  std::uint64_t count_;
};

// Fewer blocks than this are not worth waking a thread for.
constexpr std::uint64_t blocks_per_thread = 4;

stack_count* current_count = nullptr;

// A child process has none of its parent's threads, and all stacks.
stack_count& all_stacks() {
  static const bool is_made = [] {
    current_count = new stack_count;
    pthread_atfork(nullptr, nullptr, [] { current_count = new stack_count; });
    return true;
  }();
  static_cast<void>(is_made);
  return *current_count;
}

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
    throw unsupported(fmt::format("{} needs a grid of {} blocks, more than a GPU can have", kernel, blocks));
  }
  return {dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads))};
}

// A Feistel network permutes the numbers of 2*half bits; repeated until the number is below count, it
// permutes those alone. No table: a grid may have more blocks than there is memory for.
std::uint64_t in_order(std::uint64_t seed, std::uint64_t count, std::uint64_t place) {
  if (seed == 0 || count < 2) return place;
  const int half = (std::bit_width(count - 1) + 1) / 2;
  const std::uint64_t low = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = place >> half, right = place & low;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t mixed = left ^ (hash(seed, 4 * right + round) & low);
      left = right;
      right = mixed;
    }
    place = left << half | right;
  } while (place >= count);
  return place;
}

// Blocks are handed out in order, so the lowest that fails is always found, whatever the number of threads.
void run_blocks(const bound_kernel& kernel, const launch_options& options) {
  check(kernel);
  const std::uint64_t blocks = volume(kernel.shape.grid);
  const auto threads = static_cast<int>(std::min<std::uint64_t>(
      {static_cast<std::uint64_t>(thread_count(options.threads)), most_stacks / volume(kernel.shape.block),
       (blocks + blocks_per_thread - 1) / blocks_per_thread}));
  std::atomic<std::uint64_t> next{0};
  std::mutex failure_mutex;
  std::uint64_t failed = blocks;
  std::exception_ptr failure;
  const auto fail = [&](std::uint64_t i) {
    next = blocks;
    const std::lock_guard lock(failure_mutex);
    if (i >= failed) return;
    failed = i;
    failure = std::current_exception();
  };
  in_team(threads, [&](const team_thread&) {
    try {
      if (next >= blocks) return;
      const some_stacks stacks(all_stacks(), volume(kernel.shape.block));
      block runner(kernel, options.order);
      for (std::uint64_t i; (i = next.fetch_add(1)) < blocks;) {
        try {
          runner.run(index_of(in_order(options.order, blocks, i), kernel.shape.grid));
        } catch (...) {
          fail(i);
        }
      }
    } catch (...) {
      fail(0);
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace nz::emulator
