#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace nz {

/// A queue of work on a device: what is in one stream runs in order, and streams may run side by side. The
/// default is the device's own default stream. Owns nothing; for CUDA the handle is a cudaStream_t.
struct stream {
  void* handle = nullptr;
};

enum class device_kind { cpu, emulator, cuda };

/// "cpu", "emulator", "cuda".
std::string_view name_of(device_kind kind);

/// Where vectors live and kernels run. Held by shared_ptr: what lives on a device keeps it.
class device {
 public:
  virtual ~device() = default;
  device() = default;
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  virtual device_kind kind() const = 0;
  /// For people: "NVIDIA H200, 132 multiprocessors".
  virtual std::string description() const = 0;
  /// The largest cache: what fits in it is not read from memory again. 0 where unknown.
  virtual std::uint64_t cache_bytes() const = 0;
  virtual std::uint64_t memory_bytes() const = 0;
  /// Whether its memory is the host's, so that spans need no staging.
  bool is_host() const { return kind() != device_kind::cuda; }

  /// Uninitialised memory there. Throws `device_error` (std::bad_alloc on the host) when it is out of it.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory, std::size_t bytes) noexcept = 0;
  /// Between any two of this device's memory and the host's, after what is in the stream already. Reading
  /// from or writing to the host's memory may still be under way when this returns: synchronize().
  virtual void copy(void* to, const void* from, std::size_t bytes, stream in) = 0;
  /// Waits until all work of the stream is done. Throws `device_error` if any of it failed.
  virtual void synchronize(stream in) = 0;
  /// The seconds that `times` calls of body take together, by the device's own clock. Replayed: a card
  /// records some calls and repeats them, where it can, so that what the host takes to launch does not count;
  /// body must do the same every time.
  virtual double measure(int times, const std::function<void(stream)>& body, bool replayed = false) = 0;
};

/// The machine this runs on.
std::shared_ptr<device> cpu_device();

/// Host memory as a device has it: what the CPU and the emulator share.
class host_memory_device : public device {
 public:
  std::uint64_t cache_bytes() const override;
  std::uint64_t memory_bytes() const override;
  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) noexcept override;
  void copy(void* to, const void* from, std::size_t bytes, stream in) override;
  void synchronize(stream) override {}
  double measure(int times, const std::function<void(stream)>& body, bool replayed) override;
};

}  // namespace nz
