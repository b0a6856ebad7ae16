#pragma once

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>

#include <nonzero/formats/csr.hpp>

// Finds the full blocks of a CSR matrix.
namespace nz {

/// Calls body with the block size as a constant, so that loops over a block have a fixed length.
template <class Body> auto with_block_size(index block_size, const Body& body) {
  switch (block_size) {
    case 2:
      return body(std::integral_constant<index, 2>());
    case 3:
      return body(std::integral_constant<index, 3>());
    case 4:
      return body(std::integral_constant<index, 4>());
    case 5:
      return body(std::integral_constant<index, 5>());
    case 6:
      return body(std::integral_constant<index, 6>());
    case 8:
      return body(std::integral_constant<index, 8>());
    default:
      throw unsupported(
          fmt::format("bsr: there are no blocks of size {}; choose 2, 3, 4, 5, 6 or 8", block_size));
  }
}

/// The remaining entries of the rows of a block row, from left to right.
template <index Size> struct cursors {
  offset at[Size], end[Size];

  template <class V> cursors(csr_view<V> a, index block_row, offset most_per_row) {
    for (index r = 0; r < Size; ++r) {
      at[r] = a.row_begin[block_row * Size + r];
      end[r] = at[r] + std::min(a.row_length(block_row * Size + r), most_per_row);
    }
  }

  /// By column, with none repeated.
  bool are_sorted(const index* col) const {
    for (index r = 0; r < Size; ++r) {
      int falls = 0;  // no early exit, so that the compiler can compare several at once
      for (offset k = at[r] + 1; k < end[r]; ++k) falls |= col[k] <= col[k - 1];
      if (falls) return false;
    }
    return true;
  }

  /// Moves every row to the next full block, or to its end. In a sorted row, if the first and the last column
  /// of a block are Size - 1 places apart, all others are between them.
  bool find_block(const index* col) {
    const auto has_block = [&](index r, index first) {
      return at[r] + Size <= end[r] && col[at[r]] == first && col[at[r] + Size - 1] == first + Size - 1;
    };
    while (at[0] + Size <= end[0]) {
      const index first = col[at[0]];
      if (first % Size != 0 || !has_block(0, first)) {
        ++at[0];
        continue;
      }
      bool is_full = true;
      for (index r = 1; r < Size; ++r) {
        while (at[r] < end[r] && col[at[r]] < first) ++at[r];
        is_full = is_full && has_block(r, first);
      }
      if (is_full) return true;
      at[0] += Size;
    }
    std::copy(end, end + Size, at);
    return false;
  }
  void pass_block() {
    for (offset& k : at) k += Size;
  }
};

/// Whether the rows have the same columns, and these are full blocks. This is usual, and several times as
/// fast to find as block by block.
template <index Size> bool are_all_blocks(const cursors<Size>& rows, const index* col) {
  const offset length = rows.end[0] - rows.at[0];
  const index* first_row = col + rows.at[0];
  if (length % Size != 0) return false;
  index differences = 0;
  for (index r = 1; r < Size; ++r) {
    if (rows.end[r] - rows.at[r] != length) return false;
    // No early exit, so that the compiler can compare several at once.
    for (offset k = 0; k < length; ++k) differences |= first_row[k] ^ col[rows.at[r] + k];
  }
  if (differences != 0) return false;
  for (offset k = 0, least = 0; k < length; k += Size) {
    differences |= (static_cast<std::uint32_t>(first_row[k]) % Size != 0) | (first_row[k] < least);
    for (index c = 1; c < Size; ++c) differences |= first_row[k + c] - first_row[k] - c;
    least = offset{first_row[k]} + Size;
  }
  return differences == 0;
}

}  // namespace nz
