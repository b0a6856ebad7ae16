#pragma once

#include <cstdint>

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/warp.cuh>

namespace nz::gpu {

// A group of 2 to 32 lanes shares each row, then adds its partial sums with shuffles.
// Good: 16 nonzeros per row and more, and rows of unequal length as far as CSR allows.
// Bad: rows of 3 to 7 (a group has one step of work for three dependent loads: half of csr_scalar's speed);
// rows much shorter than the mean (idle lanes); a few giant rows (one group works alone).
// Traffic: 12 bytes per nonzero in double, coalesced, plus the gather of x.
// Source: Bell & Garland 2008, §4.2, with a whole warp per row; TUM 2013, CSR vector kernel.
template <int Lanes, class A, class V, class Offset, class Epilogue>
__global__ void csr_vector_kernel(csr_view<A, Offset> a, const V* x, V* y, Epilogue finish) {
  wait_for_prerequisite();
  const std::int64_t row = thread_in_grid() / Lanes;
  const int lane = threadIdx.x % Lanes;
  row_epilogue<Epilogue> finish_row(finish, y);
  if (row < a.rows) {  // for the whole group
    V sum = 0;
    const Offset end = a.end(row);
    for (Offset k = a.begin(row) + lane; k < end; k += Lanes)
      sum += static_cast<V>(a.value(k)) * x[a.column(k)];
    sum = group_sum<Lanes>(sum);
    if (lane == 0) finish_row(sum, row);
  }
  finish_row.publish_block_sums();
}

struct csr_vector_launch {
  static prediction predict(const device_features& a) {
    return {.preference = a.is_small() && a.row.longest <= 32 ? 4.0 : 0.0};
  }

  static constexpr kernel_row row{.name = "csr_vector",
                                  .format = "csr",
                                  .summary = "2 to 32 lanes per row, by the mean row length",
                                  .is_smallest = true,
                                  .predict = predict};
  static constexpr bool has_mixed_precision = true;
  template <class A, class V, class Offset> using matrix = shared_csr<A, Offset>;

  /// More lanes per row where a small matrix has fewer rows than the GPU has threads.
  template <class Queue, class A, class Offset>
  static int lanes(const Queue& queue, const shared_csr<A, Offset>& a) {
    int wanted = lanes_for(a.rows, a.nnz());
    while (wanted < 32 && std::int64_t{a.rows} * wanted * 2 <= queue.resident_threads() / 2) wanted *= 2;
    return wanted;
  }
  template <class Queue, class A, class Offset>
  static std::int64_t blocks(const Queue& queue, const shared_csr<A, Offset>& a) {
    return blocks_for(std::int64_t{lanes(queue, a)} * a.rows);
  }
  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const shared_csr<A, Offset>& a, const V* x, V* y, Epilogue finish) {
    with_lanes(lanes(queue, a), [&](auto per_row) {
      queue.launch_dependent("csr_vector", blocks(queue, a), threads_per_block,
                             csr_vector_kernel<per_row.value, A, V, Offset, Epilogue>, a.view(), x, y,
                             finish);
    });
  }
};

}  // namespace nz::gpu
