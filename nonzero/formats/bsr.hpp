#pragma once

#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <span>

#include <nonzero/formats/csr.hpp>

namespace nz {

/// Block sparse rows: small square blocks, with one column number for all values of a block. Only full blocks
/// are stored as blocks: filled-in zeros would cost bytes, and 0 * x would turn an infinite x into NaN. All
/// other entries are in `rest`.
/// Block row I has the rows [I*block_size, (I+1)*block_size) and the blocks [block_begin[I],
/// block_begin[I+1]); block k covers the columns [block_col[k]*block_size, (block_col[k]+1)*block_size).
template <class V> struct bsr {
  index rows = 0, cols = 0;      // >= 0
  index block_size = 2;          // one of block_sizes
  array<offset> block_begin{0};  // block_rows()+1 long; starts at 0, never falls; a last block row of fewer
                                 // than block_size rows has none
  array<index> block_col;        // 0 <= block_col < cols/block_size; rises within a block row
  array<V> val;                  // block_size^2 for each block, column by column
  csr<V> rest;                   // same rows and cols

  index block_rows() const { return block_size < 1 ? 0 : rows / block_size + (rows % block_size != 0); }
  offset blocks() const { return last_or_0(block_begin); }
  offset nnz() const { return static_cast<offset>(val.size()) + rest.nnz(); }
};

inline constexpr index block_sizes[] = {2, 3, 4, 5, 6, 8};

/// The sample by which find_block_size judges a size: some block rows, and some entries of each of their
/// rows.
struct block_sample {
  static constexpr index most_block_rows = 64;
  static constexpr offset most_per_row = 256;
  offset in_blocks = 0, all = 0;  // entries

  /// Block row number s of the sample, of `whole` complete block rows; -1: none.
  static constexpr index block_row(index whole, index s) {
    const index looked_at = whole < most_block_rows ? whole : most_block_rows;
    return s < looked_at ? static_cast<index>(offset{whole} * s / looked_at) : -1;
  }
};

/// The result of find_block_size, from a sample for each of block_sizes.
index best_block_size(std::span<const block_sample, std::size(block_sizes)> samples);

/// Throws `unsupported` if blocks of this size have less than `min_fill` of the entries. Size 1 stands for no
/// blocks.
void require_blocks(index size, offset blocks, offset nnz, double min_fill);

/// The block size that saves the most bytes of columns, judged by a sample: takes a small fraction of the
/// time of a multiply. 1 if no size has half of the entries in full blocks.
template <class V> index find_block_size(csr_view<V> a);
template <class V> index find_block_size(const csr<V>& a) { return find_block_size(csr_view<V>(a)); }

template <class V> void validate(const bsr<V>& a);
template <class V> footprint footprint_of(const bsr<V>& a);

struct bsr_options {
  index block_size = 0;   // 0: the one that find_block_size finds
  double min_fill = 0.5;  // the smallest fraction of the entries in blocks; with less, the matrix is refused
  /// Block rows with a longer row than this are left to `rest`.
  offset longest_row = std::numeric_limits<offset>::max();
  /// Calls body(first, last) for ranges that cover the block rows once, possibly on several threads; by
  /// default for one range, on this thread. `body` does not throw.
  std::function<void(index block_rows, const std::function<void(index first, index last)>& body)> run =
      [](index block_rows, const auto& body) { body(0, block_rows); };
};

/// With the block size that to_bsr would choose, or the smallest if it would refuse the matrix.
template <class V> footprint bsr_footprint(csr_view<V> a, index block_size = 0);
template <class V> footprint bsr_footprint(const csr<V>& a, index block_size = 0) {
  return bsr_footprint(csr_view<V>(a), block_size);
}
/// Block rows with a row that is unsorted or repeats a column are left to `rest`. Throws `unsupported` if too
/// few entries are in full blocks.
template <class V> bsr<V> to_bsr(csr_view<V> a, const bsr_options& options = {});
template <class V> bsr<V> to_bsr(const csr<V>& a, const bsr_options& options = {}) {
  return to_bsr(csr_view<V>(a), options);
}
/// The same with values in single precision; nothing if that would change a value.
std::optional<bsr<float>> to_bsr_of_floats(csr_view<double> a, const bsr_options& options = {});
template <class V> csr<V> to_csr(const bsr<V>& a);

/// body(row, column, value) for every entry; those of a row: first in blocks, then in `rest`.
template <class V, class Body> void for_each_trusted_entry(const bsr<V>& a, Body body) {
  const index size = a.block_size;
  for (index i = 0; i < a.rows; ++i) {
    for (offset k = a.block_begin[i / size]; k < a.block_begin[i / size + 1]; ++k)
      for (index c = 0; c < size; ++c)
        body(i, a.block_col[k] * size + c, a.val[(k * size + c) * size + i % size]);
    for (offset k = a.rest.row_begin[i]; k < a.rest.row_begin[i + 1]; ++k)
      body(i, a.rest.col[k], a.rest.val[k]);
  }
}

}  // namespace nz
