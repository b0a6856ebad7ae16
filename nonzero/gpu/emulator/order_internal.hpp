#pragma once

#include <cstdint>

namespace nz::emulator {

/// The number in [0, count) that stands at `place` in the order that the seed gives; 0 gives the usual order.
std::uint64_t in_order(std::uint64_t seed, std::uint64_t count, std::uint64_t place);

}  // namespace nz::emulator
