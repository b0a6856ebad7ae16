#pragma once

#include <limits>

#include <nonzero/formats/bsr.hpp>
#include <nonzero/gpu/warp_slices_internal.hpp>

namespace nz::gpu {

/// The blocks of a bsr in slices of 32 block rows. Entry k of place l of slice s is a block: its column is at
/// step * slice_height + l with step = slice_begin[s] / slice_height + k, and its value of row r and column c
/// is at ((step*block_size + r)*block_size + c) * slice_height + l. Lanes that take the same value of their
/// blocks read neighbours.
template <class A> struct interleaved_blocks {
  index rows = 0, cols = 0;   // of the matrix
  index block_size = 2;       // one of block_sizes
  array<index> block_row;     // of each place, as `row` in sell
  array<offset> slice_begin;  // in blocks, as in sell
  array<index> block_col;     // as long as the slices; a block's column, or padding_column
  array<A> val;               // block_size^2 as long; 0 at padding
};

/// What decides how much interleaved blocks take.
struct block_counts {
  index rows, block_size;
  offset nnz, blocks;
  offset places;  // of all slices, for a block each

  offset in_rest() const { return nnz - blocks * block_size * block_size; }
};

/// What places take that hold no block.
template <class A> std::uint64_t padding_of_blocks(const block_counts& of) {
  const auto block = static_cast<std::uint64_t>(of.block_size * of.block_size) * sizeof(A) + sizeof(index);
  return static_cast<std::uint64_t>(of.places - of.blocks) * block;
}

/// Throws `unsupported` where that would break the budget.
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

/// Copies the blocks of a slice to their places.
template <class A> void fill_slice(const bsr<A>& from, std::int64_t slice, interleaved_blocks<A>& to) {
  const index size = from.block_size;
  const offset first = to.slice_begin[slice] / slice_height, end = to.slice_begin[slice + 1] / slice_height;
  for (index l = 0; l < slice_height; ++l) {
    const auto place = static_cast<std::size_t>(slice * slice_height + l);
    const index row = place < to.block_row.size() ? to.block_row[place] : -1;
    const offset begin = row < 0 ? 0 : from.block_begin[row];
    const offset blocks = row < 0 ? 0 : from.block_begin[row + 1] - begin;
    for (offset step = first; step < end; ++step) {
      A* const at = &to.val[step * size * size * slice_height + l];
      const A* const block =
          step - first < blocks ? &from.val[(begin + step - first) * size * size] : nullptr;
      for (index r = 0; r < size; ++r)
        for (index c = 0; c < size; ++c)
          at[(r * size + c) * slice_height] = block == nullptr ? A{0} : block[c * size + r];
    }
  }
}

/// Without `rest`. Throws `unsupported` where padding would break the budget.
template <class A> interleaved_blocks<A> interleave(const bsr<A>& a, padding_budget budget) {
  constexpr std::int64_t slices_per_task = 64;
  const csr<float> pattern{a.block_rows(), a.cols / a.block_size, a.block_begin, a.block_col,
                           array<float>(a.block_col.size(), 0.0F)};
  sell<float> places = to_warp_slices<float>(pattern, {std::numeric_limits<double>::infinity()});
  require_blocks_within_budget<A>(
      {a.rows, a.block_size, a.nnz(), a.blocks(), static_cast<offset>(places.col.size())}, budget);

  const auto values = places.col.size() * static_cast<std::size_t>(a.block_size * a.block_size);
  const offset slices = places.slices();
  interleaved_blocks<A> out{a.rows,
                            a.cols,
                            a.block_size,
                            std::move(places.row),
                            std::move(places.slice_begin),
                            std::move(places.col),
                            array<A>(values)};
  parallel_ranges(slices, slices_per_task, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) fill_slice(a, s, out);
  });
  return out;
}

}  // namespace nz::gpu
