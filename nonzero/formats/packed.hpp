#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz {

/// How the columns of a slice are stored: in 16 or in 32 bits, counted from the slice's first column.
enum class packed_columns : std::uint8_t { near, far };

/// How values are stored, always exactly: one value for all entries (in a run: for each diagonal), single
/// precision, or full precision.
enum class packed_values : std::uint8_t { one, single, full };

/// Consecutive rows with the same columns, counted from the row. A few rows among them may have other
/// columns: these exceptions do not belong to the run, but to the rest of the slice.
struct packed_run {
  index first_row, rows;  // rows >= 1
  index width;            // entries in each row; >= 1
  packed_values values;
  offset diagonal;  // its columns are row + diagonal[this + k], 0 <= k < width: inside the matrix for all of
                    // its rows, exceptions too
  offset value;     // one: constant[this + k]; else see place_of: width * rows elements

  static constexpr index block_rows = 16;
  /// Where the k-th value of row i of the run is: blocks of rows one after the other, each stored column by
  /// column, so that a block's values are read in order.
  offset place_of(index k, index i) const {
    const index block = i - i % block_rows, high = rows - block < block_rows ? rows - block : block_rows;
    return value + offset{block} * width + offset{k} * high + (i - block);
  }
};

/// Consecutive rows: the runs, and the rest. The sums of the rest replace those of a run.
struct packed_slice {
  index first_row;
  index first_column;  // of the rest; >= 0
  packed_columns columns;
  packed_values values;  // of the rest; `one` only if it has entries
  offset run, rest;      // its first in `runs`, and in rest_row and rest_length
  offset column, value;  // of the rest, in the arrays of their kinds; one: the only element
};

/// Packed: stores repeated patterns once (lossless). Rows that repeat the columns of the row before, moved by
/// one, are a run: its columns are stored once, and its values too where they repeat. A stencil thus stores
/// no entries. The other rows of a slice are its rest: groups of eight rows, the longest first. A group
/// stores its entries column by column up to the length of its shortest row, then the remaining entries row
/// by row.
template <class V> struct packed {
  static constexpr index group_rows = 8;
  static constexpr index most_slice_rows = 1 << 16;  // so that 16 bits hold a row of a slice
  index rows = 0, cols = 0;                          // >= 0
  // One longer than the number of slices; of the last one only first_row, run and rest are used. These start
  // at 0, never fall, and end at `rows` and at the lengths of `runs` and rest_row. A slice has at most
  // most_slice_rows rows.
  std::vector<packed_slice> slices = std::vector<packed_slice>(1);
  std::vector<packed_run> runs;   // inside their slice, in the order of rows, none in two
  array<std::uint16_t> rest_row;  // row - first_row of its slice; once each; all rows that are in no run
  array<index> rest_length;       // as long as rest_row; >= 0; never grows within a slice
  // These arrays are in the order of slices, and in a slice first its runs, then its rest, without gaps.
  array<index> diagonal;             // column - row
  array<V> constant;                 // the values of kind one
  array<std::uint16_t> near_column;  // column - first_column of the slice, whose column is in the matrix
  array<index> far_column;           // likewise; >= 0
  array<float> single_value;
  array<V> full_value;
};

/// Calls body(0) … body(count-1), each once, in any order, possibly in parallel.
using for_each_runner = std::function<void(offset count, const std::function<void(offset)>& body)>;
void run_in_order(offset count, const std::function<void(offset)>& body);

/// The slices are [first_row[s], first_row[s+1]), of at most 65,536 rows each; `for_each`
/// converts them, in two passes over the matrix.
template <class V>
packed<V> to_packed(csr_view<V> a, std::span<const index> first_row, const for_each_runner& for_each);
template <class V>
packed<V> to_packed(const csr<V>& a, std::span<const index> first_row, const for_each_runner& for_each) {
  return to_packed(csr_view<V>(a), first_row, for_each);
}
/// The same with slices of 1,024 rows, one after the other.
template <class V> packed<V> to_packed(csr_view<V> a);
template <class V> packed<V> to_packed(const csr<V>& a) { return to_packed(csr_view<V>(a)); }
template <class V> csr<V> to_csr(const packed<V>& a);

template <class V> void validate(const packed<V>& a);
template <class V> footprint footprint_of(const packed<V>& a);
template <class V> footprint packed_footprint(csr_view<V> a);
template <class V> footprint packed_footprint(const csr<V>& a) { return packed_footprint(csr_view<V>(a)); }

/// body(local row, column, value) for the entries of a slice's rest, as stored; those of a row in order.
template <class V, class Body> void for_each_rest_entry(const packed<V>& a, std::size_t slice, Body body) {
  const packed_slice &s = a.slices[slice], &next = a.slices[slice + 1];
  offset column = s.column, value = s.value;
  const auto take = [&](offset place) {
    const index col =
        s.first_column + (s.columns == packed_columns::near ? a.near_column[column] : a.far_column[column]);
    ++column;
    const V val = s.values == packed_values::one      ? a.constant[value]
                  : s.values == packed_values::single ? static_cast<V>(a.single_value[value])
                                                      : a.full_value[value];
    value += s.values != packed_values::one;
    body(a.rest_row[place], col, val);
  };
  for (offset first = s.rest; first < next.rest; first += packed<V>::group_rows) {
    const offset last = std::min<offset>(first + packed<V>::group_rows, next.rest);
    const bool is_whole = last - first == packed<V>::group_rows;
    const index together = is_whole ? a.rest_length[last - 1] : 0;
    for (index k = 0; k < together; ++k)
      for (offset r = first; r < last; ++r) take(r);
    for (offset r = first; r < last; ++r)
      for (index k = together; k < a.rest_length[r]; ++k) take(r);
  }
}

/// The k-th value of a run's row i, counted from its first.
template <class V> V run_value(const packed<V>& a, const packed_run& run, index k, index i) {
  if (run.values == packed_values::one) return a.constant[run.value + k];
  const offset at = run.place_of(k, i);
  return run.values == packed_values::single ? static_cast<V>(a.single_value[at]) : a.full_value[at];
}

/// body(row, column, value) for every entry; those of a row in its own order.
template <class V, class Body> void for_each_entry(const packed<V>& a, Body body) {
  for (std::size_t s = 0; s + 1 < a.slices.size(); ++s) {
    const index first = a.slices[s].first_row;
    std::vector<char> is_rest(static_cast<std::size_t>(a.slices[s + 1].first_row - first));
    for (offset r = a.slices[s].rest; r < a.slices[s + 1].rest; ++r) is_rest[a.rest_row[r]] = 1;
    for (offset r = a.slices[s].run; r < a.slices[s + 1].run; ++r) {
      const packed_run& run = a.runs[static_cast<std::size_t>(r)];
      for (index i = 0; i < run.rows; ++i) {
        const index row = run.first_row + i, local = row - first;
        for (index k = 0; k < run.width && !is_rest[static_cast<std::size_t>(local)]; ++k)
          body(row, row + a.diagonal[run.diagonal + k], run_value(a, run, k, i));
      }
    }
    for_each_rest_entry(a, s, [&](index local, index col, V val) { body(first + local, col, val); });
  }
}

}  // namespace nz
