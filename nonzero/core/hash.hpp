#pragma once

#include <cstdint>

namespace nz {

/// Mixes the bits of x; a bijection. The rounds of splitmix64 (Steele, Lea & Flood 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Number `counter` of a pseudo-random stream; also the seed of sub-stream `counter`.
constexpr std::uint64_t hash(std::uint64_t stream, std::uint64_t counter) {
  return mix(stream + (counter + 1) * 0x9e3779b97f4a7c15);
}

}  // namespace nz
