#pragma once

namespace nz {

/// Loads a number that is constant while the kernel runs: on a GPU by ld.global.nc, which the compiler
/// chooses by itself only for `const __restrict__` parameters. Not for float: beside columns of the same size
/// a second __ldg costs 8 registers in loops over rows (nvcc 13.0); plain loads are cached in L1 as well.
template <class T> constexpr T load_read_only(const T* from) {
#ifdef __CUDA_ARCH__
  return sizeof(T) == sizeof(float) && T(0.5F) != T(0) ? *from : __ldg(from);
#else
  return *from;
#endif
}

}  // namespace nz
