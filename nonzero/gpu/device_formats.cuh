#pragma once

#include <memory>
#include <span>
#include <type_traits>

#include <nonzero/core/vector.hpp>
#include <nonzero/formats/coo.hpp>
#include <nonzero/formats/ell.hpp>
#include <nonzero/formats/hyb.hpp>
#include <nonzero/formats/jds.hpp>
#include <nonzero/formats/tjds.hpp>
#include <nonzero/kernel/device_csr.hpp>
#include <nonzero/kernel/kernel_row.hpp>

// Owners of a format's arrays in a device's memory, and the views that kernels take. Arrays and invariants
// are those of formats/, but row offsets take 32 bits wherever they fit.
namespace nz::gpu {

template <class T> vector<T> place(const std::shared_ptr<device>& on, const array<T>& values) {
  return vector<T>(on, std::span<const T>(values));
}

template <class Offset>
vector<Offset> place_offsets(const std::shared_ptr<device>& on, const array<offset>& values) {
  if constexpr (std::is_same_v<Offset, offset>)
    return place(on, values);
  else
    return place(on, array<Offset>(values.begin(), values.end()));
}

template <class T> std::span<const T> span_of(const vector<T>& values) {
  return {values.data(), values.size()};
}

/// The view of a device_csr, which it keeps alive: kernels of CSR share one.
template <class A, class Offset> struct shared_csr : csr_view<A, Offset> {
  std::shared_ptr<const device_csr<A>> owner;

  explicit shared_csr(const std::shared_ptr<const device_csr<A>>& a)
      : csr_view<A, Offset>(a->template view<Offset>()), owner(a) {}
  template <class Queue>
  shared_csr(Queue&, const std::shared_ptr<const device_csr<A>>& a, const prepare_options&) : shared_csr(a) {}
  csr_view<A, Offset> view() const { return *this; }
  footprint storage() const { return owner->storage(); }
};

template <class V> struct device_coo {
  index rows, cols;
  vector<index> row, col;
  vector<V> val;

  device_coo(const coo<V>& a, const prepare_options& options)
      : rows(a.rows),
        cols(a.cols),
        row(place(options.on, a.row)),
        col(place(options.on, a.col)),
        val(place(options.on, a.val)) {}
  template <class Queue>
  device_coo(Queue&, csr_view<V> a, const prepare_options& options) : device_coo(to_coo(a), options) {}
  coo_view<V> view() const { return {rows, cols, span_of(row), span_of(col), span_of(val)}; }
  offset nnz() const { return static_cast<offset>(val.size()); }
  footprint storage() const { return {bytes_of(row, col, val), 0}; }
};

template <class V> struct device_ell {
  index rows, cols;
  offset width;
  vector<index> col;
  vector<V> val;
  footprint size;

  device_ell(const ell<V>& a, const prepare_options& options)
      : rows(a.rows),
        cols(a.cols),
        width(a.width),
        col(place(options.on, a.col)),
        val(place(options.on, a.val)),
        size(footprint_of(a)) {}
  template <class Queue>
  device_ell(Queue&, csr_view<V> a, const prepare_options& options)
      : device_ell(to_ell(a, options.budget), options) {}
  ell_view<V> view() const { return {rows, cols, width, span_of(col), span_of(val)}; }
  footprint storage() const { return size; }
};

template <class V> struct device_hyb {
  device_ell<V> regular;
  device_coo<V> rest;

  device_hyb(const hyb<V>& a, const prepare_options& options)
      : regular(a.regular, options), rest(a.rest, options) {}
  template <class Queue>
  device_hyb(Queue&, csr_view<V> a, const prepare_options& options)
      : device_hyb(to_hyb(a, -1, options.budget), options) {}
  hyb_view<V> view() const { return {regular.view(), rest.view()}; }
  footprint storage() const {
    const footprint in_ell = regular.storage(), in_coo = rest.storage();
    return {in_ell.bytes + in_coo.bytes, in_ell.padding_bytes};
  }
};

/// The arrays of JDS and of transposed JDS.
template <class V, class Offset> struct device_jagged {
  index rows, cols;
  vector<index> row;
  vector<Offset> begin;  // of the rows, or of the diagonals
  vector<index> col;
  vector<V> val;

  template <class Format>
  device_jagged(const Format& a, const array<offset>& begins, const prepare_options& options)
      : rows(a.rows),
        cols(a.cols),
        row(place(options.on, a.row)),
        begin(place_offsets<Offset>(options.on, begins)),
        col(place(options.on, a.col)),
        val(place(options.on, a.val)) {}
  template <class View> View view_as() const {
    return {rows, cols, span_of(row), span_of(begin), span_of(col), span_of(val)};
  }
  footprint storage() const { return {bytes_of(row, begin, col, val), 0}; }
};

template <class V, class Offset> struct device_jds : device_jagged<V, Offset> {
  device_jds(const jds<V>& a, const prepare_options& options)
      : device_jagged<V, Offset>(a, a.row_begin, options) {}
  template <class Queue>
  device_jds(Queue&, csr_view<V> a, const prepare_options& options) : device_jds(to_jds(a), options) {}
  jds_view<V, Offset> view() const { return this->template view_as<jds_view<V, Offset>>(); }
};

template <class V, class Offset> struct device_tjds : device_jagged<V, Offset> {
  device_tjds(const tjds<V>& a, const prepare_options& options)
      : device_jagged<V, Offset>(a, a.diagonal_begin, options) {}
  template <class Queue>
  device_tjds(Queue&, csr_view<V> a, const prepare_options& options) : device_tjds(to_tjds(a), options) {}
  tjds_view<V, Offset> view() const { return this->template view_as<tjds_view<V, Offset>>(); }
};

}  // namespace nz::gpu
