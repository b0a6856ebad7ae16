#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <nonzero/core/hash.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/formats/csr.hpp>

// For the generators.
namespace nz::generate {

// Random numbers by position instead of in sequence: number k of a stream is a hash of (stream, k), so any
// thread can make any of them. Integers and exact scaling only, without rounding: the same bits from every
// compiler, with or without fused multiply-add.

/// floor(limit * bits / 2^64): uniform in [0, limit), to within 2^-33.
constexpr index below(index limit, std::uint64_t bits) {
  const auto n = static_cast<std::uint64_t>(limit);
  return static_cast<index>(((bits >> 32) * n + (((bits & 0xffffffff) * n) >> 32)) >> 32);
}

/// Uniform in (-1, 1), symmetric about 0 and never 0: an odd multiple of 2^-52, or of 2^-23 in float.
template <class V> constexpr V between_minus_one_and_one(std::uint64_t bits) {
  constexpr int digits = std::is_same_v<V, float> ? 24 : 53;
  constexpr auto half = std::int64_t{1} << (digits - 1);
  const auto odd = static_cast<std::int64_t>((bits >> (64 - digits)) | 1);
  return static_cast<V>(odd - half) * (V{1} / static_cast<V>(half));
}

inline constexpr offset most_entries = offset{1} << 48;  // no memory holds more

/// Makes a matrix by blocks of rows, in parallel. `length_of(i)` is the number of entries of row i;
/// `fill(i, first, col, val)` writes them, the first as entry `first` of the matrix.
template <class V, class Length, class Fill>
csr<V> fill_rows(index rows, index cols, const Length& length_of, const Fill& fill) {
  constexpr offset block = 4096;
  const offset blocks = (rows + block - 1) / block;
  const auto end_of = [&](offset b) { return std::min<offset>((b + 1) * block, rows); };

  std::vector<offset> block_begin(blocks + 1, 0);
  parallel_tasks(blocks, 0, [&](offset b) {
    offset entries = 0;
    for (offset i = b * block; i < end_of(b); ++i) entries += length_of(static_cast<index>(i));
    block_begin[b + 1] = entries;
  });
  for (offset b = 0; b < blocks; ++b) block_begin[b + 1] += block_begin[b];

  // A matrix that is too large fails here, before a page of it is touched.
  if (block_begin[blocks] > most_entries)
    throw shape_error(std::to_string(block_begin[blocks]) + " entries are more than any memory holds");
  const auto nnz = static_cast<std::size_t>(block_begin[blocks]);
  csr<V> a{rows, cols, {}, {}, {}};
  a.val.resize(nnz);
  a.col.resize(nnz);
  a.row_begin.resize(static_cast<std::size_t>(rows) + 1);
  a.row_begin[rows] = block_begin[blocks];

  parallel_tasks(blocks, 0, [&](offset b) {
    offset first = block_begin[b];
    for (offset i = b * block; i < end_of(b); ++i) {
      const auto row = static_cast<index>(i);
      a.row_begin[i] = first;
      fill(row, first, a.col.data() + first, a.val.data() + first);
      first += length_of(row);
    }
  });
  return a;
}

}  // namespace nz::generate
