#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <nonzero/formats/packed.hpp>

namespace nz {

/// The places of the entries of a cell, in the order of rows. The entries are split into eight sequences
/// of equal length, which are interleaved; the remaining entries follow. Neighbours in memory then belong to
/// different rows, unless one row has most of the cell: an addition to a sum in memory need not wait for
/// the one before.
class interleaved_places {
 public:
  static constexpr offset sequences = 8;
  explicit interleaved_places(offset entries) : end_(entries / sequences * sequences) {}
  offset next() {
    const offset here = at_++;
    if (here >= end_) return here;
    at_ = here + sequences;
    if (at_ >= end_) at_ -= end_ - 1;  // the first of the next sequence
    if (here + sequences >= end_ && at_ == sequences) at_ = end_;
    return here;
  }

 private:
  offset end_, at_ = 0;  // end_: of the interleaved places
};

/// Binned: entries sorted by blocks of columns and bins of rows, so that a kernel works on ranges of x and y
/// that fit into a cache. The entries of one block and one bin are a cell; interleaved_places says where
/// they are. Bins are grouped in panels. In a panel, columns and values are stored block by block and within
/// a block bin by bin, for the pass that multiplies; row numbers are stored bin by bin and within a bin block
/// by block, for the pass that adds. Very long rows are stored apart, as CSR.
template <class V> struct binned {
  static constexpr index most_block_cols = 1 << 16;  // so that 16 bits hold a column of a block
  static constexpr index most_bin_rows = 1 << 16;    // likewise
  index rows = 0, cols = 0;                          // >= 0
  index block_cols = most_block_cols;                // a power of two, at most most_block_cols
  std::vector<index> bin_row{0};  // bins+1 long; from 0 to rows, rising by at most most_bin_rows; bin b holds
                                  // the rows [bin_row[b], bin_row[b+1])
  std::vector<index> panel_bin{0};  // panels+1 long; from 0 to bins, rising; panel p holds the bins
                                    // [panel_bin[p], panel_bin[p+1])
  array<offset> cell_begin{0};      // blocks*bins+1 long; starts at 0, never falls; in the order of `cell`;
                                    // where a cell's columns and values are
  array<offset> cell_row;    // blocks*bins long; where its row numbers are: in each panel one after the
                             // other, bin by bin and in each block by block
  array<std::uint16_t> col;  // as long as cell_begin says; from the first column of the block; < cols
  array<std::uint16_t> row;  // as long; from the first row of the bin, in it; never falls in the
                             // order of interleaved_places
  packed_values values = packed_values::full;
  array<V> val;                 // full: as long; one: a single one; single: none
  array<float> single_val;      // single: as long; else none
  std::vector<index> long_row;  // rising; in the matrix; they have no entries above
  csr<V> long_rows;             // as many rows as long_row, in its order; same cols

  index blocks() const { return static_cast<index>((offset{cols} + block_cols - 1) / block_cols); }
  index bins() const { return static_cast<index>(bin_row.size() - 1); }
  index panels() const { return static_cast<index>(panel_bin.size() - 1); }
  /// The number of cell (block, bin) of a panel: its columns and values are at [cell_begin[this],
  /// cell_begin[this + 1]), its row numbers from cell_row[this] on.
  offset cell(index panel, index block, index bin) const {
    const offset first = panel_bin[panel], high = panel_bin[panel + 1] - first;
    return first * blocks() + block * high + (bin - first);
  }
};

/// How a matrix is divided.
struct binned_layout {
  index block_cols = binned<double>::most_block_cols;
  std::vector<index> bin_row, panel_bin, long_row;
};

/// The rows of `long_row` are stored apart. `for_each` converts the bins, in two passes over the matrix.
/// Throws `unsupported` if there would be so many cells that most are nearly empty.
template <class V>
binned<V> to_binned(csr_view<V> a, const binned_layout& layout, const for_each_runner& for_each);
template <class V>
binned<V> to_binned(const csr<V>& a, const binned_layout& layout, const for_each_runner& for_each) {
  return to_binned(csr_view<V>(a), layout, for_each);
}
/// With bins of 4,096 rows, eight panels, and no row stored apart; on one thread.
template <class V> binned<V> to_binned(csr_view<V> a);
template <class V> binned<V> to_binned(const csr<V>& a) { return to_binned(csr_view<V>(a)); }

template <class V> void validate(const binned<V>& a);
template <class V> footprint footprint_of(const binned<V>& a);
template <class V> footprint binned_footprint(csr_view<V> a);
template <class V> footprint binned_footprint(const csr<V>& a) { return binned_footprint(csr_view<V>(a)); }

/// body(panel, block, bin) for each cell, in the order of columns and values.
template <class V, class Body> void for_each_cell(const binned<V>& a, Body body) {
  for (index p = 0; p < a.panels(); ++p)
    for (index c = 0; c < a.blocks(); ++c)
      for (index b = a.panel_bin[p]; b < a.panel_bin[p + 1]; ++b) body(p, c, b);
}
/// The same in the order of row numbers.
template <class V, class Body> void for_each_cell_of_rows(const binned<V>& a, Body body) {
  for (index p = 0; p < a.panels(); ++p)
    for (index b = a.panel_bin[p]; b < a.panel_bin[p + 1]; ++b)
      for (index c = 0; c < a.blocks(); ++c) body(p, c, b);
}

/// body(row, column, value) for every entry; those of a row in the order of their blocks of columns, so that
/// to_csr gives sorted rows back as they were.
template <class V, class Body> void for_each_trusted_entry(const binned<V>& a, Body body) {
  const auto value = [&](offset k) {
    if (a.values == packed_values::one) return a.val[0];
    return a.values == packed_values::single ? static_cast<V>(a.single_val[k]) : a.val[k];
  };
  for_each_cell(a, [&](index p, index c, index b) {
    const offset cell = a.cell(p, c, b);
    const offset begin = a.cell_begin[cell], entries = a.cell_begin[cell + 1] - begin;
    interleaved_places places(entries);
    for (offset i = 0; i < entries; ++i) {
      const offset place = places.next();
      body(a.bin_row[b] + a.row[a.cell_row[cell] + place], c * a.block_cols + a.col[begin + place],
           value(begin + place));
    }
  });
  for (index i = 0; i < a.long_rows.rows; ++i)
    for (offset k = a.long_rows.row_begin[i]; k < a.long_rows.row_begin[i + 1]; ++k)
      body(a.long_row[i], a.long_rows.col[k], a.long_rows.val[k]);
}

}  // namespace nz
