#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace nz::gpu {

/// Neighbouring numbers that a lane loads at once.
template <class T, int N> struct alignas(N * sizeof(T)) pack { T at[N]; };

#ifdef __CUDACC__

/// Reads a number, or a pack, of 1, 2, 4, 8 or 16 bytes that the kernel needs once, without allocating in L1,
/// which is left to x. On an H200 a prototype of csr_merge took 12 % less time with it for rows of 16 at
/// random in double, and 1 % more in float. CUDA C++ has no intrinsic for it: __ldcs allocates the line, to
/// be evicted first. The compiler keeps such loads on their side of wait_for_prerequisite(), which it does
/// not with ld.global.nc.
template <class T> __device__ __forceinline__ T load_no_l1(const T* from) {
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
  if constexpr (sizeof(T) == 16) {
    pack<std::uint64_t, 2> bits;
    asm volatile("ld.global.L1::no_allocate.v2.b64 {%0, %1}, [%2];"
                 : "=l"(bits.at[0]), "=l"(bits.at[1])
                 : "l"(from));
    return std::bit_cast<T>(bits);
  } else if constexpr (sizeof(T) == 8) {
    std::uint64_t bits;
    asm volatile("ld.global.L1::no_allocate.b64 %0, [%1];" : "=l"(bits) : "l"(from));
    return std::bit_cast<T>(bits);
  } else if constexpr (sizeof(T) == 4) {
    std::uint32_t bits;
    asm volatile("ld.global.L1::no_allocate.b32 %0, [%1];" : "=r"(bits) : "l"(from));
    return std::bit_cast<T>(bits);
  } else {
    std::uint16_t bits;  // no register of PTX is smaller
    if constexpr (sizeof(T) == 2)
      asm volatile("ld.global.L1::no_allocate.u16 %0, [%1];" : "=h"(bits) : "l"(from));
    else
      asm volatile("ld.global.L1::no_allocate.u8 %0, [%1];" : "=h"(bits) : "l"(from));
    using same_size = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>;
    return std::bit_cast<T>(static_cast<same_size>(bits));
  }
}

/// Reads a number, or 16 bytes, that no thread writes in this launch, nor in an earlier one that may still
/// run. The compiler finds out by itself for a kernel's own __restrict__ parameters, but not always for what
/// is reached through them.
template <class T> __device__ __forceinline__ T load_constant(const T* from) {
  if constexpr (sizeof(T) == 16)
    return std::bit_cast<T>(__ldg(reinterpret_cast<const ulonglong2*>(from)));
  else
    return __ldg(from);
}

/// Reads what another block may have written in this launch: from L2, as L1 is not coherent.
template <class T> __device__ __forceinline__ T load_l2(const T* from) { return __ldcg(from); }

/// Reads what other threads change by atomics meanwhile.
template <class T> __device__ __forceinline__ T load_atomic(T* from) {
  return *static_cast<volatile T*>(from);
}

/// The number that begins at a byte, aligned.
template <class T> __device__ __forceinline__ T load_as(const std::uint8_t* from) {
  return *reinterpret_cast<const T*>(from);
}
template <class T> __device__ __forceinline__ void store_as(std::uint8_t* to, T value) {
  *reinterpret_cast<T*>(to) = value;
}

/// Numbers at `from`, aligned for the pack, that the kernel needs once.
template <int N, class T> __device__ __forceinline__ pack<T, N> load_pack(const T* from) {
  return load_no_l1(reinterpret_cast<const pack<T, N>*>(from));
}
template <class T, int N> __device__ __forceinline__ void store_pack(pack<T, N> numbers, T* to) {
  *reinterpret_cast<pack<T, N>*>(to) = numbers;
}

#else

template <int N, class T> pack<T, N> load_pack(const T* from) {
  pack<T, N> out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
template <class T, int N> void store_pack(pack<T, N> numbers, T* to) {
  std::memcpy(to, &numbers, sizeof numbers);
}
template <class T> T load_constant(const T* from) { return *from; }
template <class T> T load_l2(const T* from) { return *from; }
template <class T> T load_no_l1(const T* from) { return *from; }
template <class T> T load_atomic(T* from) {
  return std::atomic_ref<T>(*from).load(std::memory_order_relaxed);
}
// The host's compiler may assume that a T and the bytes of an array are different objects.
template <class T> T load_as(const std::uint8_t* from) {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
template <class T> void store_as(std::uint8_t* to, T value) { std::memcpy(to, &value, sizeof value); }

#endif

}  // namespace nz::gpu
