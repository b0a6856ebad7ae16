#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <nonzero/formats/csr.hpp>

// What several conversions need.
namespace nz {

template <class V> using bits_of = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;

/// Lossless means that the bits come back, those of NaN and -0 included.
template <class V> bool have_same_bits(V a, V b) {
  return std::bit_cast<bits_of<V>>(a) == std::bit_cast<bits_of<V>>(b);
}

/// Whether single precision holds the value.
template <class V> bool is_exactly_single(V value) {
  return have_same_bits(static_cast<V>(static_cast<float>(value)), value);
}

/// CSR of a format that has for_each_entry. The entries of a row are in the order in which they are visited.
template <class V, class Format> csr<V> csr_from_entries(const Format& a) {
  const auto [rows, cols] = shape_of(a);
  csr<V> out{rows, cols, array<offset>(static_cast<std::size_t>(rows) + 1, 0), {}, {}};
  for_each_entry(a, [&](index row, index, V) { ++out.row_begin[row + 1]; });
  for (index i = 0; i < out.rows; ++i) out.row_begin[i + 1] += out.row_begin[i];
  out.col.resize(static_cast<std::size_t>(out.nnz()));
  out.val.resize(static_cast<std::size_t>(out.nnz()));
  array<offset> next(out.row_begin.begin(), out.row_begin.end() - 1);
  for_each_entry(a, [&](index row, index col, V val) {
    const offset k = next[row]++;
    out.col[k] = col;
    out.val[k] = val;
  });
  return out;
}

}  // namespace nz
