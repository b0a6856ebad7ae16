#pragma once

#include <optional>
#include <span>

#include <nonzero/formats/packed.hpp>

namespace nz {

/// Symmetric block sparse rows: the lower triangle of a symmetric matrix of small full blocks. Block (I, J)
/// also stands for its transpose at (J, I). Block row I has the rows [I*block_size, (I+1)*block_size) and the
/// blocks [block_begin[I], block_begin[I+1]); block k covers the columns [block_col[k]*block_size,
/// (block_col[k]+1)*block_size). Values are exact: a matrix that is not symmetric bit by bit is no sbsr.
template <class V> struct sbsr {
  index rows = 0, cols = 0;      // >= 0; equal; a multiple of block_size
  index block_size = 3;          // one of symmetric_block_sizes
  index group_cols = 3;          // 1 to block_size
  array<offset> block_begin{0};  // block_rows()+1 long; starts at 0, rises
  array<index> block_col;        // >= 0; rises within a block row; the last of block row I is I
  array<V> val;  // block_size^2 for each block: groups of group_cols columns (the last may have
                 // fewer) one after the other, each row by row; the last block of a block row
                 // is symmetric, bit by bit

  index block_rows() const { return block_size < 1 ? 0 : rows / block_size; }
  offset blocks() const { return last_or_0(block_begin); }
  offset nnz() const { return (2 * blocks() - block_rows()) * block_size * block_size; }
};

/// Arrays of an sbsr that belong to somebody else. Borrows as csr_view; pointers as in packed_view.
template <class V> struct sbsr_view {
  index rows = 0, cols = 0, block_size = 3, group_cols = 3;  // as in sbsr, and so are the arrays
  const offset* block_begin = nullptr;
  const index* block_col = nullptr;
  const V* val = nullptr;

  sbsr_view() = default;
  sbsr_view(const sbsr<V>& a)  // NOLINT: an owner is used where a view is expected
      : rows(a.rows),
        cols(a.cols),
        block_size(a.block_size),
        group_cols(a.group_cols),
        block_begin(a.block_begin.data()),
        block_col(a.block_col.data()),
        val(a.val.data()) {}
};

inline constexpr index symmetric_block_sizes[] = {2, 3, 4};

/// Where the value of a row and a column of a block is in it.
constexpr index place_in_block(index block_size, index group_cols, index row, index col) {
  const index first = col - col % group_cols;
  const index width = block_size - first < group_cols ? block_size - first : group_cols;
  return first * block_size + row * width + (col - first);
}

/// The block size for `a`, from a sample of its entries: takes very little time. Throws `unsupported` if the
/// sample is not that of a square, symmetric matrix of full blocks.
template <class V> index find_symmetric_block_size(csr_view<V> a);
template <class V> index find_symmetric_block_size(const csr<V>& a) {
  return find_symmetric_block_size(csr_view<V>(a));
}

struct sbsr_options {
  index block_size = 0;  // 0: the one that find_symmetric_block_size finds
  index group_cols = 0;  // 0: block_size
  /// Ranges of block rows, from 0 to all of them, that never fall; none: one range.
  std::span<const index> first_block_row = {};
  for_each_runner for_each = run_in_order;  // over the ranges, in two passes
};

/// Throws `unsupported` unless the matrix is square, symmetric bit by bit, and made of full blocks, with
/// every block of the diagonal.
template <class V> sbsr<V> to_sbsr(csr_view<V> a, const sbsr_options& options = {});
template <class V> sbsr<V> to_sbsr(const csr<V>& a, const sbsr_options& options = {}) {
  return to_sbsr(csr_view<V>(a), options);
}
/// The same with values in single precision; nothing if that would change a value.
std::optional<sbsr<float>> to_sbsr_of_floats(csr_view<double> a, const sbsr_options& options = {});

template <class V> void validate(const sbsr<V>& a);
template <class V> footprint footprint_of(const sbsr<V>& a);
/// Throws `unsupported` as find_symmetric_block_size does, and if there are blocks that are not full.
template <class V> footprint sbsr_footprint(csr_view<V> a);
template <class V> footprint sbsr_footprint(const csr<V>& a) { return sbsr_footprint(csr_view<V>(a)); }

/// body(row, column, value) for every entry; those of a row by rising column.
template <class V, class Body> void for_each_trusted_entry(const sbsr<V>& a, Body body) {
  const index size = a.block_size;
  const auto value = [&](offset block, index r, index c) {
    return a.val[block * size * size + place_in_block(size, a.group_cols, r, c)];
  };
  for (index i = 0; i < a.block_rows(); ++i)
    for (offset k = a.block_begin[i]; k < a.block_begin[i + 1]; ++k) {
      const index j = a.block_col[k];
      for (index r = 0; r < size; ++r)
        for (index c = 0; c < size; ++c) {
          body(i * size + r, j * size + c, value(k, r, c));
          if (i != j) body(j * size + r, i * size + c, value(k, c, r));
        }
    }
}

}  // namespace nz
