#include <algorithm>
#include <numeric>

#include <nonzero/formats/invariants_internal.hpp>
#include <nonzero/formats/jds.hpp>

namespace nz {

template <class V> void validate(const jds<V>& a) {
  constexpr invariants check{"jds"};
  check.sizes(a.rows, a.cols);
  check.length("row", a.row.size(), a.rows);
  check.permutation("row", a.row);
  check.length("row_begin", a.row_begin.size(), offset{a.rows} + 1);
  check.begins("row_begin", a.row_begin, static_cast<offset>(a.col.size()));
  check.sorted_by_length(a.row, 0, a.rows, [&](index p) { return a.row_begin[p + 1] - a.row_begin[p]; });
  check.within("col", a.col, a.cols);
  check.length("val", a.val.size(), a.nnz());
}

template <class V> footprint footprint_of(const jds<V>& a) {
  return {bytes_of(a.row, a.row_begin, a.col, a.val), 0};
}

template <class V> footprint jds_footprint(csr_view<V> a) {
  a = validated(a);
  return {footprint_of(a).bytes + a.rows * sizeof(index), 0};
}

template <class V> array<index> rows_by_falling_length(csr_view<V> a) {
  a = validated(a);
  array<index> row(a.rows);
  std::iota(row.begin(), row.end(), 0);
  std::stable_sort(row.begin(), row.end(),
                   [&](index i, index j) { return a.row_length(i) > a.row_length(j); });
  return row;
}

template <class V> jds<V> to_jds(csr_view<V> a) {
  a = validated(a);
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

#define NONZERO_INSTANTIATE(V)                               \
  template void validate(const jds<V>&);                     \
  template footprint footprint_of(const jds<V>&);            \
  template footprint jds_footprint(csr_view<V>);             \
  template array<index> rows_by_falling_length(csr_view<V>); \
  template jds<V> to_jds(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
