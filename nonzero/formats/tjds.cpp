#include <algorithm>

#include <fmt/format.h>

#include <nonzero/formats/conversion_internal.hpp>
#include <nonzero/formats/invariants_internal.hpp>
#include <nonzero/formats/jds.hpp>
#include <nonzero/formats/tjds.hpp>

namespace nz {
namespace {

/// The number of entries of place p: the diagonals that reach it, which are the first ones.
template <class V> offset length_of_place(const tjds<V>& a, index p) {
  offset low = 0, high = a.width();
  while (low < high) {
    const offset k = (low + high) / 2;
    if (a.diagonal_begin[k + 1] - a.diagonal_begin[k] > p)
      low = k + 1;
    else
      high = k;
  }
  return low;
}

}  // namespace

template <class V> void validate(const tjds<V>& a) {
  invariants::sizes_are_not_negative("tjds", a.rows, a.cols);
  invariants::length_is("tjds", "row", a.row.size(), a.rows);
  invariants::is_permutation("tjds", "row", a.row);
  invariants::begins_cover("tjds", "diagonal_begin", a.diagonal_begin, static_cast<offset>(a.col.size()));
  offset longest = a.rows;
  for (offset k = 0; k < a.width(); ++k) {
    const offset length = a.diagonal_begin[k + 1] - a.diagonal_begin[k];
    if (length < 1 || length > longest)
      throw shape_error(fmt::format("tjds: diagonal {} is {} long, outside 1 to {}", k, length, longest));
    longest = length;
  }
  for (index p = 1; p < a.rows; ++p)
    if (a.row[p] < a.row[p - 1] && length_of_place(a, p) == length_of_place(a, p - 1))
      throw shape_error(
          fmt::format("tjds: rows {} and {} are equally long but out of order", a.row[p - 1], a.row[p]));
  invariants::within("tjds", "col", a.col, a.cols);
  invariants::length_is("tjds", "val", a.val.size(), a.nnz());
}

template <class V> footprint footprint_of(const tjds<V>& a) {
  return {bytes_of(a.row, a.diagonal_begin, a.col, a.val), 0};
}

template <class V> footprint tjds_footprint(csr_view<V> a) {
  return {a.rows * sizeof(index) + (longest_row(a) + 1) * sizeof(offset) +
              a.row_begin.back() * (sizeof(index) + sizeof(V)),
          0};
}

template <class V> tjds<V> to_tjds(csr_view<V> a) {
  tjds<V> out{a.rows,
              a.cols,
              rows_by_falling_length(a),
              array<offset>(longest_row(a) + 1, 0),
              array<index>(a.col.size()),
              array<V>(a.val.size())};
  // Diagonal k has the places whose rows are longer than k, which are the first ones.
  index places = a.rows;
  for (offset k = 0; k < out.width(); ++k) {
    while (places > 0 && a.row_length(out.row[places - 1]) <= k) --places;
    out.diagonal_begin[k + 1] = out.diagonal_begin[k] + places;
  }
  // Place by place, so that each row is read once, from its begin to its end.
  for (index p = 0; p < a.rows; ++p) {
    const offset begin = a.row_begin[out.row[p]], length = a.row_length(out.row[p]);
    for (offset k = 0; k < length; ++k) {
      out.col[out.diagonal_begin[k] + p] = a.col[begin + k];
      out.val[out.diagonal_begin[k] + p] = a.val[begin + k];
    }
  }
  return out;
}

template <class V> csr<V> to_csr(const tjds<V>& a) { return csr_from_entries<V>(a); }

#define NONZERO_INSTANTIATE(V)                     \
  template void validate(const tjds<V>&);          \
  template footprint footprint_of(const tjds<V>&); \
  template footprint tjds_footprint(csr_view<V>);  \
  template tjds<V> to_tjds(csr_view<V>);           \
  template csr<V> to_csr(const tjds<V>&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
