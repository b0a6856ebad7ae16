#pragma once

#include <array>
#include <vector>

#include <nonzero/formats/warp_packed_choice.hpp>

// How to_warp_packed takes a matrix apart: the slices one by one, then what they share.
namespace nz {

/// Where the entries of each lane of a slice are.
struct warp_packed_rows {
  offset first_place;
  std::array<offset, 32> begin, end;  // equal for lanes without a row
};

/// `row` as in warp_packed<V>.
template <class V> warp_packed_rows rows_of_slice(csr_view<V> a, const array<index>& row, offset slice);

template <class V> warp_packed_choice choose(csr_view<V> a, const warp_packed_rows& rows);

/// Distinct patterns, each with a number, in the order in which they were first seen.
template <class V> struct warp_packed_dictionary {
  std::vector<warp_packed_pattern> patterns;
  std::vector<std::uint64_t> hashes;
  std::vector<warp_packed_step<V>> steps;
  std::vector<std::uint8_t> offsets;
};

/// Appends the pattern of a slice. What was chosen for it says how.
template <class V>
void append_pattern(csr_view<V> a, const warp_packed_rows& rows, const warp_packed_choice& how,
                    warp_packed_dictionary<V>& out);

/// Whether pattern i of one and pattern j of the other are the same, bit by bit.
template <class V>
bool is_same_pattern(const warp_packed_dictionary<V>& a, std::size_t i, const warp_packed_dictionary<V>& b,
                     std::size_t j);

}  // namespace nz
