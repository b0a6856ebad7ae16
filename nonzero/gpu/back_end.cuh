#pragma once

#include <memory>

#include <nonzero/gpu/steps/gradient_kernels.cuh>
#include <nonzero/gpu/steps/read.cuh>
#include <nonzero/gpu/steps/vector_kernels.cuh>
#include <nonzero/gpu/survey.cuh>
#include <nonzero/kernel/back_end.hpp>

namespace nz::gpu {

/// Defined in steps/grid_steps.cuh, and instantiated in a source of its own.
template <class Queue, class V>
std::unique_ptr<grid_steps<V>> make_grid_steps(const cell_grid& grid, V factor,
                                               const std::shared_ptr<device>& on);

/// What a GPU back end has for values of type V, for one Queue. Its BLAS is ours.
template <class Queue, class V> back_end_functions<V> functions_on() {
  constexpr auto make_vectors = [](const std::shared_ptr<device>& on,
                                   std::size_t size) -> std::unique_ptr<vector_kernels<V>> {
    return std::make_unique<device_vector_kernels<V, Queue>>(on, size);
  };
  return {.surveys = surveys_on<Queue, V>,
          .make_vector_kernels = make_vectors,
          .make_blas = make_vectors,
          .make_gradient_kernels = [](const std::shared_ptr<device>& on,
                                      std::size_t size) -> std::unique_ptr<gradient_kernels<V>> {
            return std::make_unique<device_gradient_kernels<V, Queue>>(on, size);
          },
          .make_grid_steps = make_grid_steps<Queue, V>};
}

}  // namespace nz::gpu
