#include <utility>

#include <nonzero/gpu/cuda/device.hpp>

// What a build without CUDA says of it.
namespace nz {
namespace {

[[noreturn]] void refuse() {
  throw unsupported(
      "this nonzero was built without CUDA: install the CUDA toolkit, so that CMake finds nvcc, and build "
      "again");
}

}  // namespace

std::vector<cuda_properties> cuda_devices() { return {}; }
std::shared_ptr<device> cuda_device(int) { refuse(); }
std::span<const kernel_row> cuda_kernels() { return {}; }
template <class V> device_surveys<V> cuda_surveys() { refuse(); }
template device_surveys<float> cuda_surveys();
template device_surveys<double> cuda_surveys();
template <class V>
std::unique_ptr<grid_steps<V>> cuda_grid_steps(const cell_grid&, V, const std::shared_ptr<device>&) {
  refuse();
}
template std::unique_ptr<grid_steps<float>> cuda_grid_steps(const cell_grid&, float,
                                                            const std::shared_ptr<device>&);
template std::unique_ptr<grid_steps<double>> cuda_grid_steps(const cell_grid&, double,
                                                             const std::shared_ptr<device>&);
template <class V>
std::unique_ptr<vector_kernels<V>> cuda_vector_kernels(const std::shared_ptr<device>&, std::size_t) {
  refuse();
}
template <class V>
std::unique_ptr<vector_kernels<V>> cublas_vector_kernels(const std::shared_ptr<device>&, std::size_t) {
  refuse();
}
template <class V>
std::unique_ptr<gradient_kernels<V>> cuda_gradient_kernels(const std::shared_ptr<device>&, std::size_t) {
  refuse();
}
template std::unique_ptr<vector_kernels<float>> cuda_vector_kernels(const std::shared_ptr<device>&,
                                                                    std::size_t);
template std::unique_ptr<vector_kernels<double>> cuda_vector_kernels(const std::shared_ptr<device>&,
                                                                     std::size_t);
template std::unique_ptr<vector_kernels<float>> cublas_vector_kernels(const std::shared_ptr<device>&,
                                                                      std::size_t);
template std::unique_ptr<vector_kernels<double>> cublas_vector_kernels(const std::shared_ptr<device>&,
                                                                       std::size_t);
template std::unique_ptr<gradient_kernels<float>> cuda_gradient_kernels(const std::shared_ptr<device>&,
                                                                        std::size_t);
template std::unique_ptr<gradient_kernels<double>> cuda_gradient_kernels(const std::shared_ptr<device>&,
                                                                         std::size_t);
cuda_stream::cuda_stream(std::shared_ptr<device> on) : on_(std::move(on)) { refuse(); }
cuda_stream::~cuda_stream() = default;

}  // namespace nz
