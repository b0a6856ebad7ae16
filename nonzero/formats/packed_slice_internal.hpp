#pragma once

#include <array>
#include <cstdint>
#include <span>
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

/// body(k, value) for the entries of row i, on diagonal k of those that rise and hold all of the row's.
template <class V, class Body>
void for_each_on_diagonals(csr_view<V> a, index i, std::span<const index> diagonals, const Body& body) {
  std::size_t k = 0;
  for (offset entry = a.row_begin[i]; entry < a.row_begin[i + 1]; ++entry, ++k) {
    while (diagonals[k] < a.col[entry] - i) ++k;
    body(static_cast<index>(k), a.val[entry]);
  }
}

/// body(k, is_quad) for the entries k of row i outside quads, and for the first of each quad.
template <class V, class Body> void for_each_quad_or_entry(csr_view<V> a, index i, const Body& body) {
  constexpr index entries = packed<V>::quad_entries;
  const offset end = a.row_begin[i + 1];
  for (offset k = a.row_begin[i]; k < end;) {
    const bool is_quad = k + entries <= end && a.col[k + entries - 1] - a.col[k] == entries - 1;
    body(k, is_quad);
    k += is_quad ? entries : 1;
  }
}

template <class V>
index length_outside_quads(csr_view<V> a, index first, const packed_draft& draft, std::uint16_t local) {
  const index quads = draft.quads.empty() ? 0 : draft.quads[local];
  return static_cast<index>(a.row_length(first + local)) - packed<V>::quad_entries * quads;
}

template <class V> packed_draft draft_slice(csr_view<V> a, index first, index last);
/// Writes slice number `slice` into arrays that have the room, at `at`.
template <class V>
void fill_slice(csr_view<V> a, const packed_draft& draft, const packed_sizes& at, packed<V>& out,
                std::size_t slice);

}  // namespace nz
