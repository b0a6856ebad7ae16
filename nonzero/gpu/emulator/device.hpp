#pragma once

#include <memory>
#include <span>

#include <nonzero/core/device.hpp>
#include <nonzero/kernel/back_end.hpp>

namespace nz {

/// An emulated GPU: the GPU kernels run on the CPU, lane by lane. Blocks and warps are taken in another order
/// at every launch, so that a kernel which depends on their order is detected.
///
/// Thread safety: any number of threads may launch at once. One launch has the threads that run blocks;
/// others run theirs where they were made, and wait while the lanes of all of them would take too many
/// stacks.
std::shared_ptr<device> emulator_device();

std::span<const kernel_row> emulator_kernels();

const back_end& emulator_back_end();

}  // namespace nz
