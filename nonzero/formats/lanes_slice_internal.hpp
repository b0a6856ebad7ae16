#pragma once

#include <array>
#include <vector>

#include <nonzero/formats/lanes_choice.hpp>

// How to_lanes takes a matrix apart: the slices one by one, then what they share.
namespace nz {

/// Where the entries of each lane of a slice are.
struct lanes_rows {
  offset first_place;
  std::array<offset, 32> begin, end;  // equal for lanes without a row
};

/// `row` as in lanes<V>.
template <class V> lanes_rows rows_of_slice(const csr<V>& a, const array<index>& row, offset slice);

template <class V> lanes_choice choose(const csr<V>& a, const lanes_rows& rows);

/// Distinct patterns, each with a number, in the order in which they were first seen.
template <class V> struct lanes_dictionary {
  std::vector<lanes_pattern> patterns;
  std::vector<std::uint64_t> hashes;
  std::vector<lanes_step<V>> steps;
  std::vector<std::uint8_t> offsets;
};

/// Appends the pattern of a slice. What was chosen for it says how.
template <class V>
void append_pattern(const csr<V>& a, const lanes_rows& rows, const lanes_choice& how,
                    lanes_dictionary<V>& out);

/// Whether pattern i of one and pattern j of the other are the same, bit by bit.
template <class V>
bool is_same_pattern(const lanes_dictionary<V>& a, std::size_t i, const lanes_dictionary<V>& b,
                     std::size_t j);

}  // namespace nz
