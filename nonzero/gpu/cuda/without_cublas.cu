#include <nonzero/gpu/cuda/device.hpp>

// What there is of cuBLAS where its header is missing.
namespace nz {

template <class V>
std::unique_ptr<vector_kernels<V>> cublas_vector_kernels(const std::shared_ptr<device>&, std::size_t) {
  throw unsupported("this nonzero was built without cuBLAS's header; install it with the CUDA toolkit");
}

template std::unique_ptr<vector_kernels<float>> cublas_vector_kernels(const std::shared_ptr<device>&,
                                                                      std::size_t);
template std::unique_ptr<vector_kernels<double>> cublas_vector_kernels(const std::shared_ptr<device>&,
                                                                       std::size_t);

}  // namespace nz
