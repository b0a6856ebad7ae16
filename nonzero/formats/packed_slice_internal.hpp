#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <nonzero/formats/packed.hpp>

namespace nz {

/// The arrays of `packed` that slices take elements of, as indices of packed_sizes.
enum packed_array {
  in_runs,
  in_rest,
  in_quads,
  in_diagonal,
  in_mask,
  in_near,
  in_far,
  in_constant,
  in_single,
  in_full
};

constexpr packed_array array_of(packed_columns kind) {
  return kind == packed_columns::near ? in_near : in_far;
}
constexpr packed_array array_of(packed_values kind) {
  return kind == packed_values::one ? in_constant : kind == packed_values::single ? in_single : in_full;
}

/// How many elements of each array a slice takes, or where it starts in them.
using packed_sizes = std::array<offset, in_full + 1>;

/// What a slice will hold.
struct packed_draft {
  packed_slice slice{};             // all but first_row and first_column counted from the slice's own start
  std::vector<packed_run> runs;     // likewise `diagonal`, `value` and `mask`
  std::vector<index> diagonals;     // of the runs with holes
  std::vector<std::uint16_t> rest;  // local rows, longest first
  std::vector<std::uint16_t> quad_rows;  // likewise, by their quads
  std::vector<index> quads;              // of each of the slice's rows; empty: none has any
  packed_sizes sizes{};
};

template <class V> packed_draft draft_slice(csr_view<V> a, index first, index last);
/// Writes slice number `slice` into arrays that have the room, at `at`.
template <class V>
void fill_slice(csr_view<V> a, const packed_draft& draft, const packed_sizes& at, packed<V>& out,
                std::size_t slice);

}  // namespace nz
