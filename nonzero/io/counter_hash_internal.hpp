#pragma once

#include <cstdint>
#include <type_traits>

#include <nonzero/core/hash.hpp>
#include <nonzero/core/types.hpp>

// Random numbers for the generators, by position instead of in sequence: number k of a stream is a hash of
// (stream, k), so any thread makes any part of it. Integers and exact scaling only: no rounding, hence the
// same bits from every compiler, with or without fused multiply-add.
namespace nz::generate {

/// floor(limit * bits / 2^64): evenly spread over [0, limit), to within 2^-33.
constexpr index below(index limit, std::uint64_t bits) {
  const auto n = static_cast<std::uint64_t>(limit);
  return static_cast<index>(((bits >> 32) * n + (((bits & 0xffffffff) * n) >> 32)) >> 32);
}

/// Evenly spread over (-1, 1), symmetric about 0 and never 0: an odd multiple of 2^-52, or of 2^-23 in float.
template <class V> constexpr V between_minus_one_and_one(std::uint64_t bits) {
  constexpr int digits = std::is_same_v<V, float> ? 24 : 53;
  constexpr auto half = std::int64_t{1} << (digits - 1);
  const auto odd = static_cast<std::int64_t>((bits >> (64 - digits)) | 1);
  return static_cast<V>(odd - half) * (V{1} / static_cast<V>(half));
}

}  // namespace nz::generate
