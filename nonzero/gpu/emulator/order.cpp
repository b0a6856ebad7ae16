#include <bit>

#include <nonzero/core/hash.hpp>
#include <nonzero/gpu/emulator/order_internal.hpp>

namespace nz::emulator {

// A Feistel network permutes the numbers of 2*half bits; walking on until the number is below count permutes
// those alone. No table: a grid may have more blocks than there is memory for.
std::uint64_t in_order(std::uint64_t seed, std::uint64_t count, std::uint64_t place) {
  if (seed == 0 || count < 2) return place;
  const int half = (std::bit_width(count - 1) + 1) / 2;
  const std::uint64_t low = (std::uint64_t{1} << half) - 1;
  do {
    std::uint64_t left = place >> half, right = place & low;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t mixed = left ^ (hash(seed, 4 * right + round) & low);
      left = right;
      right = mixed;
    }
    place = left << half | right;
  } while (place >= count);
  return place;
}

}  // namespace nz::emulator
