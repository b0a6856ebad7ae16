#pragma once

namespace nz {

/// Loads a number that is constant while the kernel runs. On a GPU the load goes through the read-only
/// path (ld.global.nc): the compiler chooses it by itself only for `const __restrict__` parameters, not for
/// pointers inside a struct.
template <class T> constexpr T load_read_only(const T* from) {
#ifdef __CUDA_ARCH__
  return __ldg(from);
#else
  return *from;
#endif
}

}  // namespace nz
