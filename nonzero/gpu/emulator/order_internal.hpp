#pragma once

#include <cstdint>

namespace nz::emulator {

/// Bits that look random and depend on all bits of x (the finaliser of SplitMix64).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// The number in [0, count) that stands at `place` in the order that the seed gives; 0 gives the usual order.
std::uint64_t in_order(std::uint64_t seed, std::uint64_t count, std::uint64_t place);

}  // namespace nz::emulator
