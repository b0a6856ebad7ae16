#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
// After the language that they are written in: sorted so by their names.
#include <nonzero/gpu/kernels/gradient_kernels.cuh>
#include <nonzero/gpu/kernels/vector_kernels.cuh>

namespace nz {

template <class V> std::unique_ptr<vector_kernels<V>> emulator_vector_kernels(std::size_t size) {
  return std::make_unique<gpu::device_vector_kernels<V, emulator_queue>>(emulator_device(), size);
}
template <class V> std::unique_ptr<gradient_kernels<V>> emulator_gradient_kernels(std::size_t size) {
  return std::make_unique<gpu::device_gradient_kernels<V, emulator_queue>>(emulator_device(), size);
}

template std::unique_ptr<vector_kernels<float>> emulator_vector_kernels(std::size_t);
template std::unique_ptr<vector_kernels<double>> emulator_vector_kernels(std::size_t);
template std::unique_ptr<gradient_kernels<float>> emulator_gradient_kernels(std::size_t);
template std::unique_ptr<gradient_kernels<double>> emulator_gradient_kernels(std::size_t);

}  // namespace nz
