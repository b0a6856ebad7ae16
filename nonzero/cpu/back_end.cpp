#include <nonzero/cpu/back_end_internal.hpp>
#include <nonzero/cpu/kernels.hpp>
#include <nonzero/cpu/kernels_internal.hpp>

namespace nz {

std::span<const kernel_row> cpu_kernels() {
  static const kernel_row table[] = {
#define NONZERO_CPU_KERNEL(name) cpu::name##_row(),
#include <nonzero/cpu/kernels.def>
#undef NONZERO_CPU_KERNEL
  };
  return table;
}

const back_end& cpu_back_end() {
#define NONZERO_FUNCTIONS(V)                                                    \
  back_end_functions<V>{.make_vector_kernels = cpu::make_vector_kernels<V>,     \
                        .make_blas = cpu::make_vector_kernels<V>,               \
                        .make_gradient_kernels = cpu::make_gradient_kernels<V>, \
                        .make_grid_steps = cpu::make_grid_steps<V>},
  static const back_end only{.kind = device_kind::cpu,
                             .kernels = cpu_kernels,
                             .device_count = [] { return 1; },
                             .find_device = [](int) { return cpu_device(); },
                             .functions = {{}, NONZERO_FOR_EACH_VALUE(NONZERO_FUNCTIONS)}};
#undef NONZERO_FUNCTIONS
  return only;
}

}  // namespace nz
