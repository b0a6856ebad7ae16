#pragma once

#include <nonzero/formats/coo.hpp>
#include <nonzero/formats/ell.hpp>

namespace nz {

/// Hybrid: the first entries of each row, up to a chosen width, in ELL; the rest in COO. A long row then adds
/// no padding to the others.
template <class V> struct hyb {
  ell<V> regular;  // every row's first regular.width entries
  coo<V> rest;     // same rows and cols; entries only of rows that fill their width in `regular`

  index rows() const { return regular.rows; }
  index cols() const { return regular.cols; }
};

/// Arrays of a hyb that belong to somebody else, in the host's memory or in a device's. Borrows as csr_view.
template <class V> struct hyb_view {
  ell_view<V> regular;
  coo_view<V> rest;
};

/// The default width: the largest k such that at least a third of the rows, and at least one, have k entries
/// or more (0 for a matrix without entries). ELL moves an entry about three times as fast as COO (Bell &
/// Garland 2008, §4.5), so one more ELL column pays as long as a third of its places are used.
template <class V> offset default_hyb_width(csr_view<V> a);
template <class V> offset default_hyb_width(const csr<V>& a) { return default_hyb_width(csr_view<V>(a)); }

template <class V> void validate(const hyb<V>& a);
template <class V> footprint footprint_of(const hyb<V>& a);

/// `width` < 0 stands for the default width, here and in to_hyb.
template <class V> footprint hyb_footprint(csr_view<V> a, offset width = -1);
template <class V> footprint hyb_footprint(const csr<V>& a, offset width = -1) {
  return hyb_footprint(csr_view<V>(a), width);
}
template <class V> hyb<V> to_hyb(csr_view<V> a, offset width = -1, padding_budget budget = {});
template <class V> hyb<V> to_hyb(const csr<V>& a, offset width = -1, padding_budget budget = {}) {
  return to_hyb(csr_view<V>(a), width, budget);
}

/// body(row, column, value) for every entry; those of a row in its own order.
template <class V, class Body> void for_each_trusted_entry(const hyb<V>& a, Body body) {
  for_each_trusted_entry(a.regular, body);
  for_each_trusted_entry(a.rest, body);
}

}  // namespace nz
