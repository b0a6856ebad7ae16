#pragma once

#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <span>

#include <nonzero/formats/csr.hpp>

namespace nz {

/// Block sparse rows: `block_size` rows together have small square blocks, whose column is held once for all
/// of a block's values. Only full blocks are blocks: a zero filled in would cost bytes, and 0 * x would turn
/// an infinite x into NaN. All other entries are in `rest`.
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

  index block_rows() const { return rows / block_size + (rows % block_size != 0); }
  offset blocks() const { return block_begin.back(); }
  offset nnz() const { return static_cast<offset>(val.size()) + rest.nnz(); }
};

inline constexpr index block_sizes[] = {2, 3, 4, 5, 6, 8};

/// How find_block_size judges a size: by so many block rows, and so many entries of each of their rows.
struct block_sample {
  static constexpr index most_block_rows = 64;
  static constexpr offset most_per_row = 256;
  offset in_blocks = 0, all = 0;  // entries

  /// The block row that is looked at as number s, of `whole` ones with all their rows; -1: none.
  static constexpr index block_row(index whole, index s) {
    const index looked_at = whole < most_block_rows ? whole : most_block_rows;
    return s < looked_at ? static_cast<index>(offset{whole} * s / looked_at) : -1;
  }
};

/// What find_block_size finds, from a sample for each of block_sizes.
index best_block_size(std::span<const block_sample, std::size(block_sizes)> samples);

/// Throws `unsupported` where blocks of a size hold less than a share of the entries; size 1: where no size
/// is of use.
void require_blocks(index size, offset blocks, offset nnz, double least_share);

/// The block size that saves most of the columns' bytes, judged by some of the rows: no more than a small
/// part of the work of a multiply. 1 where no size has half of the entries in full blocks.
template <class V> index find_block_size(csr_view<V> a);
template <class V> index find_block_size(const csr<V>& a) { return find_block_size(csr_view<V>(a)); }

template <class V> void validate(const bsr<V>& a);
template <class V> footprint footprint_of(const bsr<V>& a);

struct bsr_options {
  index block_size = 0;      // 0: the one that find_block_size finds
  double least_share = 0.5;  // of the entries that must be in blocks
  /// Block rows with a longer row than this are left to `rest`.
  offset longest_row = std::numeric_limits<offset>::max();
  /// Calls body(first, last) for ranges that cover the block rows once, on several threads if it likes; by
  /// default for one range, on this thread. `body` does not throw.
  std::function<void(index block_rows, const std::function<void(index first, index last)>& body)> run =
      [](index block_rows, const auto& body) { body(0, block_rows); };
};

/// With the block size that to_bsr would take, or the smallest where that refuses the matrix.
template <class V> footprint bsr_footprint(csr_view<V> a, index block_size = 0);
template <class V> footprint bsr_footprint(const csr<V>& a, index block_size = 0) {
  return bsr_footprint(csr_view<V>(a), block_size);
}
/// Rows that are unsorted or repeat a column are left to `rest`, with all of their block row. Throws
/// `unsupported` where fewer entries than asked for are in full blocks.
template <class V> bsr<V> to_bsr(csr_view<V> a, const bsr_options& options = {});
template <class V> bsr<V> to_bsr(const csr<V>& a, const bsr_options& options = {}) {
  return to_bsr(csr_view<V>(a), options);
}
/// The same with values in single precision; nothing where that would change a value.
std::optional<bsr<float>> to_bsr_of_floats(csr_view<double> a, const bsr_options& options = {});
template <class V> csr<V> to_csr(const bsr<V>& a);

}  // namespace nz
