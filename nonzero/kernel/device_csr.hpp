#pragma once

#include <cstdint>
#include <memory>

#include <nonzero/core/vector.hpp>
#include <nonzero/formats/csr.hpp>

namespace nz {

/// CSR in a device's memory, held by shared_ptr and never changed: place_csr copies a matrix there,
/// with offsets of 32 bits if they fit; borrow_csr uses arrays that are there already. row_begin and col as
/// in csr.
template <class V> struct device_csr {
  index rows = 0, cols = 0;                   // >= 0
  offset nnz = 0;                             // >= 0
  vector_view<const std::int32_t> row_begin;  // rows+1 long, unless the offsets are wide
  vector_view<const offset> wide_row_begin;   // rows+1 long where they are; else empty
  vector_view<const index> col;               // nnz long
  vector_view<const V> val;                   // nnz long

  bool is_wide() const { return wide_row_begin.size() > 0; }
  footprint storage() const {
    return {row_begin.bytes() + wide_row_begin.bytes() + col.bytes() + val.bytes(), 0};
  }
  const std::shared_ptr<device>& where() const { return on; }
  /// The arrays as kernels take them. Offset: offset if is_wide(), else std::int32_t.
  template <class Offset> csr_view<V, Offset> view() const {
    csr_view<V, Offset> out;
    if constexpr (std::is_same_v<Offset, offset>)
      out = {rows, cols, nnz, wide_row_begin.data(), col.data(), val.data()};
    else
      out = {rows, cols, nnz, row_begin.data(), col.data(), val.data()};
    out.is_trusted = is_trusted;
    return out;
  }

  std::shared_ptr<device> on;
  std::shared_ptr<const void> owner = nullptr;  // of the arrays; null where they are borrowed
  bool is_trusted = false;                      // as in csr_view; place_csr and borrow_csr set it
};

/// As for a csr_view. A GPU looks at its arrays itself; the host copies them only to say what is wrong.
template <class V> void validate(const device_csr<V>& a);
/// The matrix as trusted: validated, unless somebody vouches for it. Throws `shape_error` for a null pointer.
template <class V>
std::shared_ptr<const device_csr<V>> validated(const std::shared_ptr<const device_csr<V>>& a,
                                               bool is_trusted = false);

/// Whether offsets of this many entries need 64 bits in a device's memory. The last step of a group of lanes
/// reaches up to 256 past the end and must not overflow either.
constexpr bool needs_wide_offsets(offset nnz) { return nnz > offset{0x7fffffff} - 256; }

/// Copies a matrix of the host to a device, validated. Throws `device_error` where there is no device, or
/// where it is full (std::bad_alloc on the host).
template <class V, class Offset>
std::shared_ptr<const device_csr<V>> place_csr(csr_view<V, Offset> a, std::shared_ptr<device> on,
                                               bool wide_offsets = false);
template <class V>
std::shared_ptr<const device_csr<V>> place_csr(const csr<V>& a, std::shared_ptr<device> on,
                                               bool wide_offsets = false) {
  return place_csr(csr_view<V>(a), std::move(on), wide_offsets);
}

/// Uses arrays that are in the device's memory already: nothing is copied. They must stay unchanged as long
/// as the result lives. Waits for `in`, the stream that writes them, if any. Throws `unsupported` for 32-bit
/// offsets of a matrix that needs 64 (needs_wide_offsets). Validates the arrays, unless the view is trusted.
template <class V, class Offset>
std::shared_ptr<const device_csr<V>> borrow_csr(csr_view<V, Offset> a, std::shared_ptr<device> on,
                                                stream in = {});

template <class V> csr<V> to_host(const device_csr<V>& a);

}  // namespace nz
