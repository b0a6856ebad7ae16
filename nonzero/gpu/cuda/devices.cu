#include <cuda_runtime.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/gpu/cuda/devices.hpp>

namespace nz {
namespace {

void require_success(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // reported here, so no later call must find it
  throw device_error(std::string("CUDA: ") + doing + ": " + cudaGetErrorString(status));
}

}  // namespace

std::vector<cuda_device> cuda_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
    cudaGetLastError();  // having no card is no error, and no later call must find one
    return {};
  }
  require_success(status, "counting the devices");

  std::vector<cuda_device> devices;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp found{};
    require_success(cudaGetDeviceProperties(&found, i), "asking what a device is");
    devices.push_back(
        {found.name, found.totalGlobalMem, found.major, found.minor, found.multiProcessorCount});
  }
  return devices;
}

}  // namespace nz
