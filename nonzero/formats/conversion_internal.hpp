#pragma once

#include <algorithm>
#include <bit>

#include <nonzero/formats/csr.hpp>

// What lossless conversions need.
namespace nz {

/// Lossless conversions compare bits: NaN and -0 come back as they were.
template <class V> bool have_same_bits(V a, V b) {
  return std::bit_cast<bits_of<V>>(a) == std::bit_cast<bits_of<V>>(b);
}

/// Whether single precision holds the value.
template <class V> bool is_exactly_single(V value) {
  return have_same_bits(static_cast<V>(static_cast<float>(value)), value);
}

/// Whether a sample of the values is exact in single precision. In most matrices where some values are not,
/// one is in the sample.
inline bool is_sample_single(csr_view<double> a) {
  const std::size_t looked_at = std::min<std::size_t>(a.val.size(), 1024);
  for (std::size_t s = 0; s < looked_at; ++s)
    if (!is_exactly_single(a.val[a.val.size() / looked_at * s])) return false;
  return true;
}

}  // namespace nz
