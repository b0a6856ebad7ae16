#include <vector>

#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
// After the language that it is written in.
#include <nonzero/gpu/back_end.cuh>

namespace nz {

#define NONZERO_GPU_KERNEL(name) kernel_row emulated_##name##_row();
#include <nonzero/gpu/kernels.def>
#undef NONZERO_GPU_KERNEL

std::shared_ptr<device> emulator_device() {
  static const auto only = std::make_shared<emulated_gpu>();
  return only;
}

std::span<const kernel_row> emulator_kernels() {
  static const std::vector<kernel_row> rows = {
#define NONZERO_GPU_KERNEL(name) emulated_##name##_row(),
#include <nonzero/gpu/kernels.def>
#undef NONZERO_GPU_KERNEL
  };
  return rows;
}

const back_end& emulator_back_end() {
#define NONZERO_FUNCTIONS(V) gpu::functions_on<emulator_queue, V>(),
  static const back_end only{.kind = device_kind::emulator,
                             .kernels = emulator_kernels,
                             .device_count = [] { return 1; },
                             .find_device = [](int) { return emulator_device(); },
                             .read = gpu::read<emulator_queue>,
                             .functions = {{}, NONZERO_FOR_EACH_VALUE(NONZERO_FUNCTIONS)}};
#undef NONZERO_FUNCTIONS
  return only;
}

}  // namespace nz
