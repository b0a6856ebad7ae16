#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <nonzero/gpu/emulator/grid_internal.hpp>

// What lanes do together: shuffles, votes and barriers.

namespace nz::emulator {

/// A place in a kernel's source, for messages. As a default argument, here() is where the call stands.
struct site {
  const char* file = nullptr;
  int line = 0;
  static constexpr site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  bool operator==(const site& other) const {
    return line == other.line && (file == other.file || std::strcmp(file, other.file) == 0);
  }
};

enum class operation : std::uint8_t {
  shuffle,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  ballot,
  any,
  all,
  sync
};

/// A call of a warp's operation by one lane. It is answered once all lanes of `mask` have made the same call.
struct request {
  operation what = operation::sync;
  std::uint8_t bytes = 0;   // of a shuffled value: 4 or 8
  std::uint32_t mask = 0;   // a bit per lane of the warp
  std::uint32_t by = 0;     // shuffles: source lane, distance or bits to flip
  std::int32_t width = 32;  // shuffles: lanes per segment
  std::uint64_t value = 0;  // a shuffled value's bytes, or whether a vote is yes
  site at;
};

inline bool is_same(const request& a, const request& b) {
  return a.mask == b.mask && a.what == b.what && a.bytes == b.bytes;
}

/// Waits until all lanes of wanted.mask call it; returns the result that CUDA defines for this lane.
std::uint64_t exchange_in_warp(const request& wanted);

/// Waits for all lanes of the block.
void wait_for_block(site at);

template <class T>
concept shuffled = std::is_arithmetic_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

template <shuffled T> T shuffle(operation what, unsigned mask, T value, unsigned by, int width, site at) {
  request wanted{what, sizeof(T), mask, by, width, 0, at};
  std::memcpy(&wanted.value, &value, sizeof(T));
  const std::uint64_t got = exchange_in_warp(wanted);
  std::memcpy(&value, &got, sizeof(T));
  return value;
}

inline std::uint64_t vote(operation what, unsigned mask, bool yes, site at) {
  return exchange_in_warp({what, 0, mask, 0, warpSize, yes, at});
}

}  // namespace nz::emulator

inline void __syncwarp(unsigned mask = 0xffffffff, nz::emulator::site at = nz::emulator::site::here()) {
  nz::emulator::vote(nz::emulator::operation::sync, mask, true, at);
}

template <nz::emulator::shuffled T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize,
              nz::emulator::site at = nz::emulator::site::here()) {
  return nz::emulator::shuffle(nz::emulator::operation::shuffle, mask, value, static_cast<unsigned>(source),
                               width, at);
}

template <nz::emulator::shuffled T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                 nz::emulator::site at = nz::emulator::site::here()) {
  return nz::emulator::shuffle(nz::emulator::operation::shuffle_up, mask, value, delta, width, at);
}

template <nz::emulator::shuffled T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                   nz::emulator::site at = nz::emulator::site::here()) {
  return nz::emulator::shuffle(nz::emulator::operation::shuffle_down, mask, value, delta, width, at);
}

template <nz::emulator::shuffled T>
T __shfl_xor_sync(unsigned mask, T value, int lane_bits, int width = warpSize,
                  nz::emulator::site at = nz::emulator::site::here()) {
  return nz::emulator::shuffle(nz::emulator::operation::shuffle_xor, mask, value,
                               static_cast<unsigned>(lane_bits), width, at);
}

inline unsigned __ballot_sync(unsigned mask, int yes, nz::emulator::site at = nz::emulator::site::here()) {
  return static_cast<unsigned>(nz::emulator::vote(nz::emulator::operation::ballot, mask, yes != 0, at));
}

inline int __any_sync(unsigned mask, int yes, nz::emulator::site at = nz::emulator::site::here()) {
  return static_cast<int>(nz::emulator::vote(nz::emulator::operation::any, mask, yes != 0, at));
}

inline int __all_sync(unsigned mask, int yes, nz::emulator::site at = nz::emulator::site::here()) {
  return static_cast<int>(nz::emulator::vote(nz::emulator::operation::all, mask, yes != 0, at));
}
