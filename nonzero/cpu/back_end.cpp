#include <nonzero/core/errors.hpp>
#include <nonzero/cpu/grid_steps.hpp>
#include <nonzero/cpu/kernels.hpp>
#include <nonzero/cpu/vector_kernels.hpp>
#include <nonzero/kernel/back_end.hpp>

namespace nz {
namespace {

template <class V> back_end_functions<V> functions_on_cpu() {
  constexpr auto make_vectors = [](const std::shared_ptr<device>&, std::size_t size) {
    return cpu_vector_kernels<V>(size);
  };
  return {.make_vector_kernels = make_vectors,
          .make_blas = make_vectors,
          .make_gradient_kernels = [](const std::shared_ptr<device>&,
                                      std::size_t size) { return cpu_gradient_kernels<V>(size); },
          .make_grid_steps = cpu_grid_steps<V>};
}

}  // namespace

const back_end& cpu_back_end() {
#define NONZERO_FUNCTIONS(V) functions_on_cpu<V>(),
  static const back_end only{.kind = device_kind::cpu,
                             .kernels = cpu_kernels,
                             .device_count = [] { return 1; },
                             .find_device = [](int) { return cpu_device(); },
                             .functions = {{}, NONZERO_FOR_EACH_VALUE(NONZERO_FUNCTIONS)}};
#undef NONZERO_FUNCTIONS
  return only;
}

}  // namespace nz
