#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/kernels/grid_steps.cuh>

namespace nz {

template <class V>
std::unique_ptr<grid_steps<V>> cuda_grid_steps(const cell_grid& grid, V factor,
                                               const std::shared_ptr<device>& on) {
  return gpu::make_grid_steps<cuda_queue, V>(grid, factor, on);
}

template std::unique_ptr<grid_steps<float>> cuda_grid_steps(const cell_grid&, float,
                                                            const std::shared_ptr<device>&);
template std::unique_ptr<grid_steps<double>> cuda_grid_steps(const cell_grid&, double,
                                                             const std::shared_ptr<device>&);

}  // namespace nz
