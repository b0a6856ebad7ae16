#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/cuda/kernels_internal.hpp>
#include <nonzero/gpu/kernels.cuh>

namespace nz {

std::span<const kernel_row> cuda_sliced_kernels() { return gpu::sliced_rows<cuda_queue>; }

}  // namespace nz
