#pragma once

#include <cstddef>

namespace nz::gpu {

// The types of shared memory. On the GPU these are plain CUDA. In the emulator each T is a cell that records
// when it was written, so that reading it too early is an error (gpu/emulator/shared_internal.hpp).
#ifdef __CUDACC__

/// As in `__shared__ shared<V> sum;`.
template <class T> using shared = T;

/// As in `__shared__ shared_array<V, 256> window;`, whose indices the emulator checks.
template <class T, std::size_t N> using shared_array = T[N];

/// Dynamic shared memory, whose size the launch gives, as in `auto* values = dynamic_shared<V>();`. One type
/// per kernel.
template <class T> __device__ T* dynamic_shared() {
  // Not T[]: nvcc refuses one name of several types. 16: the alignment of the largest vector loads.
  extern __shared__ __align__(16) unsigned char dynamic_shared_bytes[];
  return reinterpret_cast<T*>(dynamic_shared_bytes);
}

#endif

}  // namespace nz::gpu
