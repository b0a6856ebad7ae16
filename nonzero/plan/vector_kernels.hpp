#pragma once

#include <memory>

#include <nonzero/kernel/gradient_kernels.hpp>
#include <nonzero/kernel/vector_kernels.hpp>

namespace nz {

/// Our kernels for vectors of `size` on a device.
template <class V>
std::unique_ptr<vector_kernels<V>> make_vector_kernels(const std::shared_ptr<device>& on, std::size_t size);

/// What a program without ours would call: cuBLAS on a card, `unsupported` where that is not found. Elsewhere
/// ours.
template <class V>
std::unique_ptr<vector_kernels<V>> make_blas(const std::shared_ptr<device>& on, std::size_t size);

template <class V>
std::unique_ptr<gradient_kernels<V>> make_gradient_kernels(const std::shared_ptr<device>& on,
                                                           std::size_t size);

}  // namespace nz
