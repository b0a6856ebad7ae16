#pragma once

#include <cstdint>

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>

namespace nz::gpu {

// A thread per entry, which adds its product to y with an atomic.
// Good: simplicity; it shows what atomics cost. At up to 3 nonzeros per row as fast as coo_segmented.
// Bad: long rows, all of whose threads wait for one address: 35 times coo_segmented's time with rows of 3
// million. The order of additions, and with it the last bits of y, differ from run to run. alpha is applied
// to each product before the row's sum is complete: huge values may overflow that cancel in CSR.
// Traffic: 16 bytes per nonzero in double, plus the gather of x and an atomic per nonzero on y. y is written
// once more before, to hold beta * y: an extra launch.
// Source: ECE 408 L19.
template <class V> __global__ void coo_atomic_kernel(coo_view<V> a, V alpha, const V* __restrict__ x, V* y) {
  const std::int64_t k = thread_in_grid();
  if (k < a.nnz()) atomicAdd(&y[a.row_of(k)], alpha * (a.value(k) * x[a.column(k)]));
}

struct coo_atomic_launch {
  static constexpr kernel_row row{.name = "coo_atomic",
                                  .format = "coo",
                                  .summary = "a thread per entry, added to y by atomics",
                                  .is_repeatable = false};
  template <class A, class V, class Offset> using matrix = device_coo<A>;

  template <class Queue, class V>
  static void multiply(Queue& queue, const device_coo<V>& a, const V* x, V* y, scale_and_add<V> finish) {
    launch_threads(queue, "scale", a.rows, scale_kernel<V>, a.rows, finish.beta, y);
    launch_threads(queue, "coo_atomic", a.nnz(), coo_atomic_kernel<V>, a.view(), finish.alpha, x, y);
  }
};

}  // namespace nz::gpu
