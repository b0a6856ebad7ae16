#include <nonzero/core/values.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
// After the language that it is written in.
#include <nonzero/gpu/steps/grid_steps.cuh>

namespace nz::gpu {

#define NONZERO_INSTANTIATE(V)                                                \
  template std::unique_ptr<grid_steps<V>> make_grid_steps<emulator_queue, V>( \
      const cell_grid&, V, const std::shared_ptr<device>&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::gpu
