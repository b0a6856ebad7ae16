#pragma once

#include <cstdint>

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

// A thread per row.
// Good: short, even rows: neighbouring threads use the same sectors. No conversion.
// Bad: more than about 16 nonzeros per row (sectors are evicted before they are used up); rows of unequal
// length (a warp waits for its longest row).
// Traffic: 12 bytes per nonzero in double if whole sectors are used, up to 64 if not; plus the gather of x.
// Source: Nickolls et al. 2008, fig. 7; TUM 2013, CSR scalar kernel; ECE 408 L18.
// A: the type of the stored values; V: of x, y and the sums. The same in the other kernels.
template <class A, class V, class Offset, class Epilogue>
__global__ void csr_scalar_kernel(csr_view<A, Offset> a, const V* x, V* y, Epilogue finish) {
  wait_for_prerequisite();
  const std::int64_t row = thread_in_grid();
  row_epilogue<Epilogue> finish_row(finish, y);
  if (row < a.rows) {
    V sum = 0;
    const Offset end = a.end(row);
    for (Offset k = a.begin(row); k < end; ++k) sum += static_cast<V>(a.value(k)) * x[a.column(k)];
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

  static constexpr kernel_row row{.name = "csr_scalar",
                                  .format = "csr",
                                  .summary = "a thread per row",
                                  .is_candidate = true,
                                  .predict = predict};
  static constexpr bool has_mixed_precision = true;
  template <class A, class V, class Offset> using matrix = shared_csr<A, Offset>;

  template <class Queue, class A, class Offset>
  static std::int64_t blocks(const Queue&, const shared_csr<A, Offset>& a) {
    return blocks_for(a.rows);
  }
  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const shared_csr<A, Offset>& a, const V* x, V* y, Epilogue finish) {
    queue.launch_dependent("csr_scalar", blocks(queue, a), threads_per_block,
                           csr_scalar_kernel<A, V, Offset, Epilogue>, a.view(), x, y, finish);
  }
};

}  // namespace nz::gpu
