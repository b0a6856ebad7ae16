#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

// What conversions that lose nothing ask of values: as formats/exact_internal.hpp on the host.
namespace nz::gpu {

template <class V> __device__ inline unsigned long long bits_of_value(V value) {
  return std::bit_cast<std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>>(value);
}

/// The float of a value that single precision holds exactly, and whether it does. NaN by its bits: a card
/// converts every NaN to the same one.
template <class V> __device__ inline float to_single(V value, bool& is_exact) {
  if constexpr (sizeof(V) == sizeof(float)) {
    is_exact = true;
    return value;
  } else {
    const std::uint64_t bits = bits_of_value(value), quiet = std::uint64_t{1} << 51, lost = (1U << 29) - 1;
    if (value != value) {
      is_exact = (bits & quiet) != 0 && (bits & lost) == 0;
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 63 << 31) | 0x7f800000U |
                                  (static_cast<std::uint32_t>(bits >> 29) & 0x7fffffU));
    }
    const auto single = static_cast<float>(value);
    is_exact = bits_of_value(static_cast<V>(single)) == bits;
    return single;
  }
}

}  // namespace nz::gpu
