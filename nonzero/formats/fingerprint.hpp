#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include <nonzero/formats/csr.hpp>

// Identifies a matrix by a sample of its row begins, columns and values: the same numbers on every device.
namespace nz {

constexpr int fingerprint_samples = 512;
constexpr int words_per_sample = 3;

struct sampled_place {
  offset entry, row;
};

/// Sample s of a matrix that has entries. Equal distances would always hit the same place of a row in a
/// regular matrix.
constexpr sampled_place fingerprint_place(int s, index rows, offset nnz) {
  const offset wobble = offset{s} * s % 97;
  return {(nnz / fingerprint_samples * s + wobble) % nnz,
          (offset{rows} * s / fingerprint_samples + wobble) % rows};
}

/// Column, value and row begin of each sample; none for a matrix without entries.
template <class V> std::vector<std::uint64_t> fingerprint(csr_view<V> a) {
  std::vector<std::uint64_t> out;
  for (int s = 0; s < fingerprint_samples && a.nnz() > 0; ++s) {
    const sampled_place at = fingerprint_place(s, a.rows, a.nnz());
    out.push_back(static_cast<std::uint64_t>(a.col[at.entry]));
    out.push_back(std::bit_cast<bits_of<V>>(a.val[at.entry]));
    out.push_back(static_cast<std::uint64_t>(a.row_begin[at.row]));
  }
  return out;
}
template <class V> std::vector<std::uint64_t> fingerprint(const csr<V>& a) {
  return fingerprint(csr_view<V>(a));
}

}  // namespace nz
