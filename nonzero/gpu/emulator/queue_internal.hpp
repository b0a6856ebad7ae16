#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nonzero/core/array.hpp>
#include <nonzero/core/device.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>
#include <nonzero/gpu/emulator/scratch_internal.hpp>
#include <nonzero/gpu/emulator/shared_internal.hpp>

namespace nz {

/// Tests derive devices with little memory from it.
class emulated_gpu : public host_memory_device {
 public:
  device_kind kind() const override { return device_kind::emulator; }
  std::string description() const override {
    return "GPU kernels lane by lane on the CPU, " + std::to_string(thread_count(0)) + " blocks at a time";
  }
  std::uint64_t next_order() { return ++launches_; }

 private:
  std::atomic<std::uint64_t> launches_ = 0;
};

/// The Queue of prepared_on_gpu.cuh in the emulator. There is one stream: a launch is done when it returns.
class emulator_queue {
 public:
  static constexpr device_kind kind = device_kind::emulator;
  static std::shared_ptr<device> default_device() { return emulator_device(); }
  using scratch_pool = emulator_scratch;

  emulator_queue(device& on, stream) : on_(static_cast<emulated_gpu&>(on)) {}

  /// A small GPU, so that kernels which distribute work among resident threads do so more than once.
  std::int64_t resident_threads() const { return 2048; }
  int multiprocessors() const { return 2; }
  std::size_t most_shared_bytes() const { return emulator::most_shared_bytes; }

  template <class... Params, class... Args>
  void launch(const char* name, std::int64_t blocks, int threads, void (*kernel)(Params...),
              const Args&... args) {
    launch_with_shared(name, blocks, threads, 0, kernel, args...);
  }
  template <class... Params, class... Args>
  void launch_with_shared(const char* name, std::int64_t blocks, int threads, std::size_t shared_bytes,
                          void (*kernel)(Params...), const Args&... args) {
    if (blocks == 0) return;
    emulator::launch_shape shape = emulator::line_of_blocks(name, blocks, threads);
    shape.shared_bytes = shared_bytes;
    emulator::launch(name, shape, {.threads = 0, .order = on_.next_order()}, kernel, args...);
  }

  template <class... Params, class... Args>
  void launch_dependent(const char* name, std::int64_t blocks, int threads, void (*kernel)(Params...),
                        const Args&... args) {
    launch(name, blocks, threads, kernel, args...);
  }

  template <class T> array<T> temporary(std::size_t size) { return array<T>(size); }

  template <class T> void exclusive_sum(const T* in, T* out, std::int64_t n) {
    std::exclusive_scan(in, in + n, out, T{0});
  }
  template <class K, class T>
  void sort_pairs(const K* keys_in, K* keys_out, const T* values_in, T* values_out, std::int64_t n,
                  int bits = 8 * sizeof(K)) {
    static_assert(std::is_unsigned_v<K>);
    const K mask = static_cast<K>(~K{0} >> (8 * static_cast<int>(sizeof(K)) - bits));
    std::vector<std::pair<K, T>> pairs(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) pairs[i] = {keys_in[i], values_in[i]};
    std::stable_sort(pairs.begin(), pairs.end(),
                     [&](const auto& a, const auto& b) { return (a.first & mask) < (b.first & mask); });
    for (std::int64_t i = 0; i < n; ++i) std::tie(keys_out[i], values_out[i]) = pairs[i];
  }
  template <class T> void sum(const T* in, T* out, std::int64_t n) {
    *out = std::accumulate(in, in + n, T{0});
  }
  template <class T> void largest(const T* in, T* out, std::int64_t n) {
    *out = n == 0 ? std::numeric_limits<T>::lowest() : *std::max_element(in, in + n);
  }

  template <class T> std::vector<T> read_array(const T* from, std::size_t size) {
    return {from, from + size};
  }
  template <class T> T read(const T* one) { return *one; }
  template <class T, class... Others> std::tuple<T, Others...> read(const T* one, const Others*... others) {
    return {*one, *others...};
  }

 private:
  emulated_gpu& on_;
};

}  // namespace nz
