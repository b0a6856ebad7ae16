#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

// What "loses nothing" means: the bits come back, of NaN and of -0 too.
namespace nz {

template <class V> using bits_of = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;

template <class V> bool have_same_bits(V a, V b) {
  return std::bit_cast<bits_of<V>>(a) == std::bit_cast<bits_of<V>>(b);
}

/// Whether single precision holds the value.
template <class V> bool is_exactly_single(V value) {
  return have_same_bits(static_cast<V>(static_cast<float>(value)), value);
}

}  // namespace nz
