#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/kernels/gradient_kernels.cuh>
#include <nonzero/gpu/kernels/vector_kernels.cuh>

namespace nz {

template <class V>
std::unique_ptr<vector_kernels<V>> cuda_vector_kernels(const std::shared_ptr<device>& on, std::size_t size) {
  return std::make_unique<gpu::device_vector_kernels<V, cuda_queue>>(on, size);
}
template <class V>
std::unique_ptr<gradient_kernels<V>> cuda_gradient_kernels(const std::shared_ptr<device>& on,
                                                           std::size_t size) {
  return std::make_unique<gpu::device_gradient_kernels<V, cuda_queue>>(on, size);
}

template std::unique_ptr<vector_kernels<float>> cuda_vector_kernels(const std::shared_ptr<device>&,
                                                                    std::size_t);
template std::unique_ptr<vector_kernels<double>> cuda_vector_kernels(const std::shared_ptr<device>&,
                                                                     std::size_t);
template std::unique_ptr<gradient_kernels<float>> cuda_gradient_kernels(const std::shared_ptr<device>&,
                                                                        std::size_t);
template std::unique_ptr<gradient_kernels<double>> cuda_gradient_kernels(const std::shared_ptr<device>&,
                                                                         std::size_t);

}  // namespace nz
