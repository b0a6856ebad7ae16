#pragma once

#include <cstdint>
#include <limits>

#include <nonzero/formats/ell.hpp>
#include <nonzero/gpu/convert/find_blocks.cuh>
#include <nonzero/gpu/convert/lay_out_slices.cuh>

namespace nz::gpu {

/// Where the entries of a matrix go. A: what values are held in.
template <class A, class Offset> struct block_arrays {
  const Offset *block_begin, *slice_begin;  // blocks before a block row, steps before a slice
  index* block_col;
  A* val;
  index* rest_col;
  A* rest_val;
};

/// Where an entry of a row goes: to a block of its block row, or to the rest.
struct entry_place {
  bool is_in_block;
  std::int64_t number;  // the block's in its block row, or the entry's in the rest of its row
  int column;           // in the block
};

/// For a row of a block row that has blocks: tells its entries, 32 neighbours at a time for the lanes of a
/// warp, where they go.
template <int Size, class Offset> class row_walk {
 public:
  __device__ row_walk(const index* col, const Offset* row_begin, std::int64_t block_row, int r, Offset blocks)
      : entries_(col, row_begin, block_row, std::numeric_limits<Offset>::max()),
        r_(r),
        is_all_blocks_(end() - begin() == Size * blocks) {}
  __device__ Offset begin() const { return entries_.begin[r_]; }
  __device__ Offset end() const { return entries_.end[r_]; }

  /// Of entry k, the lane's; all lanes ask together, for entries in rising order. Past the end: of no use.
  __device__ entry_place place(Offset k) {
    const int from_begin = static_cast<int>(k - begin());
    if (is_all_blocks_) return {true, from_begin / Size, from_begin % Size};
    const int column = k < end() ? entries_.col[k] % Size : 0;
    const Offset first = k - column;
    const bool is_in_block = k < end() && first >= begin() &&
                             entries_.col[first] == entries_.col[k] - column && entries_.has_block(r_, first);
    const unsigned up_to_here = full_warp >> (31 - threadIdx.x % 32);
    const unsigned begins = __ballot_sync(full_warp, is_in_block && column == 0),
                   rest = __ballot_sync(full_warp, !is_in_block);
    const std::int64_t number = is_in_block ? blocks_before_ + __popc(begins & up_to_here) - 1
                                            : rest_before_ + __popc(rest & up_to_here) - 1;
    blocks_before_ += __popc(begins);
    rest_before_ += __popc(rest);
    return {is_in_block, number, column};
  }

 private:
  const block_row_entries<Size, Offset> entries_;
  const int r_;
  const bool is_all_blocks_;
  std::int64_t blocks_before_ = 0, rest_before_ = 0;
};

/// Padding of row r of place l: zeros, and for the first row the column of no block.
template <int Size, class A>
__device__ void pad_blocks(std::int64_t step, std::int64_t end, int r, int l, A* val, index* block_col) {
  const int lane = threadIdx.x % slice_height;
  for (std::int64_t q = step * Size + lane; q < end * Size; q += slice_height)
    val[((q / Size * Size + r) * Size + q % Size) * slice_height + l] = 0;
  for (std::int64_t s = step + lane; r == 0 && s < end; s += slice_height)
    block_col[s * slice_height + l] = padding_column;
}

// A warp per row of a place: its lanes read neighbouring entries and write each where it belongs, in a block
// or in the rest, then padding behind the last block. Warps of neighbouring places, whose values lie side by
// side, are in one block of threads.
// Good: rows all in blocks, which need no search.  Bad: rows with blocks and others (Size - 1 searches for
// each entry that begins like a block); short rows (idle lanes).
// Traffic: each entry read once, its value written in a transaction of its own.
template <int Size, class A, class V, class Offset>
__global__ void fill_blocks_kernel(index rows, index block_rows, row_lists lists,
                                   const Offset* __restrict__ row_begin, const index* __restrict__ col,
                                   const V* __restrict__ val, block_arrays<A, Offset> to) {
  const std::int64_t warp = thread_in_grid() / slice_height, slice = warp / slice_height / Size;
  if (slice * slice_height >= block_rows) return;
  const int r = static_cast<int>(warp / slice_height % Size), l = static_cast<int>(warp % slice_height),
            lane = threadIdx.x % slice_height;
  const std::int64_t place = slice * slice_height + l;
  const index block_row = place < block_rows ? lists.row[place] : -1;
  if (r == 0 && lane == 0) lists.list(place, block_rows);
  const std::int64_t first_step = to.slice_begin[slice], row = std::int64_t{block_row} * Size + r;
  Offset blocks = 0;
  if (block_row >= 0 && row < rows) {
    blocks = to.block_begin[block_row + 1] - to.block_begin[block_row];
    const offset rest = rest_begin<Size>(row, row_begin, to.block_begin);
    const auto copy = [&](Offset k, const entry_place& at) {
      if (!at.is_in_block) {
        to.rest_col[rest + at.number] = col[k];
        to.rest_val[rest + at.number] = static_cast<A>(val[k]);
        return;
      }
      const std::int64_t step = first_step + at.number;
      to.val[((step * Size + r) * Size + at.column) * slice_height + l] = static_cast<A>(val[k]);
      if (r == 0 && at.column == 0) to.block_col[step * slice_height + l] = col[k] / Size;
    };
    if (blocks == 0) {
      for (Offset k = row_begin[row] + lane; k < row_begin[row + 1]; k += slice_height)
        copy(k, {false, k - row_begin[row], 0});
    } else {
      row_walk<Size, Offset> walk(col, row_begin, block_row, r, blocks);
      for (Offset chunk = walk.begin(); chunk < walk.end(); chunk += slice_height) {
        const entry_place at = walk.place(chunk + lane);
        if (chunk + lane < walk.end()) copy(chunk + lane, at);
      }
    }
  }
  pad_blocks<Size>(first_step + blocks, std::int64_t{to.slice_begin[slice + 1]}, r, l, to.val, to.block_col);
}

/// A thread per row, and one more for the end: the rows that have entries in no block, and where those begin.
template <int Size, class Offset>
__global__ void list_rest_kernel(index rows, offset in_rest, const Offset* __restrict__ row_begin,
                                 const Offset* __restrict__ block_begin,
                                 const index* __restrict__ rest_before, index* __restrict__ rest_row,
                                 Offset* __restrict__ rest_row_begin) {
  const std::int64_t row = thread_in_grid();
  if (row > rows) return;
  const index at = rest_before[row];
  if (row == rows) {
    rest_row_begin[at] = static_cast<Offset>(in_rest);
  } else if (rest_before[row + 1] != at) {
    rest_row[at] = static_cast<index>(row);
    rest_row_begin[at] = static_cast<Offset>(rest_begin<Size>(row, row_begin, block_begin));
  }
}

}  // namespace nz::gpu
