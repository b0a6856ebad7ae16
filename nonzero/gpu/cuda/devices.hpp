#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nz {

/// An NVIDIA GPU, as its driver describes it.
struct cuda_device {
  std::string name;
  std::uint64_t memory_bytes = 0;
  int compute_major = 0, compute_minor = 0;  // the compute capability, e.g. 9.0
  int multiprocessors = 0;
};

/// The GPUs that CUDA sees, in its order: place i is device i. Empty where there is no card, no driver (or
/// one older than the CUDA this was built with), or where the library was built without CUDA. Throws
/// `device_error` with CUDA's reason when there is a driver but it fails.
std::vector<cuda_device> cuda_devices();

}  // namespace nz
