#include <nonzero/cpu/vector_kernels.hpp>
#include <nonzero/gpu/cuda/device.hpp>
#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/plan/vector_kernels.hpp>

namespace nz {

template <class V>
std::unique_ptr<vector_kernels<V>> make_vector_kernels(const std::shared_ptr<device>& on, std::size_t size) {
  if (on->kind() == device_kind::cuda) return cuda_vector_kernels<V>(on, size);
  if (on->kind() == device_kind::emulator) return emulator_vector_kernels<V>(size);
  return cpu_vector_kernels<V>(size);
}

template <class V>
std::unique_ptr<vector_kernels<V>> make_blas(const std::shared_ptr<device>& on, std::size_t size) {
  if (on->kind() == device_kind::cuda) return cublas_vector_kernels<V>(on, size);
  return make_vector_kernels<V>(on, size);
}

template <class V>
std::unique_ptr<gradient_kernels<V>> make_gradient_kernels(const std::shared_ptr<device>& on,
                                                           std::size_t size) {
  if (on->kind() == device_kind::cuda) return cuda_gradient_kernels<V>(on, size);
  if (on->kind() == device_kind::emulator) return emulator_gradient_kernels<V>(size);
  return cpu_gradient_kernels<V>(size);
}

template std::unique_ptr<vector_kernels<float>> make_vector_kernels(const std::shared_ptr<device>&,
                                                                    std::size_t);
template std::unique_ptr<vector_kernels<double>> make_vector_kernels(const std::shared_ptr<device>&,
                                                                     std::size_t);
template std::unique_ptr<vector_kernels<float>> make_blas(const std::shared_ptr<device>&, std::size_t);
template std::unique_ptr<vector_kernels<double>> make_blas(const std::shared_ptr<device>&, std::size_t);
template std::unique_ptr<gradient_kernels<float>> make_gradient_kernels(const std::shared_ptr<device>&,
                                                                        std::size_t);
template std::unique_ptr<gradient_kernels<double>> make_gradient_kernels(const std::shared_ptr<device>&,
                                                                         std::size_t);

}  // namespace nz
