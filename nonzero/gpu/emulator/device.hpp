#pragma once

#include <memory>
#include <span>

#include <nonzero/core/device.hpp>
#include <nonzero/kernel/gradient_kernels.hpp>
#include <nonzero/kernel/grid_steps.hpp>
#include <nonzero/kernel/kernel_row.hpp>
#include <nonzero/kernel/prediction.hpp>
#include <nonzero/kernel/vector_kernels.hpp>

namespace nz {

/// A GPU that is not there: the GPU kernels run on it lane by lane, on the CPU. Blocks and warps are taken in
/// another order at every launch, so that a kernel which counts on an order is found out.
std::shared_ptr<device> emulator_device();

std::span<const kernel_row> emulator_kernels();
template <class V> device_surveys<V> emulator_surveys();

template <class V>
std::unique_ptr<grid_steps<V>> emulator_grid_steps(const cell_grid& grid, V factor,
                                                   const std::shared_ptr<device>& on);

/// For vectors of `size`.
template <class V> std::unique_ptr<vector_kernels<V>> emulator_vector_kernels(std::size_t size);
template <class V> std::unique_ptr<gradient_kernels<V>> emulator_gradient_kernels(std::size_t size);

}  // namespace nz
