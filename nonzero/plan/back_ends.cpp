#include <string>
#include <vector>

#include <nonzero/core/errors.hpp>
#include <nonzero/cpu/kernels.hpp>
#include <nonzero/gpu/cuda/device.hpp>
#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/plan/back_ends.hpp>
#include <nonzero/plan/grid_steps.hpp>
#include <nonzero/plan/vector_kernels.hpp>

namespace nz {

std::span<const back_end* const> back_ends() {
  static const std::vector<const back_end*> all = [] {
    std::vector<const back_end*> found{&cpu_back_end()};
    if (const back_end* cuda = cuda_back_end()) found.push_back(cuda);
    found.push_back(&emulator_back_end());
    return found;
  }();
  return all;
}

const back_end& back_end_for(device_kind kind) {
  for (const back_end* each : back_ends())
    if (each->kind == kind) return *each;
  throw unsupported(
      "this nonzero was built without CUDA: install the CUDA toolkit, so that CMake finds nvcc, and build "
      "again");
}

template <class V>
std::unique_ptr<vector_kernels<V>> make_vector_kernels(const std::shared_ptr<device>& on, std::size_t size) {
  return back_end_for(on->kind()).functions_for<V>().make_vector_kernels(on, size);
}
template <class V>
std::unique_ptr<vector_kernels<V>> make_blas(const std::shared_ptr<device>& on, std::size_t size) {
  return back_end_for(on->kind()).functions_for<V>().make_blas(on, size);
}
template <class V>
std::unique_ptr<gradient_kernels<V>> make_gradient_kernels(const std::shared_ptr<device>& on,
                                                           std::size_t size) {
  return back_end_for(on->kind()).functions_for<V>().make_gradient_kernels(on, size);
}
template <class V>
std::unique_ptr<grid_steps<V>> make_grid_steps(const cell_grid& grid, V factor,
                                               const std::shared_ptr<device>& on) {
  return back_end_for(on->kind()).functions_for<V>().make_grid_steps(grid, factor, on);
}

#define NONZERO_INSTANTIATE(V)                                                                        \
  template std::unique_ptr<vector_kernels<V>> make_vector_kernels(const std::shared_ptr<device>&,     \
                                                                  std::size_t);                       \
  template std::unique_ptr<vector_kernels<V>> make_blas(const std::shared_ptr<device>&, std::size_t); \
  template std::unique_ptr<gradient_kernels<V>> make_gradient_kernels(const std::shared_ptr<device>&, \
                                                                      std::size_t);                   \
  template std::unique_ptr<grid_steps<V>> make_grid_steps(const cell_grid&, V,                        \
                                                          const std::shared_ptr<device>&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
