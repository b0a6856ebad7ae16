#pragma once

#include <cstdint>
#include <type_traits>

#include <nonzero/formats/warp_packed.hpp>

// How warp_packed<V> stores a slice: the rules that the conversions on the host and on a GPU share.
namespace nz {

constexpr index warp_packed_window_rows = 1024;  // sorted together

/// Whether the rows of a window are sorted by length: if more than an eighth of its places were padding.
constexpr bool is_uneven_window(offset places, offset entries) { return places > entries + entries / 8; }

/// The bytes of a value in a slice; `full` is sizeof(V).
constexpr std::uint64_t warp_packed_value_bytes(packed_values kind, std::size_t full) {
  return kind == packed_values::one ? 0 : kind == packed_values::single ? sizeof(float) : full;
}

/// How a slice is stored.
struct warp_packed_choice {
  offset steps = 0;
  offset entries = 0;
  std::uint8_t width = 0;
  packed_values values = packed_values::one;

  /// Places without an entry, with so many lanes.
  constexpr offset padding(offset lanes) const { return steps * lanes - entries; }
};

/// The bytes of offsets from 0 to `span`.
constexpr std::uint8_t warp_packed_width(offset span) { return span < 1 << 8 ? 1 : span < 1 << 16 ? 2 : 4; }

/// The shortest kind of values that is exact.
template <class V> constexpr packed_values warp_packed_values(bool are_one, bool are_single) {
  const bool is_short = are_single && std::is_same_v<V, double>;
  return are_one ? packed_values::one : is_short ? packed_values::single : packed_values::full;
}

/// The most steps by diagonal that are tried. Steps take time; four times as many never pay.
constexpr offset most_diagonals(const warp_packed_choice& ranks) { return 4 * ranks.steps; }

/// The bytes of a choice. Offsets count only for lanes without an entry: where most lanes have one, slices
/// that could be stored by diagonals are alike and share their offsets.
template <class V> constexpr offset warp_packed_bytes(const warp_packed_choice& how) {
  const auto value = static_cast<offset>(warp_packed_value_bytes(how.values, sizeof(V)));
  return how.steps * (static_cast<offset>(sizeof(warp_packed_step<V>)) + 32 * value) +
         how.padding(32) * how.width;
}

/// Diagonals may take slightly more bytes: a warp reads one column for all its lanes.
template <class V>
constexpr bool are_better(const warp_packed_choice& diagonals, const warp_packed_choice& ranks) {
  return warp_packed_bytes<V>(diagonals) <= warp_packed_bytes<V>(ranks) / 16 * 17;
}

constexpr std::uint64_t mixed_hash(std::uint64_t hash, std::uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15U;
  return hash ^ hash >> 29;
}

/// What the lengths of the rows say about some slices.
struct warp_packed_lengths {
  offset steps = 0;    // a lower bound: the sum of the longest row of each slice
  offset longest = 0;  // of those
};

/// Throws `unsupported` if most lanes would be idle or one lane would work alone. Needs lengths only.
void require_even_warp_packed(index rows, offset nnz, const warp_packed_lengths& lengths,
                              padding_budget budget);

}  // namespace nz
