#pragma once

#include <memory>

#include <nonzero/kernel/gradient_kernels.hpp>
#include <nonzero/kernel/vector_kernels.hpp>

namespace nz {

/// For vectors of `size` on the CPU. Results have the same bits for any number of threads.
template <class V> std::unique_ptr<vector_kernels<V>> cpu_vector_kernels(std::size_t size);
template <class V> std::unique_ptr<gradient_kernels<V>> cpu_gradient_kernels(std::size_t size);

}  // namespace nz
