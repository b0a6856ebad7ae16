#include <nonzero/cpu/grid_steps.hpp>
#include <nonzero/gpu/cuda/device.hpp>
#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/plan/grid_steps.hpp>

namespace nz {

template <class V>
std::unique_ptr<grid_steps<V>> make_grid_steps(const cell_grid& grid, V factor,
                                               const std::shared_ptr<device>& on) {
  switch (on->kind()) {
    case device_kind::cuda:
      return cuda_grid_steps<V>(grid, factor, on);
    case device_kind::emulator:
      return emulator_grid_steps<V>(grid, factor, on);
    case device_kind::cpu:
      break;
  }
  return cpu_grid_steps<V>(grid, factor, on);
}

template std::unique_ptr<grid_steps<float>> make_grid_steps(const cell_grid&, float,
                                                            const std::shared_ptr<device>&);
template std::unique_ptr<grid_steps<double>> make_grid_steps(const cell_grid&, double,
                                                             const std::shared_ptr<device>&);

}  // namespace nz
