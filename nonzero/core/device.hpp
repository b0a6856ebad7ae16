#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace nz {

/// A queue of work on a device: work of one stream runs in order, streams may run concurrently. The default
/// is the device's default stream. Owns nothing; for CUDA the handle is a cudaStream_t.
struct stream {
  void* handle = nullptr;
};

enum class device_kind { cpu, emulator, cuda };

/// "cpu", "emulator", "cuda".
std::string_view name_of(device_kind kind);

/// What validation asks of row offsets and columns.
struct integer_facts {
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  std::int64_t largest = std::numeric_limits<std::int64_t>::min();
  bool is_ascending = true;  // none is less than the one before
};

/// Where vectors live and kernels run. Vectors and matrices share the ownership of their device.
class device {
 public:
  virtual ~device() = default;
  device() = default;
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  virtual device_kind kind() const = 0;
  /// For people: "NVIDIA H200, 132 multiprocessors".
  virtual std::string description() const = 0;
  /// The size of the largest cache; 0 if unknown.
  virtual std::uint64_t cache_bytes() const = 0;
  virtual std::uint64_t memory_bytes() const = 0;
  /// Whether its memory is host memory, so that host spans need no staging.
  bool is_host() const { return kind() != device_kind::cuda; }

  /// Uninitialised memory. Throws `device_error` (std::bad_alloc on the host) if there is not enough.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory, std::size_t bytes) noexcept = 0;
  /// Between any two of this device's memory and the host's, in stream order. Asynchronous: call
  /// synchronize() before host memory is used again.
  virtual void copy(void* to, const void* from, std::size_t bytes, stream in) = 0;
  /// Waits for all work of the stream. Throws `device_error` if any of it failed.
  virtual void synchronize(stream in) = 0;
  /// The seconds that `times` calls of body take together, by the device's clock. Replayed: a GPU captures
  /// some calls in a graph and replays it if it can, without the host's launch time; body must do the same
  /// every time.
  virtual double measure(int times, const std::function<void(stream)>& body, bool replayed = false) = 0;
  /// Of integers in its memory.
  virtual integer_facts examine(const std::int32_t* numbers, std::size_t count) = 0;
  virtual integer_facts examine(const std::int64_t* numbers, std::size_t count) = 0;
};

/// The machine this runs on.
std::shared_ptr<device> cpu_device();

/// The base of devices in host memory: the CPU and the emulator.
class host_memory_device : public device {
 public:
  std::uint64_t cache_bytes() const override;
  std::uint64_t memory_bytes() const override;
  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) noexcept override;
  void copy(void* to, const void* from, std::size_t bytes, stream in) override;
  void synchronize(stream) override {}
  double measure(int times, const std::function<void(stream)>& body, bool replayed) override;
  integer_facts examine(const std::int32_t* numbers, std::size_t count) override;
  integer_facts examine(const std::int64_t* numbers, std::size_t count) override;
};

}  // namespace nz
