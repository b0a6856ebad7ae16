#pragma once

#include <cstdint>
#include <vector>

#include <nonzero/formats/packed.hpp>

namespace nz {

/// How many elements of each array of `packed` a slice takes, or where it starts in them.
struct packed_sizes {
  offset runs = 0, rest = 0, diagonals = 0, constants = 0, nears = 0, fars = 0, singles = 0, fulls = 0;
  packed_sizes& operator+=(const packed_sizes& o);
};

/// What a slice will hold.
struct packed_draft {
  std::vector<packed_run> runs;     // `diagonal` and `value` counted from the slice's own start
  std::vector<std::uint16_t> rest;  // local rows, longest first
  index first_column = 0;
  packed_columns columns = packed_columns::near;
  packed_values values = packed_values::one;
  packed_sizes sizes;
};

template <class V> packed_draft draft_slice(csr_view<V> a, index first, index last);
/// Writes the slice into arrays that have the room, at `at`.
template <class V>
void fill_slice(csr_view<V> a, index first, const packed_draft& draft, const packed_sizes& at, packed<V>& out,
                std::size_t slice);

}  // namespace nz
