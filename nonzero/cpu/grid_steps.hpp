#pragma once

#include <memory>

#include <nonzero/kernel/grid_steps.hpp>

namespace nz {

/// On the CPU, for the best instruction set there is.
template <class V>
std::unique_ptr<grid_steps<V>> cpu_grid_steps(const cell_grid& grid, V factor,
                                              const std::shared_ptr<device>& on);

}  // namespace nz
