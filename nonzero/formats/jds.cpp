#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <nonzero/formats/conversion_internal.hpp>
#include <nonzero/formats/invariants_internal.hpp>
#include <nonzero/formats/jds.hpp>

namespace nz {

template <class V> void validate(const jds<V>& a) {
  invariants::sizes_are_not_negative("jds", a.rows, a.cols);
  invariants::length_is("jds", "row", a.row.size(), a.rows);
  invariants::is_permutation("jds", "row", a.row);
  invariants::length_is("jds", "row_begin", a.row_begin.size(), offset{a.rows} + 1);
  invariants::begins_cover("jds", "row_begin", a.row_begin, static_cast<offset>(a.col.size()));
  for (index p = 1; p < a.rows; ++p) {
    const offset longer = a.row_begin[p] - a.row_begin[p - 1], length = a.row_begin[p + 1] - a.row_begin[p];
    if (length > longer) throw shape_error(fmt::format("jds: place {} is longer than the one before it", p));
    if (length == longer && a.row[p] < a.row[p - 1])
      throw shape_error(
          fmt::format("jds: rows {} and {} are equally long but out of order", a.row[p - 1], a.row[p]));
  }
  invariants::within("jds", "col", a.col, a.cols);
  invariants::length_is("jds", "val", a.val.size(), a.nnz());
}

template <class V> footprint footprint_of(const jds<V>& a) {
  return {bytes_of(a.row, a.row_begin, a.col, a.val), 0};
}

template <class V> footprint jds_footprint(csr_view<V> a) {
  return {footprint_of(a).bytes + a.rows * sizeof(index), 0};
}

template <class V> array<index> rows_by_falling_length(csr_view<V> a) {
  array<index> row(a.rows);
  std::iota(row.begin(), row.end(), 0);
  std::stable_sort(row.begin(), row.end(),
                   [&](index i, index j) { return a.row_length(i) > a.row_length(j); });
  return row;
}

template <class V> jds<V> to_jds(csr_view<V> a) {
  jds<V> out{a.rows, a.cols, rows_by_falling_length(a), array<offset>(a.row_begin.size()), {}, {}};
  out.col.reserve(a.col.size());
  out.val.reserve(a.val.size());
  for (index p = 0; p < a.rows; ++p) {
    const offset begin = a.row_begin[out.row[p]], end = a.row_begin[out.row[p] + 1];
    out.row_begin[p] = static_cast<offset>(out.col.size());
    out.col.insert(out.col.end(), a.col.begin() + begin, a.col.begin() + end);
    out.val.insert(out.val.end(), a.val.begin() + begin, a.val.begin() + end);
  }
  out.row_begin[a.rows] = a.nnz();
  return out;
}

template <class V> csr<V> to_csr(const jds<V>& a) { return csr_from_entries<V>(a); }

#define NONZERO_INSTANTIATE(V)                               \
  template void validate(const jds<V>&);                     \
  template footprint footprint_of(const jds<V>&);            \
  template footprint jds_footprint(csr_view<V>);             \
  template array<index> rows_by_falling_length(csr_view<V>); \
  template jds<V> to_jds(csr_view<V>);                       \
  template csr<V> to_csr(const jds<V>&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
