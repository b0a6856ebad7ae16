#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/gpu/emulator/kernels_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>

namespace nz {

std::shared_ptr<device> emulator_device() {
  static const auto only = std::make_shared<emulated_gpu>();
  return only;
}

std::span<const kernel_row> emulator_kernels() {
  static const auto rows = join({emulator_csr_kernels(), emulator_other_kernels(), emulator_sliced_kernels(),
                                 emulator_packed_kernels()});
  return rows;
}

}  // namespace nz
