#include <utility>

#include <nonzero/core/errors.hpp>
#include <nonzero/gpu/cuda/device.hpp>

// The public functions of a build without CUDA.
namespace nz {
namespace {

[[noreturn]] void refuse() {
  throw unsupported(
      "this nonzero was built without CUDA: install the CUDA toolkit, so that CMake finds nvcc, and build "
      "again");
}

}  // namespace

std::vector<cuda_properties> cuda_devices() { return {}; }
std::shared_ptr<device> cuda_device(int) { refuse(); }
std::span<const kernel_row> cuda_kernels() { return {}; }
const back_end* cuda_back_end() { return nullptr; }
cuda_stream::cuda_stream(std::shared_ptr<device> on) : on_(std::move(on)) { refuse(); }
cuda_stream::~cuda_stream() = default;

}  // namespace nz
