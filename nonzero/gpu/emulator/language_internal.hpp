#pragma once

// What nvcc supplies and the host compiler lacks. Included before any .cuh file by sources that emulate it.

#include <atomic>
#include <bit>

#include <nonzero/gpu/emulator/atomics_internal.hpp>
#include <nonzero/gpu/emulator/grid_internal.hpp>
#include <nonzero/gpu/emulator/shared_internal.hpp>
#include <nonzero/gpu/emulator/warp_internal.hpp>

// static: in a build with CUDA, nvcc makes a host function of the same name for each kernel, and the linker
// would use one of the two for both.
#define __global__ [[maybe_unused]] static
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
// A block runs on one OS thread from its first lane to its last.
#define __shared__ static thread_local

inline void __syncthreads(nz::emulator::site at = nz::emulator::site::here()) {
  nz::emulator::wait_for_block(at);
}

/// What a block wrote before its fence, another sees after a later fence. By an addition that both make, as
/// ThreadSanitizer does not see C++'s fences.
inline void __threadfence() {
  static std::atomic<unsigned> fences = 0;
  fences.fetch_add(1, std::memory_order_acq_rel);
}

template <class T> T __ldg(const T* address) { return *address; }

inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
/// The place of the lowest bit set, counted from 1; 0 if none is.
inline int __ffs(int bits) { return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1; }
