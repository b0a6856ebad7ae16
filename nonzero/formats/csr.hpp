#pragma once

#include <concepts>
#include <ranges>
#include <span>
#include <type_traits>

#include <nonzero/core/array.hpp>
#include <nonzero/core/errors.hpp>
#include <nonzero/core/load.hpp>
#include <nonzero/core/types.hpp>
#include <nonzero/formats/footprint.hpp>

namespace nz {

/// The last of a format's offsets; 0 where there is none: a matrix that was moved from has empty arrays.
template <class Offsets> constexpr offset last_or_0(const Offsets& begin) {
  return begin.empty() ? 0 : begin.back();
}

/// Compressed sparse rows: row i owns the entries [row_begin[i], row_begin[i+1]).
/// The entries of a row may be in any order and may repeat a column. Readers and generators sort them by
/// column and repeat none.
template <class V> struct csr {
  index rows = 0, cols = 0;    // >= 0
  array<offset> row_begin{0};  // rows+1 long; starts at 0, ends at nnz, never falls
  array<index> col;            // nnz long; 0 <= col < cols
  array<V> val;                // nnz long

  offset nnz() const { return last_or_0(row_begin); }
  offset row_length(index i) const { return row_begin[i + 1] - row_begin[i]; }
};

/// CSR arrays that belong to somebody else, in the host's memory or in a device's; offsets of 32 or 64 bits.
///
/// A view borrows. Nothing is copied or freed: the arrays must stay where they are, unchanged, as long as the
/// view or anything that borrows from it (a plan, a prepared matrix, what borrow_csr returns) is in use. See
/// docs/own-arrays.md.
template <class V, class Offset = offset> struct csr_view {
  static_assert(std::is_same_v<Offset, offset> || std::is_same_v<Offset, std::int32_t>,
                "offsets are std::int32_t or std::int64_t");

  index rows = 0, cols = 0;           // as in csr
  std::span<const Offset> row_begin;  // rows+1 long
  std::span<const index> col;         // nnz long
  std::span<const V> val;             // nnz long
  /// Whether all of this holds, because it was validated or somebody vouches for it: nobody looks again.
  bool is_trusted = false;

  csr_view() = default;
  csr_view(const csr<V>& a)  // NOLINT: an owner is used where a view is expected
      requires std::is_same_v<Offset, offset>
      : rows(a.rows), cols(a.cols), row_begin(a.row_begin), col(a.col), val(a.val) {}
  /// Any contiguous ranges: std::vector, std::span, std::array.
  csr_view(index row_count, index col_count, std::span<const Offset> row_begins,
           std::span<const index> columns, std::span<const V> values)
      : rows(row_count), cols(col_count), row_begin(row_begins), col(columns), val(values) {}
  /// Pointers, as Eigen, SciPy and cuSPARSE have them; the host's or a device's.
  csr_view(index row_count, index col_count, offset entries, const Offset* row_begins, const index* columns,
           const V* values)
      : csr_view(row_count, col_count, {row_begins, static_cast<std::size_t>(row_count) + 1},
                 {columns, static_cast<std::size_t>(entries)}, {values, static_cast<std::size_t>(entries)}) {}

  constexpr offset nnz() const { return static_cast<offset>(col.size()); }
  constexpr offset row_length(index i) const { return row_begin[i + 1] - row_begin[i]; }

  // What kernels read: on a GPU by ld.global.nc, except float values (core/load.hpp).
  constexpr Offset begin(std::int64_t row) const { return load_read_only(row_begin.data() + row); }
  constexpr Offset end(std::int64_t row) const { return load_read_only(row_begin.data() + row + 1); }
  constexpr index column(Offset k) const { return load_read_only(col.data() + k); }
  constexpr V value(Offset k) const { return load_read_only(val.data() + k); }
};

template <std::ranges::contiguous_range RowBegin, std::ranges::contiguous_range Col,
          std::ranges::contiguous_range Val>
csr_view(index, index, const RowBegin&, const Col&, const Val&)
    -> csr_view<std::ranges::range_value_t<Val>, std::ranges::range_value_t<RowBegin>>;
template <class V, class Offset>
csr_view(index, index, offset, const Offset*, const index*, const V*) -> csr_view<V, Offset>;
template <class V> csr_view(const csr<V>&) -> csr_view<V>;

/// Throws `shape_error` naming the first invariant that does not hold. One parallel pass over row_begin and
/// col. Every public function that takes a matrix begins with it, unless the caller vouches for the matrix.
template <class V, class Offset> void validate(csr_view<V, Offset> a);
template <class V> void validate(const csr<V>& a) { validate(csr_view<V>(a)); }

/// The caller vouches that the invariants hold: functions do not validate this view. If they do not hold,
/// anything may happen.
template <class V, class Offset> constexpr csr_view<V, Offset> trusted(csr_view<V, Offset> a) {
  a.is_trusted = true;
  return a;
}
template <class V> csr_view<V> trusted(const csr<V>& a) { return trusted(csr_view<V>(a)); }

/// The view as trusted: validated, unless somebody vouches for it.
template <class V, class Offset>
csr_view<V, Offset> validated(csr_view<V, Offset> a, bool is_trusted = false) {
  if (!a.is_trusted && !is_trusted) validate(a);
  return trusted(a);
}

/// A view with 32-bit offsets, validated and made ready for code that takes 64-bit ones: the offsets are
/// copied, columns and values stay borrowed.
template <class V> struct widened_csr {
  array<offset> row_begin;
  csr_view<V> view;

  explicit widened_csr(csr_view<V, std::int32_t> a) : view(a.rows, a.cols, {}, a.col, a.val) {
    const auto narrow = validated(a).row_begin;
    row_begin.assign(narrow.begin(), narrow.end());
    view.row_begin = row_begin;
    view.is_trusted = true;
  }
  widened_csr(const widened_csr&) = delete;
  widened_csr& operator=(const widened_csr&) = delete;
};

struct matrix_shape {
  index rows, cols;
};
/// The size of a matrix in any format.
template <class Format> matrix_shape shape_of(const Format& a) {
  if constexpr (requires { a.rows(); })
    return {a.rows(), a.cols()};
  else
    return {a.rows, a.cols};
}

/// body(row, column, value) for every entry of a format. Validates it first.
template <class Format, class Body> void for_each_entry(const Format& a, Body body) {
  validate(a);
  for_each_trusted_entry(a, body);
}

/// CSR of a format that has for_each_trusted_entry. The entries of a row are in the order in which they are
/// visited.
template <template <class> class Format, class V> csr<V> to_csr(const Format<V>& a) {
  validate(a);
  const auto [rows, cols] = shape_of(a);
  csr<V> out{rows, cols, array<offset>(static_cast<std::size_t>(rows) + 1, 0), {}, {}};
  for_each_trusted_entry(a, [&](index row, index, V) { ++out.row_begin[row + 1]; });
  for (index i = 0; i < out.rows; ++i) out.row_begin[i + 1] += out.row_begin[i];
  out.col.resize(static_cast<std::size_t>(out.nnz()));
  out.val.resize(static_cast<std::size_t>(out.nnz()));
  array<offset> next(out.row_begin.begin(), out.row_begin.end() - 1);
  for_each_trusted_entry(a, [&](index row, index col, V val) {
    const offset k = next[row]++;
    out.col[k] = col;
    out.val[k] = val;
  });
  return out;
}

/// The arrays of a view, copied.
template <class V> csr<V> copy_of(csr_view<V> a);

template <class V> footprint footprint_of(csr_view<V> a) { return {bytes_of(a.row_begin, a.col, a.val), 0}; }
template <class V> footprint footprint_of(const csr<V>& a) { return footprint_of(csr_view<V>(a)); }

/// The number of entries in the longest row; 0 when there are no rows.
template <class V> offset longest_row(csr_view<V> a);
template <class V> offset longest_row(const csr<V>& a) { return longest_row(csr_view<V>(a)); }

/// The matrix with rows and columns exchanged; each row sorted by column.
template <class V> csr<V> transpose(csr_view<V> a);
template <class V> csr<V> transpose(const csr<V>& a) { return transpose(csr_view<V>(a)); }

template <class V> bool operator==(const csr<V>& a, const csr<V>& b) {
  return a.rows == b.rows && a.cols == b.cols && a.row_begin == b.row_begin && a.col == b.col &&
         a.val == b.val;
}

}  // namespace nz
