#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz {

/// How the columns of a slice are stored: in 16 or in 32 bits, counted from the slice's first column.
enum class packed_columns : std::uint8_t { near, far };

/// How values are stored, always exactly: one value for all entries (in a run: for each diagonal), single
/// precision, or full precision.
enum class packed_values : std::uint8_t { one, single, full };

/// Consecutive rows with the same columns, counted from the row: its diagonals. A few rows among them may
/// have other columns: these exceptions do not belong to the run, but to the rest of the slice. Where rows
/// have no entry on some of the diagonals, the run has holes.
struct packed_run {
  index first_row, rows;  // rows >= 1
  index width;            // entries in each row; >= 1
  packed_values values;
  offset diagonal;  // its columns are row + diagonal[this + k], 0 <= k < width: inside the matrix for all of
                    // its rows, exceptions too
  offset value;     // one: constant[this + k]; else see places_of: width * rows elements
  offset mask;      // none: no holes; else see mask_of

  static constexpr offset none = -1;
  static constexpr index block_rows = 16;

  /// The number of its values in their array.
  offset stored_values() const { return values == packed_values::one ? width : offset{width} * rows; }

  /// The k-th value of a row is at first + k * step.
  struct places {
    offset first;
    index step;
    offset operator[](index k) const { return first + offset{k} * step; }
  };
  /// Of the values of row i of the run; one: they are those of all rows. Else blocks of 16 rows are stored
  /// one after the other, each column by column, so that its values are read in order. The last rows are in
  /// blocks of 8, 4, 2 and 1.
  places places_of(index i) const {
    if (values == packed_values::one) return {value, 1};
    index block = i - i % block_rows, high = block_rows;
    for (; rows - block < high || i - block >= high; high /= 2)
      if (rows - block >= high) block += high;
    return {value + offset{block} * width + (i - block), high};
  }

  /// Where the masks of the 16 rows with row i begin, one for each diagonal. Bit i % 16 is set if row i has
  /// an entry there.
  offset mask_of(index i) const { return mask + offset{i / block_rows} * width; }
  offset stored_masks() const {
    return mask == none ? 0 : (offset{rows} + block_rows - 1) / block_rows * width;
  }
};

/// Consecutive rows: the runs, and the rest. The sums of the rest replace those of a run.
struct packed_slice {
  index first_row;
  index first_column;  // of the rest; >= 0
  packed_columns columns;
  packed_values values;  // of the rest; `one` only if it has entries
  offset run, rest;      // its first in `runs`, and in rest_row and rest_length
  offset quads;          // its first in quad_row and quad_length
  offset column, value;  // of the rest, in the arrays of their kinds; one: the only element
};

/// Packed: stores repeated patterns once (lossless). Rows that repeat the columns of the row before, moved by
/// one, are a run: its columns are stored once, and its values too where they repeat. A stencil thus stores
/// no entries. So are rows that lack a few of the columns: the values that they lack are stored, as zeros,
/// and a bit for each says that there is no entry. The other rows of a slice are its rest: groups of eight
/// rows, the longest first. A group stores its entries column by column up to the length of its shortest row,
/// then the remaining entries row by row.
///
/// Where many columns of the rest follow each other, four such entries of a row are a quad, with one column.
/// Quads are stored after the other entries of the rest, and like them: in groups of eight rows, those with
/// the most quads first.
template <class V> struct packed {
  static constexpr index group_rows = 8;
  static constexpr index quad_entries = 4;
  static constexpr index most_slice_rows = 1 << 16;  // so that 16 bits hold a row of a slice
  index rows = 0, cols = 0;                          // >= 0
  // One longer than the number of slices; of the last one only first_row, run, rest and quads are used. These
  // start at 0, never fall, and end at `rows` and at the lengths of `runs`, rest_row and quad_row. A slice
  // has at most most_slice_rows rows.
  std::vector<packed_slice> slices = std::vector<packed_slice>(1);
  std::vector<packed_run> runs;   // inside their slice, in the order of rows, none in two
  array<std::uint16_t> rest_row;  // row - first_row of its slice; once each; all rows that are in no run
  array<index> rest_length;       // entries outside quads; as long as rest_row; >= 0; never grows in a slice
  array<std::uint16_t> quad_row;  // the rows of the rest that have quads, in the same numbers; once each
  array<index> quad_length;       // the quads of each; as long as quad_row; >= 1; never grows in a slice
  // These arrays are in the order of slices, and in a slice first its runs, then its rest, without gaps.
  array<index> diagonal;      // column - row
  array<std::uint16_t> mask;  // of the runs with holes
  array<V> constant;          // the values of kind one
  // column - first_column of the slice, whose column is in the matrix; of a quad, the first of four there
  array<std::uint16_t> near_column;
  array<index> far_column;  // likewise; >= 0
  array<float> single_value;
  array<V> full_value;
};

/// Arrays of a packed that belong to somebody else. Borrows as csr_view. Pointers, because code for one
/// instruction set must not instantiate templates that code for others uses too.
template <class V> struct packed_view {
  index rows = 0, cols = 0;  // as in packed, and so are the arrays
  const packed_slice* slices = nullptr;
  const packed_run* runs = nullptr;
  const std::uint16_t* rest_row = nullptr;
  const index* rest_length = nullptr;
  const std::uint16_t* quad_row = nullptr;
  const index* quad_length = nullptr;
  const index* diagonal = nullptr;
  const std::uint16_t* mask = nullptr;
  const V* constant = nullptr;
  const std::uint16_t* near_column = nullptr;
  const index* far_column = nullptr;
  const float* single_value = nullptr;
  const V* full_value = nullptr;

  packed_view() = default;
  packed_view(const packed<V>& a)  // NOLINT: an owner is used where a view is expected
      : rows(a.rows),
        cols(a.cols),
        slices(a.slices.data()),
        runs(a.runs.data()),
        rest_row(a.rest_row.data()),
        rest_length(a.rest_length.data()),
        quad_row(a.quad_row.data()),
        quad_length(a.quad_length.data()),
        diagonal(a.diagonal.data()),
        mask(a.mask.data()),
        constant(a.constant.data()),
        near_column(a.near_column.data()),
        far_column(a.far_column.data()),
        single_value(a.single_value.data()),
        full_value(a.full_value.data()) {}
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

template <class V> void validate(const packed<V>& a);
template <class V> footprint footprint_of(const packed<V>& a);
template <class V> footprint packed_footprint(csr_view<V> a);
template <class V> footprint packed_footprint(const csr<V>& a) { return packed_footprint(csr_view<V>(a)); }

/// body(place, k) for the entries of the rest of a slice, or its quads, in the order in which they are
/// stored: entry k of the row at a place. The rows have the given lengths.
template <class Body> void for_each_rest_place(const index* length, offset places, Body body) {
  constexpr offset group_rows = packed<double>::group_rows;
  for (offset first = 0; first < places; first += group_rows) {
    const offset last = std::min(first + group_rows, places);
    const index together = last - first == group_rows ? length[last - 1] : 0;
    for (index k = 0; k < together; ++k)
      for (offset r = first; r < last; ++r) body(r, k);
    for (offset r = first; r < last; ++r)
      for (index k = together; k < length[r]; ++k) body(r, k);
  }
}

template <class V> V packed_value(const packed<V>& a, packed_values kind, offset at) {
  if (kind == packed_values::one) return a.constant[at];
  return kind == packed_values::single ? static_cast<V>(a.single_value[at]) : a.full_value[at];
}

/// body(row, column, value) for the entries of the rest of slice n; those of a row in its own order.
template <class V, class Body> void for_each_rest_entry(const packed<V>& a, std::size_t n, Body body) {
  packed_slice s = a.slices[n];
  const packed_slice& next = a.slices[n + 1];
  const auto next_column = [&] {
    const bool is_near = s.columns == packed_columns::near;
    const index from_first = is_near ? a.near_column[s.column] : a.far_column[s.column];
    ++s.column;
    return s.first_column + from_first;
  };
  const auto next_value = [&] {
    const V value = packed_value(a, s.values, s.value);
    s.value += s.values != packed_values::one;
    return value;
  };
  struct entry {
    index row, column;
    V value;
  };
  std::vector<entry> others, in_quads;  // of rows with quads
  std::vector<char> has_quads(static_cast<std::size_t>(next.first_row - s.first_row));
  for (offset q = s.quads; q < next.quads; ++q) has_quads[a.quad_row[q]] = 1;
  for_each_rest_place(a.rest_length.data() + s.rest, next.rest - s.rest, [&](offset place, index) {
    const index local = a.rest_row[s.rest + place], column = next_column();
    if (has_quads[static_cast<std::size_t>(local)])
      others.push_back({s.first_row + local, column, next_value()});
    else
      body(s.first_row + local, column, next_value());
  });
  for_each_rest_place(a.quad_length.data() + s.quads, next.quads - s.quads, [&](offset place, index) {
    const index row = s.first_row + a.quad_row[s.quads + place], column = next_column();
    for (index e = 0; e < a.quad_entries; ++e) in_quads.push_back({row, column + e, next_value()});
  });
  // The columns of a row with quads rise.
  others.insert(others.end(), in_quads.begin(), in_quads.end());
  std::stable_sort(others.begin(), others.end(), [](const entry& one, const entry& other) {
    return std::pair(one.row, one.column) < std::pair(other.row, other.column);
  });
  for (const entry& e : others) body(e.row, e.column, e.value);
}

/// body(row, column, value) for every entry; those of a row in its own order.
template <class V, class Body> void for_each_trusted_entry(const packed<V>& a, Body body) {
  for (std::size_t n = 0; n + 1 < a.slices.size(); ++n) {
    packed_slice s = a.slices[n];
    const packed_slice& next = a.slices[n + 1];
    std::vector<char> is_rest(static_cast<std::size_t>(next.first_row - s.first_row));
    for (offset r = s.rest; r < next.rest; ++r) is_rest[a.rest_row[r]] = 1;
    for (offset r = s.run; r < next.run; ++r) {
      const packed_run& run = a.runs[static_cast<std::size_t>(r)];
      for (index i = 0; i < run.rows; ++i) {
        const index row = run.first_row + i;
        if (is_rest[static_cast<std::size_t>(row - s.first_row)]) continue;
        const packed_run::places value = run.places_of(i);
        for (index k = 0; k < run.width; ++k) {
          if (run.mask != run.none && (a.mask[run.mask_of(i) + k] >> i % run.block_rows & 1) == 0) continue;
          body(row, row + a.diagonal[run.diagonal + k], packed_value(a, run.values, value[k]));
        }
      }
    }
    for_each_rest_entry(a, n, body);
  }
}

}  // namespace nz
