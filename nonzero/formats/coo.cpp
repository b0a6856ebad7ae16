#include <algorithm>

#include <nonzero/formats/coo.hpp>
#include <nonzero/formats/invariants_internal.hpp>

namespace nz {

template <class V> void validate(const coo<V>& a) {
  constexpr invariants check{"coo"};
  check.sizes(a.rows, a.cols);
  check.length("row", a.row.size(), a.nnz());
  check.within("row", a.row, a.rows);
  check.never_falls<index>("row", a.row);
  check.length("col", a.col.size(), a.nnz());
  check.within("col", a.col, a.cols);
}

template <class V> footprint footprint_of(const coo<V>& a) { return {bytes_of(a.row, a.col, a.val), 0}; }

template <class V> footprint coo_footprint(csr_view<V> a) {
  a = validated(a);
  return {saturating_bytes(a.row_begin.back(), 2 * sizeof(index) + sizeof(V)), 0};
}

template <class V> coo<V> to_coo(csr_view<V> a) {
  a = validated(a);
  coo<V> out{
      a.rows, a.cols, array<index>(a.col.size()), {a.col.begin(), a.col.end()}, {a.val.begin(), a.val.end()}};
  for (index i = 0; i < a.rows; ++i)
    std::fill(out.row.begin() + a.row_begin[i], out.row.begin() + a.row_begin[i + 1], i);
  return out;
}

#define NONZERO_INSTANTIATE(V)                    \
  template void validate(const coo<V>&);          \
  template footprint footprint_of(const coo<V>&); \
  template footprint coo_footprint(csr_view<V>);  \
  template coo<V> to_coo(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
