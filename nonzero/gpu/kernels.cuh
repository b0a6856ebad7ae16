#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include <nonzero/core/epilogue.hpp>
#include <nonzero/core/errors.hpp>
#include <nonzero/formats/kernel_row.hpp>
#include <nonzero/gpu/bsr_rows.cuh>
#include <nonzero/gpu/coo_atomic.cuh>
#include <nonzero/gpu/coo_segmented.cuh>
#include <nonzero/gpu/csr_cached.cuh>
#include <nonzero/gpu/csr_light_vector.cuh>
#include <nonzero/gpu/csr_light_warp.cuh>
#include <nonzero/gpu/csr_merge.cuh>
#include <nonzero/gpu/csr_scalar.cuh>
#include <nonzero/gpu/csr_vector.cuh>
#include <nonzero/gpu/ell.cuh>
#include <nonzero/gpu/hubs_slices.cuh>
#include <nonzero/gpu/hyb.cuh>
#include <nonzero/gpu/jds.cuh>
#include <nonzero/gpu/lanes_packed.cuh>
#include <nonzero/gpu/sell_slices.cuh>
#include <nonzero/gpu/tjds.cuh>

// The GPU kernels' rows of the table (plan/kernels.hpp), for one Queue: the emulator's or the card's.
// A Queue belongs to a device and a stream; it has `launch(name, blocks, threads, kernel, arguments...)`,
// which does nothing for 0 blocks, `launch_with_shared`, which takes the bytes of dynamic shared memory after
// the threads, `most_shared_bytes()`, `multiprocessors()`, `resident_threads()`, `kind` and
// `default_device()`.
namespace nz::gpu {

template <class V, class Queue, class Launch, class Placed>
class prepared_on_gpu final : public prepared_matrix<V> {
 public:
  prepared_on_gpu(const csr<V>& a, const prepare_options& options)
      : prepared_matrix<V>(a.rows, a.cols, options.on), a_(place_for(a, options)) {
    // What a kernel finds out on the device, once, about its matrix.
    if constexpr (requires(Queue & queue, Placed & placed) { Launch::complete(queue, placed); }) {
      Queue queue(*options.on, {});
      Launch::complete(queue, a_);
      options.on->synchronize({});  // multiplies may be in streams that do not wait for this one
    }
  }
  footprint storage() const override { return a_.storage(); }

 private:
  /// Where a kernel takes more of a card than any has, what is placed depends on the card.
  static Placed place_for(const csr<V>& a, const prepare_options& options) {
    if constexpr (requires(Queue & queue) { Launch::room(queue); })
      return Placed(a, options, Launch::room(Queue(*options.on, {})));
    else
      return Placed(a, options);
  }
  void run(V alpha, const V* x, V beta, V* y, stream in) const override {
    Queue queue(*this->where(), in);
    Launch::multiply(queue, a_, x, y, scale_and_add<V>{alpha, beta});
  }

  Placed a_;
};

template <class V, class Queue, class Launch>
std::unique_ptr<prepared_matrix<V>> prepare(const csr<V>& a, const prepare_options& asked) {
  prepare_options options = asked;
  options.on = device_for(Queue::kind, asked, Queue::default_device);
  using narrow = typename Launch::template placed<V, std::int32_t>;
  using wide = typename Launch::template placed<V, offset>;
  // The last step of a group of lanes goes up to 32 past the end, and must not leave the type either.
  if (options.wide_offsets || a.nnz() > std::numeric_limits<std::int32_t>::max() - 32)
    return std::make_unique<prepared_on_gpu<V, Queue, Launch, wide>>(a, options);
  return std::make_unique<prepared_on_gpu<V, Queue, Launch, narrow>>(a, options);
}

template <class Queue, class Launch>
constexpr kernel_row row(std::string_view name, std::string_view format, bool is_repeatable,
                         std::string_view summary) {
  return {name,
          format,
          Queue::kind,
          is_repeatable,
          false,
          summary,
          prepare<float, Queue, Launch>,
          prepare<double, Queue, Launch>};
}

template <class Queue>
inline constexpr kernel_row csr_rows[] = {
    row<Queue, csr_scalar_launch>("csr_scalar", "csr", true, "a thread per row"),
    row<Queue, csr_vector_launch>("csr_vector", "csr", true, "2 to 32 lanes per row, by the mean row length"),
    row<Queue, csr_cached_launch>("csr_cached", "csr", true,
                                  "a thread per row, a window of x in shared memory"),
    row<Queue, csr_light_vector_launch>("csr_light_vector", "csr", true,
                                        "rows handed out while it runs, to 2 to 32 lanes at a time"),
    row<Queue, csr_light_warp_launch>("csr_light_warp", "csr", true,
                                      "rows handed out while it runs, to a warp at a time"),
    row<Queue, csr_merge_launch>("csr_merge", "csr", true,
                                 "equal shares of rows and entries per block, long rows cut"),
};

template <class Queue>
inline constexpr kernel_row other_rows[] = {
    row<Queue, ell_launch>("ell", "ell", true, "a thread per row, column by column"),
    row<Queue, coo_atomic_launch>("coo_atomic", "coo", false, "a thread per entry, added to y by atomics"),
    row<Queue, coo_segmented_launch>("coo_segmented", "coo", false,
                                     "equal stretches of entries per warp, atomics at row ends"),
    row<Queue, hyb_launch>("hyb", "hyb", false, "ell, then coo_segmented for the rest of long rows"),
    row<Queue, jds_launch>("jds", "jds", true, "a thread per row, rows sorted by length"),
    row<Queue, tjds_launch>("tjds", "tjds", true, "a thread per row, sorted, diagonal by diagonal"),
    row<Queue, lanes_packed_launch>("lanes_packed", "lanes", true,
                                    "a thread per row, a warp per slice, as each slice is held"),
    row<Queue, hubs_slices_launch>("hubs_slices", "hubs", true,
                                   "x of the columns used most in shared memory, long rows cut"),
};

template <class Queue>
inline constexpr kernel_row sliced_rows[] = {
    row<Queue, sell_slices_launch>("sell_slices", "sell", true, "a warp per slice of 32 rows, sorted nearby"),
    row<Queue, bsr_rows_launch>("bsr_rows", "bsr", true, "a warp for each row of 32 interleaved block rows"),
};

}  // namespace nz::gpu
