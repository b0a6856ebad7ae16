#include <nonzero/core/values.hpp>
#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/steps/grid_steps.cuh>

namespace nz::gpu {

#define NONZERO_INSTANTIATE(V)                                                                \
  template std::unique_ptr<grid_steps<V>> make_grid_steps<cuda_queue, V>(const cell_grid&, V, \
                                                                         const std::shared_ptr<device>&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::gpu
