#include <nonzero/gpu/emulator/kernels_internal.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
// After the language that it is written in: sorted so by its name.
#include <nonzero/gpu/kernels.cuh>

namespace nz {

std::span<const kernel_row> emulator_csr_kernels() { return gpu::csr_rows<emulator_queue>; }

}  // namespace nz
