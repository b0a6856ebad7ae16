#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include <nonzero/formats/bsr.hpp>
#include <nonzero/gpu/convert/slices.cuh>

// How the device finds the full blocks of a CSR matrix, the same as formats/bsr.cpp, and fills slices with
// them. Each entry is tested independently of the others.
namespace nz::gpu {

/// with_one_of for the size, one of block_sizes.
template <class Body> void with_block_size(index size, Body body) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { with_one_of<block_sizes[I]...>(size, body); }
  (std::make_index_sequence<std::size(block_sizes)>{});
}

/// The entries of a block row that has all of its Size rows.
template <int Size, class Offset> struct block_row_entries {
  const index* col;
  Offset begin[Size], end[Size];

  /// Of each row the first `most_per_row` entries.
  __device__ block_row_entries(const index* columns, const Offset* row_begin, std::int64_t block_row,
                               Offset most_per_row)
      : col(columns) {
    for (int r = 0; r < Size; ++r) {
      begin[r] = row_begin[block_row * Size + r];
      end[r] = row_begin[block_row * Size + r + 1];
      if (end[r] - begin[r] > most_per_row) end[r] = begin[r] + most_per_row;
    }
  }

  /// Whether rows are sorted and repeat no column. The whole warp calls it.
  __device__ bool are_sorted() const {
    const int lane = threadIdx.x % 32;
    bool falls = false;
    for (int r = 0; r < Size; ++r)
      for (Offset k = begin[r] + 1 + lane; k < end[r]; k += 32) falls = falls || col[k] <= col[k - 1];
    return __any_sync(full_warp, falls) == 0;
  }

  /// Whether Size entries of row r, from place k of the row on, have all columns of the block that begins at
  /// column `first`. The row is sorted, so it is enough to look at the first and the last of them.
  __device__ bool has_columns(int r, Offset k, index first) const {
    if (end[r] - begin[r] < Size || k > end[r] - begin[r] - Size) return false;
    const index* const at = col + begin[r] + k;
    return at[0] == first && at[Size - 1] - first == Size - 1;
  }

  /// Whether a full block begins at entry k of row `own`, where rows are sorted.
  __device__ bool has_block(int own, Offset k) const {
    // The place in its row, the same in all rows that have the same columns. As an entry of another row it
    // could be past 2^31.
    const Offset likely = k - begin[own];
    const index first = col[k];
    if (first % Size != 0 || !has_columns(own, likely, first)) return false;
    for (int r = 0; r < Size; ++r)
      if (r != own && !has_columns(r, likely, first) && !has_columns(r, find(r, first), first)) return false;
    return true;
  }

 private:
  /// The place in row r of the first entry whose column is not less than `column`.
  __device__ Offset find(int r, index column) const {
    return partition_point(begin[r], end[r], [&](Offset k) { return col[k] < column; }) - begin[r];
  }
};

/// How many blocks a block row has, in the first lane. The whole warp calls it.
template <int Size, class Offset> __device__ int count_blocks(const block_row_entries<Size, Offset>& rows) {
  if (!rows.are_sorted()) return 0;
  int blocks = 0;
  for (Offset k = rows.begin[0] + static_cast<Offset>(threadIdx.x % 32); k < rows.end[0]; k += 32)
    if (rows.has_block(0, k)) ++blocks;
  return group_sum<32>(blocks);
}

/// The entries of each block row of the sample, for each block size.
struct sampled_blocks {
  int in_blocks[std::size(block_sizes)][block_sample::most_block_rows];
  int all[std::size(block_sizes)][block_sample::most_block_rows];
};

/// A warp per block row of find_block_size's sample.
template <int Size, class Offset>
__global__ void sample_blocks_kernel(index rows, const Offset* __restrict__ row_begin,
                                     const index* __restrict__ col, int number_of_size, sampled_blocks* out) {
  const auto s = static_cast<index>(thread_in_grid() / 32);
  if (s >= block_sample::most_block_rows) return;
  const index block_row = block_sample::block_row(rows / Size, s);
  int blocks = 0, all = 0;
  if (block_row >= 0) {
    const block_row_entries<Size, Offset> entries(col, row_begin, block_row, block_sample::most_per_row);
    blocks = count_blocks(entries);
    for (int r = 0; r < Size; ++r) all += static_cast<int>(entries.end[r] - entries.begin[r]);
  }
  if (threadIdx.x % 32 != 0) return;
  out->in_blocks[number_of_size][s] = blocks * Size * Size;
  out->all[number_of_size][s] = all;
}

/// find_block_size, on the device. Waits for the answer.
template <class Queue, class Offset>
index find_block_size(Queue& queue, index rows, const Offset* row_begin, const index* col) {
  auto sampled = queue.template temporary<sampled_blocks>(1);
  for (std::size_t n = 0; n < std::size(block_sizes); ++n)
    with_block_size(block_sizes[n], [&](auto size) {
      launch_threads(queue, "sample_blocks", 32 * block_sample::most_block_rows,
                     sample_blocks_kernel<size.value, Offset>, rows, row_begin, col, static_cast<int>(n),
                     sampled.data());
    });
  const auto found = queue.read(static_cast<const sampled_blocks*>(sampled.data()));
  block_sample samples[std::size(block_sizes)];
  for (std::size_t n = 0; n < std::size(block_sizes); ++n)
    for (index s = 0; s < block_sample::most_block_rows; ++s) {
      samples[n].in_blocks += found.in_blocks[n][s];
      samples[n].all += found.all[n][s];
    }
  return best_block_size(samples);
}

/// A warp per block row counts its blocks: 0 where a row is longer than `longest`. Writes a 0 behind the
/// last.
template <int Size, class Offset>
__global__ void count_blocks_kernel(index rows, index block_rows, Offset longest,
                                    const Offset* __restrict__ row_begin, const index* __restrict__ col,
                                    Offset* __restrict__ blocks) {
  const std::int64_t block_row = thread_in_grid() / 32;
  if (block_row > block_rows) return;
  int found = 0;
  if (block_row < rows / Size) {
    const block_row_entries<Size, Offset> entries(col, row_begin, block_row, longest);
    bool is_whole = true;
    for (int r = 0; r < Size; ++r)
      is_whole = is_whole && entries.end[r] == row_begin[block_row * Size + r + 1];
    if (is_whole) found = count_blocks(entries);
  }
  if (threadIdx.x % 32 == 0) blocks[block_row] = found;
}

/// The number of entries in no block before this row. Each block before it holds Size entries of each of its
/// Size rows.
template <int Size, class Offset>
__device__ offset rest_begin(std::int64_t row, const Offset* row_begin, const Offset* block_begin) {
  const std::int64_t block_row = row / Size;
  const offset first = block_begin[block_row], blocks = block_begin[block_row + 1] - first;
  return offset{row_begin[row]} - Size * (Size * first + row % Size * blocks);
}

/// A thread per row, and one more, which writes a 0 behind the last: 1 where a row has entries in no block.
template <int Size, class Offset>
__global__ void mark_rest_kernel(index rows, const Offset* __restrict__ row_begin,
                                 const Offset* __restrict__ block_begin, index* __restrict__ has_rest) {
  const std::int64_t row = thread_in_grid();
  if (row > rows) return;
  const std::int64_t block_row = row / Size;
  has_rest[row] = row < rows && row_begin[row + 1] - row_begin[row] >
                                    Size * (block_begin[block_row + 1] - block_begin[block_row]);
}

/// Where the entries of a matrix go. A: the type of stored values.
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

/// Finds where the entries of a row go, if its block row has blocks. A warp takes 32 neighbours at a time.
template <int Size, class Offset> class row_places {
 public:
  __device__ row_places(const index* col, const Offset* row_begin, std::int64_t block_row, int r,
                        Offset blocks)
      : entries_(col, row_begin, block_row, std::numeric_limits<Offset>::max()),
        r_(r),
        is_all_blocks_(end() - begin() == Size * blocks) {}
  __device__ Offset begin() const { return entries_.begin[r_]; }
  __device__ Offset end() const { return entries_.end[r_]; }

  /// The place of entry k, the lane's own. All lanes call it together, for entries in rising order. Past the
  /// end of the row the result is meaningless.
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

// A warp for each row of a block row. Its lanes read neighbouring entries, write each to its block or to the
// rest, and then write padding behind the last block. Warps of neighbouring places, whose values are next to
// each other, are in one block of threads.
// Good: rows all in blocks, which need no search.
// Bad: rows with blocks and others (Size - 1 searches for each entry that begins like a block); short rows
// (idle lanes).
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
      row_places<Size, Offset> places(col, row_begin, block_row, r, blocks);
      for (Offset first = places.begin(); first < places.end(); first += slice_height) {
        const entry_place at = places.place(first + lane);
        if (first + lane < places.end()) copy(first + lane, at);
      }
    }
  }
  pad_blocks<Size>(first_step + blocks, std::int64_t{to.slice_begin[slice + 1]}, r, l, to.val, to.block_col);
}

/// A thread per row, and one more for the end, lists the rows with entries in no block, and where those
/// begin.
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
