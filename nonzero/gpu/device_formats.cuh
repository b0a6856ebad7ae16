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

// The formats as they lie in a device's memory. Their arrays and invariants are those of formats/, but for
// row offsets, which take 32 bits there wherever they fit.
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

/// A device_csr whose offsets are of one type. The spans are of the device's memory.
template <class V, class Offset> struct csr_on_device {
  std::shared_ptr<const device_csr<V>> whole;
  index rows, cols;
  offset nnz;
  std::span<const Offset> row_begin;
  std::span<const index> col;
  std::span<const V> val;

  explicit csr_on_device(const std::shared_ptr<const device_csr<V>>& a)
      : whole(a),
        rows(a->rows),
        cols(a->cols),
        nnz(a->nnz),
        row_begin(offsets_of(*a)),
        col(a->col.data(), a->col.size()),
        val(a->val.data(), a->val.size()) {}
  template <class Queue>
  csr_on_device(Queue&, const std::shared_ptr<const device_csr<V>>& a, const prepare_options&)
      : csr_on_device(a) {}
  footprint storage() const { return whole->storage(); }

 private:
  static std::span<const Offset> offsets_of(const device_csr<V>& a) {
    if constexpr (std::is_same_v<Offset, offset>)
      return {a.wide_row_begin.data(), a.wide_row_begin.size()};
    else
      return {a.row_begin.data(), a.row_begin.size()};
  }
};

/// CSR with what the kernels that hand out rows need besides: the next row, and how many blocks are done.
/// Both are 0 between multiplies.
template <class V, class Offset> struct csr_with_counter : csr_on_device<V, Offset> {
  mutable vector<unsigned> counters;  // a multiply leaves them as it found them

  template <class Queue>
  csr_with_counter(Queue&, const std::shared_ptr<const device_csr<V>>& a, const prepare_options& options)
      : csr_on_device<V, Offset>(a), counters(place(options.on, array<unsigned>(2, 0U))) {}
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
  device_coo(csr_view<V> a, const prepare_options& options) : device_coo(to_coo(a), options) {}
  offset nnz() const { return static_cast<offset>(val.size()); }
  footprint storage() const { return {row.bytes() + col.bytes() + val.bytes(), 0}; }
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
  device_ell(csr_view<V> a, const prepare_options& options)
      : device_ell(to_ell(a, options.budget), options) {}
  footprint storage() const { return size; }
};

template <class V> struct device_hyb {
  index rows, cols;
  device_ell<V> regular;
  device_coo<V> rest;

  device_hyb(const hyb<V>& a, const prepare_options& options)
      : rows(a.rows()), cols(a.cols()), regular(a.regular, options), rest(a.rest, options) {}
  device_hyb(csr_view<V> a, const prepare_options& options)
      : device_hyb(to_hyb(a, -1, options.budget), options) {}
  footprint storage() const {
    const footprint in_ell = regular.storage(), in_coo = rest.storage();
    return {in_ell.bytes + in_coo.bytes, in_ell.padding_bytes};
  }
};

template <class V, class Offset> struct device_jds {
  index rows, cols;
  vector<index> row;
  vector<Offset> row_begin;
  vector<index> col;
  vector<V> val;

  device_jds(const jds<V>& a, const prepare_options& options)
      : rows(a.rows),
        cols(a.cols),
        row(place(options.on, a.row)),
        row_begin(place_offsets<Offset>(options.on, a.row_begin)),
        col(place(options.on, a.col)),
        val(place(options.on, a.val)) {}
  device_jds(csr_view<V> a, const prepare_options& options) : device_jds(to_jds(a), options) {}
  footprint storage() const { return {row.bytes() + row_begin.bytes() + col.bytes() + val.bytes(), 0}; }
};

template <class V, class Offset> struct device_tjds {
  index rows, cols;
  offset width;
  vector<index> row;
  vector<Offset> diagonal_begin;
  vector<index> col;
  vector<V> val;

  device_tjds(const tjds<V>& a, const prepare_options& options)
      : rows(a.rows),
        cols(a.cols),
        width(a.width()),
        row(place(options.on, a.row)),
        diagonal_begin(place_offsets<Offset>(options.on, a.diagonal_begin)),
        col(place(options.on, a.col)),
        val(place(options.on, a.val)) {}
  device_tjds(csr_view<V> a, const prepare_options& options) : device_tjds(to_tjds(a), options) {}
  footprint storage() const { return {row.bytes() + diagonal_begin.bytes() + col.bytes() + val.bytes(), 0}; }
};

}  // namespace nz::gpu
