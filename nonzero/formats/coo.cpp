#include <algorithm>

#include <nonzero/formats/conversion_internal.hpp>
#include <nonzero/formats/coo.hpp>
#include <nonzero/formats/invariants_internal.hpp>

namespace nz {

template <class V> void validate(const coo<V>& a) {
  invariants::sizes_are_not_negative("coo", a.rows, a.cols);
  invariants::length_is("coo", "row", a.row.size(), a.nnz());
  invariants::within("coo", "row", a.row, a.rows);
  invariants::never_falls("coo", "row", a.row);
  invariants::length_is("coo", "col", a.col.size(), a.nnz());
  invariants::within("coo", "col", a.col, a.cols);
}

template <class V> footprint footprint_of(const coo<V>& a) { return {bytes_of(a.row, a.col, a.val), 0}; }

template <class V> footprint coo_footprint(csr_view<V> a) {
  return {saturating_bytes(a.row_begin.back(), 2 * sizeof(index) + sizeof(V)), 0};
}

template <class V> coo<V> to_coo(csr_view<V> a) {
  coo<V> out{
      a.rows, a.cols, array<index>(a.col.size()), {a.col.begin(), a.col.end()}, {a.val.begin(), a.val.end()}};
  for (index i = 0; i < a.rows; ++i)
    std::fill(out.row.begin() + a.row_begin[i], out.row.begin() + a.row_begin[i + 1], i);
  return out;
}

template <class V> csr<V> to_csr(const coo<V>& a) { return csr_from_entries<V>(a); }

#define NONZERO_INSTANTIATE(V)                    \
  template void validate(const coo<V>&);          \
  template footprint footprint_of(const coo<V>&); \
  template footprint coo_footprint(csr_view<V>);  \
  template coo<V> to_coo(csr_view<V>);            \
  template csr<V> to_csr(const coo<V>&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
