#pragma once

#include <memory>

#include <nonzero/kernel/grid_steps.hpp>

namespace nz {

/// Steps q += factor * (A q) on a grid, on a device: the CPU, a card or the emulator.
template <class V>
std::unique_ptr<grid_steps<V>> make_grid_steps(const cell_grid& grid, V factor,
                                               const std::shared_ptr<device>& on);

}  // namespace nz
