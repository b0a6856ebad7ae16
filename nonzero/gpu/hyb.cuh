#pragma once

#include <nonzero/gpu/coo_segmented.cuh>
#include <nonzero/gpu/ell.cuh>

namespace nz::gpu {

// ell over the first entries of each row, then coo_segmented over what is left of the long ones: two
// launches. Good: rows of about equal length, with a few far longer.  Bad: no typical length (power laws),
// where much is left to COO. Rows with a rest get it by atomics, in any order: the last bits may differ from
// run to run. Traffic: ell's for the regular part and 16 bytes per nonzero in double for the rest. Source:
// Bell & Garland 2008, §4.5; ECE 408 L19; the format of TUM 2013's cuSPARSE version.
struct hyb_launch {
  template <class V, class Offset> using placed = placed_hyb<V>;

  template <class Queue, class V>
  static void multiply(Queue& queue, const placed_hyb<V>& a, const V* x, V* y, scale_and_add<V> finish) {
    ell_launch::multiply(queue, a.regular, x, y, finish);
    add_coo_segmented(queue, a.rest, finish.alpha, x, y);
  }
};

}  // namespace nz::gpu
