#pragma once

#include <span>

#include <nonzero/kernel/kernel_row.hpp>

// The parts of emulator_kernels(), a source each so that they compile side by side.
namespace nz {

std::span<const kernel_row> emulator_csr_kernels();
std::span<const kernel_row> emulator_other_kernels();
std::span<const kernel_row> emulator_packed_kernels();
std::span<const kernel_row> emulator_sliced_kernels();

}  // namespace nz
