#pragma once

#include <cstdint>

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A thread per row, rows sorted by length and stored by jagged diagonals: in each step neighbouring threads
// read neighbouring entries, as in ELL, and none of it is padding.
// Good: rows of nearly equal length, up to some 80: the fastest of ours on an H200 at 27 and 78 per row.
// Bad: rows of unequal length: nearly twice csr_scalar's time where the longest has 60 (NotreDame_www), and
// the slowest of all with a giant row, since its thread works alone, one entry after the other. Sorting
// scatters y and separates rows that share parts of x.
// Traffic: 12 bytes per nonzero in double, in whole transactions, plus the gather of x and 4 bytes per row
// for the permutation.
// Source: ECE 408 L19.
template <class V, class Offset, class Epilogue>
__global__ void tjds_kernel(index rows, offset width, const index* __restrict__ row,
                            const Offset* __restrict__ diagonal_begin, const index* __restrict__ col,
                            const V* __restrict__ val, const V* __restrict__ x, V* __restrict__ y,
                            Epilogue finish) {
  const std::int64_t place = thread_in_grid();
  if (place >= rows) return;
  V sum = 0;
  for (offset k = 0; k < width; ++k) {
    const offset at = diagonal_begin[k] + place;
    if (at >= diagonal_begin[k + 1]) break;  // diagonals never grow: the first that is too short ends the row
    sum += val[at] * x[col[at]];
  }
  finish(sum, y[row[place]]);
}

struct tjds_launch {
  template <class V, class Offset> using placed = device_tjds<V, Offset>;

  template <class Queue, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const device_tjds<V, Offset>& a, const V* x, V* y, Epilogue finish) {
    queue.launch("tjds", blocks_for(a.rows), threads_per_block, tjds_kernel<V, Offset, Epilogue>, a.rows,
                 a.width, a.row.data(), a.diagonal_begin.data(), a.col.data(), a.val.data(), x, y, finish);
  }
};

}  // namespace nz::gpu
