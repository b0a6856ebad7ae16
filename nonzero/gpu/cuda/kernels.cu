#include <nonzero/gpu/cuda/device.hpp>
#include <nonzero/gpu/cuda/kernels_internal.hpp>

namespace nz {

std::span<const kernel_row> cuda_kernels() {
  static const auto rows = join({cuda_csr_kernels(), cuda_other_kernels(), cuda_sliced_kernels(),
                                 cuda_packed_kernels(), cusparse_kernels()});
  return rows;
}

}  // namespace nz
