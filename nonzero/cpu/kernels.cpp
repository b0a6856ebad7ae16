#include <vector>

#include <nonzero/cpu/kernels.hpp>
#include <nonzero/cpu/kernels_internal.hpp>

namespace nz {

std::span<const kernel_row> cpu_kernels() {
  static const std::vector<kernel_row> table = {
#define NONZERO_CPU_KERNEL(name) cpu::name##_row(),
#include <nonzero/cpu/kernels.def>
#undef NONZERO_CPU_KERNEL
  };
  return table;
}

}  // namespace nz
