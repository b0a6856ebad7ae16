#pragma once

#include <cstdint>

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A thread per row.
// Good: large matrices of even, short rows: at 3, 5 and 7 nonzeros per row the fastest of ours on an H200 (85
// to 92 % of its bandwidth in double), since what a thread's neighbours fetched is still in the cache.  Bad:
// from some 16 nonzeros per row on (neighbouring threads read so far from each other that lines leave the
// cache before they are used up); rows of unequal length (a warp waits for its longest).
// Traffic: 12 bytes per nonzero in double if all that is fetched is used, up to 64 where it is not; plus the
// gather of x.
// Source: Nickolls et al. 2008, fig. 7; TUM 2013, CSR scalar kernel; ECE 408 L18.
// A: what values are held in, here and in the other kernels.
template <class A, class V, class Offset, class Epilogue>
__global__ void csr_scalar_kernel(index rows, const Offset* __restrict__ row_begin,
                                  const index* __restrict__ col, const A* __restrict__ val,
                                  const V* __restrict__ x, V* __restrict__ y, Epilogue finish) {
  const std::int64_t row = thread_in_grid();
  row_epilogue<Epilogue> finish_row(finish, y);
  if (row < rows) {
    V sum = 0;
    const Offset end = row_begin[row + 1];
    for (Offset k = row_begin[row]; k < end; ++k) sum += static_cast<V>(val[k]) * x[col[k]];
    finish_row(sum, row);
  }
  finish_row.publish_block_sums();
}

struct csr_scalar_launch {
  /// Up to this many entries per row, one thread per row is faster than a group of lanes per row.
  static constexpr double short_row = 12;

  static prediction predict(const device_features& a) {
    const double reading = launch_seconds + (a.csr_bytes + a.vector_bytes()) / a.bytes_per_second;
    const auto longest = static_cast<double>(a.row.longest);
    prediction out;
    if (longest * step_seconds > reading)
      out.verdict = "one thread would work on the longest row longer than all others take together";
    else if (a.mean_row() > short_row)
      out.verdict = "its rows are too long for one thread each";
    out.preference = longest <= 4 * short_row && a.mean_row() <= short_row ? 2 : 0;
    return out;
  }

  template <class A, class Offset, class V = A> using placed = csr_on_device<A, Offset>;

  template <class Queue, class A, class Offset>
  static std::int64_t blocks(const Queue&, const csr_on_device<A, Offset>& a) {
    return blocks_for(a.rows);
  }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const csr_on_device<A, Offset>& a, const V* x, V* y, Epilogue finish) {
    queue.launch("csr_scalar", blocks(queue, a), threads_per_block, csr_scalar_kernel<A, V, Offset, Epilogue>,
                 a.rows, a.row_begin.data(), a.col.data(), a.val.data(), x, y, finish);
  }
};

}  // namespace nz::gpu
