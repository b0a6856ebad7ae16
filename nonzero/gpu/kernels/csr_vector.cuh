#pragma once

#include <cstdint>

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A group of lanes, 2 to 32, shares each row, then adds its partial sums with shuffles (group_sum in
// threads.cuh says why not through shared memory).
// Good: rows of some 16 nonzeros and more, and rows of unequal length as far as CSR goes.  Bad: rows of 3 to
// 7 (a group has one step of work for three dependent loads: half of csr_scalar's speed); rows much shorter
// than the mean (idle lanes); a few giant rows (one group works alone while the card waits).
// Traffic: 12 bytes per nonzero in double, read in whole transactions, plus the gather of x.
// Source: Bell & Garland 2008, §4.2, with a whole warp per row; TUM 2013, CSR vector kernel.
template <int Lanes, class A, class V, class Offset, class Epilogue>
__global__ void csr_vector_kernel(index rows, const Offset* __restrict__ row_begin,
                                  const index* __restrict__ col, const A* __restrict__ val,
                                  const V* __restrict__ x, V* __restrict__ y, Epilogue finish) {
  const std::int64_t row = thread_in_grid() / Lanes;
  const int lane = threadIdx.x % Lanes;
  row_epilogue<Epilogue> finish_row(finish, y);
  if (row < rows) {  // for the whole group
    V sum = 0;
    const Offset end = row_begin[row + 1];
    for (Offset k = row_begin[row] + lane; k < end; k += Lanes) sum += static_cast<V>(val[k]) * x[col[k]];
    sum = group_sum<Lanes>(sum);
    if (lane == 0) finish_row(sum, row);
  }
  finish_row.publish_block_sums();
}

struct csr_vector_launch {
  static prediction predict(const device_features& a) {
    return {.preference = a.is_small() && a.row.longest <= 32 ? 4.0 : 0.0};
  }

  template <class A, class Offset, class V = A> using placed = csr_on_device<A, Offset>;

  /// A small matrix has fewer rows than a card has threads, which then share them.
  template <class Queue, class A, class Offset>
  static int lanes(const Queue& queue, const csr_on_device<A, Offset>& a) {
    int wanted = lanes_for(a.rows, a.nnz);
    while (wanted < 32 && std::int64_t{a.rows} * wanted * 2 <= queue.resident_threads() / 2) wanted *= 2;
    return wanted;
  }

  template <class Queue, class A, class Offset>
  static std::int64_t blocks(const Queue& queue, const csr_on_device<A, Offset>& a) {
    return blocks_for(std::int64_t{lanes(queue, a)} * a.rows);
  }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const csr_on_device<A, Offset>& a, const V* x, V* y, Epilogue finish) {
    with_lanes(lanes(queue, a), [&](auto per_row) {
      queue.launch("csr_vector", blocks(queue, a), threads_per_block,
                   csr_vector_kernel<per_row.value, A, V, Offset, Epilogue>, a.rows, a.row_begin.data(),
                   a.col.data(), a.val.data(), x, y, finish);
    });
  }
};

}  // namespace nz::gpu
