#pragma once

#include <nonzero/gpu/kernels/coo_segmented.cuh>
#include <nonzero/gpu/kernels/ell.cuh>

namespace nz::gpu {

// ell over the first entries of each row, then coo_segmented over the rest of the long ones: two launches.
// Good: rows of about equal length, with a few far longer; power laws too, within 1.3 times the time of
// coo_segmented alone.
// Bad: few and long rows, whose regular entries one thread sums alone (some 800 times coo_segmented's time on
// 36 rows of 18,000). The rest is added by atomics, in any order: the last bits may differ from run to run.
// alpha is applied to each of the two sums, so that huge values may overflow that cancel in CSR.
// Traffic: ell's for the regular entries and 16 bytes per nonzero in double for the rest.
// Source: Bell & Garland 2008, §4.5; ECE 408 L19; the format of TUM 2013's cuSPARSE version.
struct hyb_launch {
  static constexpr kernel_row row{.name = "hyb",
                                  .format = "hyb",
                                  .summary = "ell, then coo_segmented for the rest of long rows",
                                  .is_repeatable = false};
  template <class A, class V, class Offset> using matrix = device_hyb<A>;

  template <class Queue, class V>
  static void multiply(Queue& queue, const device_hyb<V>& a, const V* x, V* y, scale_and_add<V> finish) {
    const hyb_view<V> view = a.view();
    launch_threads(queue, "ell", view.regular.rows, ell_kernel<V>, view.regular, x, y, finish);
    add_coo_segmented(queue, view.rest, finish.alpha, x, y);
  }
};

}  // namespace nz::gpu
