#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <nonzero/core/counted.hpp>
#include <nonzero/core/hash.hpp>
#include <nonzero/core/memory.hpp>
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

/// Throws `shape_error` where so many entries fit no memory, `not_enough_memory` where they do not fit this
/// one: before anything is allocated. `bytes_between`: what each entry takes besides, while it is made.
template <class V> void require_room(index rows, offset entries, std::uint64_t bytes_between = 0) {
  if (entries > most_entries)
    throw shape_error(std::to_string(entries) + " entries are more than any memory holds");
  require_memory(
      "out of memory: a matrix of " + counted(rows, "row") + " and " + counted(entries, "entry") + " takes",
      (static_cast<std::uint64_t>(rows) + 1) * sizeof(offset) +
          static_cast<std::uint64_t>(entries) * (sizeof(index) + sizeof(V) + bytes_between));
}

/// Makes a matrix by blocks of rows, in parallel. `length_of(i)` is the number of entries of row i, and
/// `entries` their sum; `fill(i, first, col, val)` writes them, the first as entry `first` of the matrix.
template <class V, class Length, class Fill>
csr<V> fill_rows(index rows, index cols, offset entries, const Length& length_of, const Fill& fill) {
  require_room<V>(rows, entries);
  constexpr offset block = 4096;
  const offset blocks = (rows + block - 1) / block;
  const auto end_of = [&](offset b) { return std::min<offset>((b + 1) * block, rows); };

  std::vector<offset> block_begin(blocks + 1, 0);
  parallel_tasks(blocks, 0, [&](offset b) {
    offset in_block = 0;
    for (offset i = b * block; i < end_of(b); ++i) in_block += length_of(static_cast<index>(i));
    block_begin[b + 1] = in_block;
  });
  for (offset b = 0; b < blocks; ++b) block_begin[b + 1] += block_begin[b];
  if (block_begin[blocks] != entries)
    throw std::logic_error("the entries of a generated matrix are not as many as was said");

  // Where memory is limited otherwise (ulimit -v), this fails before a page is touched.
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
