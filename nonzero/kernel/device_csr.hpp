#pragma once

#include <cstdint>
#include <memory>

#include <nonzero/core/vector.hpp>
#include <nonzero/formats/csr.hpp>

namespace nz {

/// CSR in a device's memory: what it holds is what csr holds, but for offsets, which take 32 bits wherever
/// they fit. Shared by those that read it, and never changed.
template <class V> struct device_csr {
  index rows = 0, cols = 0;        // >= 0
  offset nnz = 0;                  // >= 0
  vector<std::int32_t> row_begin;  // rows+1 long, unless the offsets are wide
  vector<offset> wide_row_begin;   // rows+1 long where they are; else empty
  vector<index> col;               // nnz long
  vector<V> val;                   // nnz long

  bool is_wide() const { return wide_row_begin.size() > 0; }
  footprint storage() const {
    return {row_begin.bytes() + wide_row_begin.bytes() + col.bytes() + val.bytes(), 0};
  }
  const std::shared_ptr<device>& where() const { return val.where(); }
};

/// Whether offsets of so many entries need 64 bits in a device's memory. The last step of a group of lanes
/// goes up to 256 past the end, and must not leave the type either.
constexpr bool needs_wide_offsets(offset nnz) { return nnz > offset{0x7fffffff} - 256; }

/// Copies a matrix to a device. Throws `device_error` (std::bad_alloc on the host) where it is full.
template <class V>
std::shared_ptr<const device_csr<V>> place_csr(const csr<V>& a, std::shared_ptr<device> on,
                                               bool wide_offsets = false);

template <class V> csr<V> to_host(const device_csr<V>& a);

}  // namespace nz
