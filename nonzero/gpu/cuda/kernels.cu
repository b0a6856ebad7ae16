#include <nonzero/gpu/cuda/device.hpp>
#include <nonzero/gpu/cuda/kernels_internal.hpp>

namespace nz {

std::span<const kernel_row> cuda_kernels() {
  static const std::vector<kernel_row> rows = [] {
    std::vector<kernel_row> all;
    for (const auto part : {cuda_csr_kernels(), cuda_other_kernels(), cusparse_kernels()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace nz
