#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>

#include <unistd.h>

#include <nonzero/core/array.hpp>
#include <nonzero/core/device.hpp>
#include <nonzero/core/threads.hpp>

namespace nz {
namespace {

/// Below this, starting threads takes longer than the copy.
constexpr std::int64_t parallel_copy_grain = std::int64_t{16} << 20;

/// The largest of the caches that Linux says core 0 has; 0 where it says nothing.
std::uint64_t largest_cache() {
  std::uint64_t largest = 0;
  std::error_code nothing_there;
  for (const auto& entry :
       std::filesystem::directory_iterator("/sys/devices/system/cpu/cpu0/cache", nothing_there)) {
    std::ifstream file(entry.path() / "size");  // "32K", "33792K"
    std::uint64_t kibibytes = 0;
    if (file >> kibibytes) largest = std::max(largest, kibibytes * 1024);
  }
  return largest;
}

template <class T> integer_facts facts_of(std::span<const T> numbers) {
  integer_facts out;
  for (const std::int64_t number : numbers) {
    out.smallest = std::min(out.smallest, number);
    out.largest = std::max(out.largest, number);
  }
  out.is_ascending = std::is_sorted(numbers.begin(), numbers.end());
  return out;
}

class cpu final : public host_memory_device {
 public:
  device_kind kind() const override { return device_kind::cpu; }
  std::string description() const override {
    const int threads = thread_count(0);
    return "CPU, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  }
};

}  // namespace

std::string_view name_of(device_kind kind) {
  switch (kind) {
    case device_kind::cpu:
      return "cpu";
    case device_kind::emulator:
      return "emulator";
    case device_kind::cuda:
      return "cuda";
  }
  return "?";
}

std::uint64_t host_memory_device::cache_bytes() const {
  static const std::uint64_t bytes = largest_cache();
  return bytes;
}

std::uint64_t host_memory_device::memory_bytes() const {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void* host_memory_device::allocate(std::size_t bytes) { return allocate_aligned(bytes); }

void host_memory_device::release(void* memory, std::size_t bytes) noexcept { release_aligned(memory, bytes); }

void host_memory_device::copy(void* to, const void* from, std::size_t bytes, stream) {
  if (bytes == 0) return;  // the pointers may be null
  parallel_ranges(static_cast<std::int64_t>(bytes), parallel_copy_grain, 0,
                  [&](std::int64_t begin, std::int64_t end) {
                    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                                static_cast<std::size_t>(end - begin));
                  });
}

double host_memory_device::measure(int times, const std::function<void(stream)>& body, bool) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) body({});
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

integer_facts host_memory_device::examine(const std::int32_t* numbers, std::size_t count) {
  return facts_of(std::span(numbers, count));
}

integer_facts host_memory_device::examine(const std::int64_t* numbers, std::size_t count) {
  return facts_of(std::span(numbers, count));
}

std::shared_ptr<device> cpu_device() {
  static const auto only = std::make_shared<cpu>();
  return only;
}

}  // namespace nz
