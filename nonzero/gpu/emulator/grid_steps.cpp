#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
// After the language that it is written in: sorted so by its name.
#include <nonzero/gpu/kernels/grid_steps.cuh>

namespace nz {

template <class V>
std::unique_ptr<grid_steps<V>> emulator_grid_steps(const cell_grid& grid, V factor,
                                                   const std::shared_ptr<device>& on) {
  return gpu::make_grid_steps<emulator_queue, V>(grid, factor, on);
}

template std::unique_ptr<grid_steps<float>> emulator_grid_steps(const cell_grid&, float,
                                                                const std::shared_ptr<device>&);
template std::unique_ptr<grid_steps<double>> emulator_grid_steps(const cell_grid&, double,
                                                                 const std::shared_ptr<device>&);

}  // namespace nz
