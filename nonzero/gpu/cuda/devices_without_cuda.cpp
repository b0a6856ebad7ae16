#include <nonzero/gpu/cuda/devices.hpp>

namespace nz {

std::vector<cuda_device> cuda_devices() { return {}; }

}  // namespace nz
