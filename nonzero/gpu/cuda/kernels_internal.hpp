#pragma once

#include <span>

#include <nonzero/kernel/kernel_row.hpp>

// The parts of cuda_kernels(), a source each so that they compile side by side.
namespace nz {

std::span<const kernel_row> cuda_csr_kernels();
std::span<const kernel_row> cuda_other_kernels();
std::span<const kernel_row> cuda_packed_kernels();
std::span<const kernel_row> cuda_sliced_kernels();
std::span<const kernel_row> cusparse_kernels();

}  // namespace nz
