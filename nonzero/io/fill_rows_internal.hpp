#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <nonzero/core/threads.hpp>
#include <nonzero/formats/csr.hpp>

// For the sources of io/generate alone.
namespace nz::generate {

/// Makes a matrix row by row, in parallel, straight into its arrays. `length_of(i)` is the number of entries
/// of row i; `fill(i, first, col, val)` writes that many, the first of which is entry `first` of the matrix.
/// Rows are cut into blocks: one pass finds where each block begins, a second fills them.
template <class V, class Length, class Fill>
csr<V> fill_rows(index rows, index cols, const Length& length_of, const Fill& fill) {
  constexpr offset block = 4096;
  const offset blocks = (rows + block - 1) / block;
  const auto end_of = [&](offset b) { return std::min<offset>((b + 1) * block, rows); };

  std::vector<offset> block_begin(blocks + 1, 0);
  parallel_tasks(blocks, 0, [&](offset b) {
    offset entries = 0;
    for (offset i = b * block; i < end_of(b); ++i) entries += length_of(static_cast<index>(i));
    block_begin[b + 1] = entries;
  });
  for (offset b = 0; b < blocks; ++b) block_begin[b + 1] += block_begin[b];

  // Entries are the largest part by far: a matrix too large for the memory fails here, before a page of it
  // is touched.
  constexpr offset most_entries = offset{1} << 48;
  if (block_begin[blocks] > most_entries)
    throw shape_error(std::to_string(block_begin[blocks]) + " entries are more than any memory holds");
  const auto nnz = static_cast<std::size_t>(block_begin[blocks]);
  csr<V> a{rows, cols, {}, {}, {}};
  a.val.resize(nnz);
  a.col.resize(nnz);
  a.row_begin.resize(static_cast<std::size_t>(rows) + 1);
  a.row_begin[rows] = block_begin[blocks];

  parallel_tasks(blocks, 0, [&](offset b) {
    offset first = block_begin[b];
    for (offset i = b * block; i < end_of(b); ++i) {
      const auto row = static_cast<index>(i);
      a.row_begin[i] = first;
      fill(row, first, a.col.data() + first, a.val.data() + first);
      first += length_of(row);
    }
  });
  return a;
}

}  // namespace nz::generate
