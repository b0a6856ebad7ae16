#pragma once

#include <algorithm>
#include <cstdint>

#include <nonzero/formats/csr.hpp>

// Slices of 32 rows, or block rows, one for each lane of a warp: their sizes, and how much padding they may
// have.
namespace nz::gpu {

constexpr index slice_height = 32;  // the lanes of a warp
/// Rows that are sorted together. A multiple of the height: only the last slice has places without a row.
constexpr index rows_per_window = 1024;

/// The budget, but always enough for the one slice of a small matrix.
inline padding_budget for_slices(padding_budget budget, footprint csr) {
  constexpr double never_refused = 64 << 10;  // bytes
  return {std::max(budget.times_csr, never_refused / static_cast<double>(csr.bytes))};
}

/// The counts that decide how many bytes blocks in slices take.
struct block_counts {
  index rows, block_size;
  offset nnz, blocks;
  offset places;  // of all slices, for a block each

  offset in_rest() const { return nnz - blocks * block_size * block_size; }
};

/// The bytes of places without a block.
template <class A> std::uint64_t padding_of_blocks(const block_counts& of) {
  const auto block = static_cast<std::uint64_t>(of.block_size * of.block_size) * sizeof(A) + sizeof(index);
  return static_cast<std::uint64_t>(of.places - of.blocks) * block;
}

/// Throws `unsupported` where that exceeds the budget.
template <class A> void require_blocks_within_budget(const block_counts& of, padding_budget budget) {
  const auto count = [](offset n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t padding = padding_of_blocks<A>(of),
                      row_begin = count(of.rows + offset{1}) * sizeof(offset),
                      val = count(of.nnz) * sizeof(A);
  const offset block_rows = of.rows / of.block_size + (of.rows % of.block_size != 0);
  const footprint in_csr{row_begin + val + count(of.nnz) * sizeof(index), 0};
  const std::uint64_t in_bsr = count(block_rows + 1) * sizeof(offset) + row_begin + val +
                               count(of.blocks + of.in_rest()) * sizeof(index);
  require_within_budget("bsr by slices", {in_bsr + padding, padding}, in_csr, for_slices(budget, in_csr));
}

}  // namespace nz::gpu
