#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
// After the language that it is written in: sorted so by its name.
#include <nonzero/gpu/kernels.cuh>

namespace nz {

std::shared_ptr<device> emulator_device() {
  static const auto only = std::make_shared<emulated_gpu>();
  return only;
}

std::span<const kernel_row> emulator_kernels() {
  static const auto rows = join(
      {gpu::csr_rows<emulator_queue>, gpu::other_rows<emulator_queue>, gpu::sliced_rows<emulator_queue>});
  return rows;
}

}  // namespace nz
