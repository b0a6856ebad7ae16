#include <atomic>

#include <nonzero/core/threads.hpp>
#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>
// After the language that it is written in: sorted so by its name.
#include <nonzero/gpu/kernels.cuh>

namespace nz {
namespace {

/// A small card: few enough resident threads that the kernels which hand out work do so more than once.
constexpr std::int64_t resident_threads_of_emulator = 2048;
constexpr int multiprocessors_of_emulator = 2;

class emulated_gpu final : public host_memory_device {
 public:
  device_kind kind() const override { return device_kind::emulator; }
  std::string description() const override {
    return "GPU kernels lane by lane on the CPU, " + std::to_string(thread_count(0)) + " blocks at a time";
  }
  std::uint64_t next_order() { return ++launches_; }

 private:
  std::atomic<std::uint64_t> launches_ = 0;
};

/// How gpu/kernels.cuh launches here. There is but one stream: a launch is done when it returns.
class emulator_queue {
 public:
  static constexpr device_kind kind = device_kind::emulator;
  static std::shared_ptr<device> default_device() { return emulator_device(); }

  emulator_queue(device& on, stream) : on_(static_cast<emulated_gpu&>(on)) {}
  std::int64_t resident_threads() const { return resident_threads_of_emulator; }
  int multiprocessors() const { return multiprocessors_of_emulator; }
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

 private:
  emulated_gpu& on_;
};

}  // namespace

std::shared_ptr<device> emulator_device() {
  static const auto only = std::make_shared<emulated_gpu>();
  return only;
}

std::span<const kernel_row> emulator_kernels() {
  static const auto rows = join(
      {gpu::csr_rows<emulator_queue>, gpu::other_rows<emulator_queue>, gpu::sliced_rows<emulator_queue>});
  return rows;
}

}  // namespace nz
