#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/cuda/kernels_internal.hpp>
#include <nonzero/gpu/kernels.cuh>

namespace nz {

std::span<const kernel_row> cuda_packed_kernels() { return gpu::packed_rows<cuda_queue>; }

}  // namespace nz
