#pragma once

#include <cstdint>

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A thread per row, rows sorted by length: the threads of a warp have about equal work.
// Good: to see that control divergence alone is not what makes csr_scalar slow: it is hardly ever faster.
// Bad: as csr_scalar, neighbouring threads read far from each other; and y is written out of order.
// Traffic: csr_scalar's, plus 4 bytes per row for the permutation.
// Source: ECE 408 L19.
template <class V, class Offset, class Epilogue>
__global__ void jds_kernel(index rows, const index* __restrict__ row, const Offset* __restrict__ row_begin,
                           const index* __restrict__ col, const V* __restrict__ val, const V* __restrict__ x,
                           V* __restrict__ y, Epilogue finish) {
  const std::int64_t place = thread_in_grid();
  if (place >= rows) return;
  V sum = 0;
  const Offset end = row_begin[place + 1];
  for (Offset k = row_begin[place]; k < end; ++k) sum += val[k] * x[col[k]];
  finish(sum, y[row[place]]);
}

struct jds_launch {
  template <class V, class Offset> using placed = device_jds<V, Offset>;

  template <class Queue, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const device_jds<V, Offset>& a, const V* x, V* y, Epilogue finish) {
    queue.launch("jds", blocks_for(a.rows), threads_per_block, jds_kernel<V, Offset, Epilogue>, a.rows,
                 a.row.data(), a.row_begin.data(), a.col.data(), a.val.data(), x, y, finish);
  }
};

}  // namespace nz::gpu
