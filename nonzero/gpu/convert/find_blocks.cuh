#pragma once

#include <cstdint>
#include <iterator>

#include <nonzero/formats/bsr.hpp>
#include <nonzero/gpu/threads.cuh>

// How the device finds the full blocks of a CSR matrix: those that formats/bsr.cpp finds, but every entry for
// itself instead of row beside row.
namespace nz::gpu {

/// Calls body with the block size, one of block_sizes, as a compile-time constant.
template <std::size_t I = 0, class Body> void with_block_size(index size, Body body) {
  if constexpr (I < std::size(block_sizes)) {
    if (size == block_sizes[I]) return body(std::integral_constant<int, block_sizes[I]>{});
    with_block_size<I + 1>(size, body);
  }
}

/// The rows of a block row that has them all.
template <int Size, class Offset> struct block_row_entries {
  const index* col;
  Offset begin[Size], end[Size];

  /// No more than `most_per_row` entries of each row.
  __device__ block_row_entries(const index* columns, const Offset* row_begin, std::int64_t block_row,
                               Offset most_per_row)
      : col(columns) {
    for (int r = 0; r < Size; ++r) {
      begin[r] = row_begin[block_row * Size + r];
      end[r] = row_begin[block_row * Size + r + 1];
      if (end[r] - begin[r] > most_per_row) end[r] = begin[r] + most_per_row;
    }
  }

  /// Whether rows are sorted and repeat no column: the whole warp asks.
  __device__ bool are_sorted() const {
    const int lane = threadIdx.x % 32;
    bool falls = false;
    for (int r = 0; r < Size; ++r)
      for (Offset k = begin[r] + 1 + lane; k < end[r]; k += 32) falls = falls || col[k] <= col[k - 1];
    return __any_sync(full_warp, falls) == 0;
  }

  /// Whether row r has all columns of a block from entry k on. In a sorted row the first and the last of
  /// them, Size - 1 places apart, have all others between them.
  __device__ bool has_columns(int r, Offset k, index first) const {
    return k + Size <= end[r] && col[k] == first && col[k + Size - 1] - first == Size - 1;
  }

  /// Whether a full block begins at entry k of row `own`, where rows are sorted.
  __device__ bool has_block(int own, Offset k) const {
    const index first = col[k];
    if (first % Size != 0 || !has_columns(own, k, first)) return false;
    for (int r = 0; r < Size; ++r) {
      const Offset likely = begin[r] + (k - begin[own]);  // where all rows have the same columns
      if (r != own && !has_columns(r, likely, first) && !has_columns(r, find(r, first), first)) return false;
    }
    return true;
  }

 private:
  /// The first entry of row r that is not left of a column.
  __device__ Offset find(int r, index column) const {
    Offset low = begin[r], high = end[r];
    while (low < high) {
      const Offset middle = low + (high - low) / 2;
      if (col[middle] < column)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

/// How many blocks a block row has: the whole warp asks, and its first lane learns.
template <int Size, class Offset> __device__ int count_blocks(const block_row_entries<Size, Offset>& rows) {
  if (!rows.are_sorted()) return 0;
  int blocks = 0;
  for (Offset k = rows.begin[0] + static_cast<Offset>(threadIdx.x % 32); k < rows.end[0]; k += 32)
    if (rows.has_block(0, k)) ++blocks;
  return group_sum<32>(blocks);
}

/// What each block row of the sample has, for each size.
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
      queue.launch("sample_blocks", blocks_for(32 * block_sample::most_block_rows), threads_per_block,
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

/// A warp per block row counts its blocks; none where a row is longer than `longest`. A 0 follows the last.
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

/// Where the entries of a row that are in no block begin among all of those: every block before has taken
/// Size entries from each of its Size rows.
template <int Size, class Offset>
__device__ offset rest_begin(std::int64_t row, const Offset* row_begin, const Offset* block_begin) {
  const std::int64_t block_row = row / Size;
  const offset first = block_begin[block_row], blocks = block_begin[block_row + 1] - first;
  return offset{row_begin[row]} - Size * (Size * first + row % Size * blocks);
}

/// A thread per row, and one more: 1 where a row has entries in no block. A 0 follows the last.
template <int Size, class Offset>
__global__ void mark_rest_kernel(index rows, const Offset* __restrict__ row_begin,
                                 const Offset* __restrict__ block_begin, index* __restrict__ has_rest) {
  const std::int64_t row = thread_in_grid();
  if (row > rows) return;
  const std::int64_t block_row = row / Size;
  has_rest[row] = row < rows && row_begin[row + 1] - row_begin[row] >
                                    Size * (block_begin[block_row + 1] - block_begin[block_row]);
}

}  // namespace nz::gpu
