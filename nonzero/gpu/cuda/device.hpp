#pragma once

#include <span>
#include <vector>

#include <nonzero/core/device.hpp>
#include <nonzero/kernel/back_end.hpp>

namespace nz {

/// An NVIDIA GPU, as its driver describes it.
struct cuda_properties {
  std::string name;
  std::uint64_t memory_bytes = 0;
  std::uint64_t cache_bytes = 0;             // the L2
  int compute_major = 0, compute_minor = 0;  // the compute capability, e.g. 9.0
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;  // that can be resident at once
  std::size_t shared_bytes = 0;        // that a block may have, if its kernel asks for them
  bool can_overlap_launches = false;   // with compute capability 9 and CUDA 12.3, if it is built for both
};

/// The GPUs that CUDA sees, in its order: place i is device i. Empty where there is no GPU, no driver (or
/// one older than the CUDA this was built with), or where the library was built without CUDA. Throws
/// `device_error` with CUDA's reason when there is a driver but it fails.
std::vector<cuda_properties> cuda_devices();

/// GPU `number`; the same object whenever it is asked for. Throws `device_error` where there is no such GPU,
/// or `unsupported` where the library was built without CUDA.
std::shared_ptr<device> cuda_device(int number = 0);

/// A new stream on a CUDA device, which does not wait for the default stream.
///
/// Thread safety: several threads may multiply in one stream, or in one each, by the same prepared matrix.
/// What each multiply works in is its own: a few sets are reserved with the matrix, and a multiply in a
/// stream that finds none left allocates one more, and may wait for the driver; a capture that finds none
/// left does so too, outside of the graph. A graph keeps its set until it is destroyed, with all that was
/// instantiated from it; two that were instantiated from one graph share it.
class cuda_stream {
 public:
  explicit cuda_stream(std::shared_ptr<device> on);
  cuda_stream(const cuda_stream&) = delete;
  cuda_stream& operator=(const cuda_stream&) = delete;
  ~cuda_stream();

  operator stream() const { return {handle_}; }  // NOLINT: it is one
  void synchronize() const { on_->synchronize(*this); }

 private:
  std::shared_ptr<device> on_;
  void* handle_ = nullptr;  // a cudaStream_t
};

/// The kernels that run on an NVIDIA GPU, cuSPARSE's beside ours; none where the library was built without
/// CUDA.
std::span<const kernel_row> cuda_kernels();

/// Null where the library was built without CUDA.
const back_end* cuda_back_end();

}  // namespace nz
