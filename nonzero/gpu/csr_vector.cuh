#pragma once

#include <cstdint>

#include <nonzero/gpu/placed.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A group of lanes, 2 to 32, shares each row, then adds its partial sums with shuffles (sum_of_group in
// threads.cuh says why not through shared memory).
// Good: rows of some 16 nonzeros and more, and rows of unequal length as far as CSR goes.  Bad: rows of 3 to
// 7 (a group has one step of work for three dependent loads: half of csr_scalar's speed); rows much shorter
// than the mean (idle lanes); a few giant rows (one group works alone while the card waits).
// Traffic: 12 bytes per nonzero in double, read in whole transactions, plus the gather of x.
// Source: Bell & Garland 2008, §4.2, with a whole warp per row; TUM 2013, CSR vector kernel.
template <int Lanes, class V, class Offset, class Epilogue>
__global__ void csr_vector_kernel(index rows, const Offset* __restrict__ row_begin,
                                  const index* __restrict__ col, const V* __restrict__ val,
                                  const V* __restrict__ x, V* __restrict__ y, Epilogue finish) {
  const std::int64_t row = thread_in_grid() / Lanes;
  const int lane = threadIdx.x % Lanes;
  if (row >= rows) return;  // the whole group leaves together
  V sum = 0;
  const Offset end = row_begin[row + 1];
  for (Offset k = row_begin[row] + lane; k < end; k += Lanes) sum += val[k] * x[col[k]];
  sum = sum_of_group<Lanes>(sum);
  if (lane == 0) finish(sum, y[row]);
}

struct csr_vector_launch {
  template <class V, class Offset> using placed = placed_csr<V, Offset>;

  template <class Queue, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const placed_csr<V, Offset>& a, const V* x, V* y, Epilogue finish) {
    // A small matrix has fewer rows than a card has threads, which then share them.
    int wanted = lanes_for(a.rows, a.nnz);
    while (wanted < 32 && std::int64_t{a.rows} * wanted * 2 <= queue.resident_threads() / 2) wanted *= 2;
    with_lanes(wanted, [&](auto lanes) {
      queue.launch("csr_vector", blocks_for(std::int64_t{lanes.value} * a.rows), threads_per_block,
                   csr_vector_kernel<lanes.value, V, Offset, Epilogue>, a.rows, a.row_begin.data(),
                   a.col.data(), a.val.data(), x, y, finish);
    });
  }
};

}  // namespace nz::gpu
