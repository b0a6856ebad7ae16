#pragma once

#include <nonzero/cpu/chunked_matrix.hpp>
#include <nonzero/formats/binned.hpp>

namespace nz::cpu {

/// Rows that were cut into pieces: those that `binned` is to keep apart.
inline std::vector<index> long_rows_of(const chunking& cut) {
  std::vector<index> out;
  for (const chunking::piece& piece : cut.pieces)
    if (out.empty() || out.back() != piece.row) out.push_back(piece.row);
  return out;
}

/// Makes pieces, which point into `from`, point into the rows that were kept apart of it.
template <class A> chunking with_pieces_apart(chunking cut, const binned<A>& a, const csr<A>& from) {
  auto piece = cut.pieces.begin();
  for (std::size_t i = 0; i < a.long_row.size(); ++i) {
    const offset before = a.long_rows.row_begin[i] - from.row_begin[a.long_row[i]];
    for (; piece != cut.pieces.end() && piece->row == a.long_row[i]; ++piece) {
      piece->begin += before;
      piece->end += before;
    }
  }
  return cut;
}

}  // namespace nz::cpu
