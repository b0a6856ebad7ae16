#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include <nonzero/core/epilogue.hpp>
#include <nonzero/core/errors.hpp>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/kernels/bsr_rows.cuh>
#include <nonzero/gpu/kernels/coo_atomic.cuh>
#include <nonzero/gpu/kernels/coo_segmented.cuh>
#include <nonzero/gpu/kernels/csr_cached.cuh>
#include <nonzero/gpu/kernels/csr_groups.cuh>
#include <nonzero/gpu/kernels/csr_light_vector.cuh>
#include <nonzero/gpu/kernels/csr_light_warp.cuh>
#include <nonzero/gpu/kernels/csr_merge.cuh>
#include <nonzero/gpu/kernels/csr_scalar.cuh>
#include <nonzero/gpu/kernels/csr_vector.cuh>
#include <nonzero/gpu/kernels/ell.cuh>
#include <nonzero/gpu/kernels/hubs_slices.cuh>
#include <nonzero/gpu/kernels/hyb.cuh>
#include <nonzero/gpu/kernels/jds.cuh>
#include <nonzero/gpu/kernels/sell_slices.cuh>
#include <nonzero/gpu/kernels/tjds.cuh>
#include <nonzero/gpu/kernels/warp_packed_slices.cuh>
#include <nonzero/kernel/kernel_row.hpp>

// The GPU kernels' rows of the table (plan/kernels.hpp), for one Queue: the emulator's or the card's.
// A Queue belongs to a device and a stream; it has `kind` and `default_device()`, and
//   launch(name, blocks, threads, kernel, arguments...), which does nothing for 0 blocks;
//   launch_dependent, the same for a kernel that waits for the launch before it by wait_for_prerequisite();
//   launch_with_shared, the same with the bytes of dynamic shared memory after the threads;
//   most_shared_bytes(), which that may have; multiprocessors(); resident_threads();
//   temporary<T>(n): n numbers that are not yet written, with data(); what uses them is in the queue before
//     they go;
// and for conversions, with pointers into the device's memory and everything in the queue's stream:
//   exclusive_sum(in, out, n), where in and out may be the same;
//   sort_pairs(keys_in, keys_out, values_in, values_out, n, bits): stable, by the lowest bits of unsigned
//     keys;
//   sum(in, out, n), largest(in, out, n), to one number in the device's memory; of none: 0, the lowest;
//   read(pointers...), which waits and returns the number there, or a tuple of several for one wait.
namespace nz::gpu {

template <class V> using device_csr_pointer = std::shared_ptr<const device_csr<V>>;

/// Whether what a kernel takes is made on the device. If not it is converted on the host.
template <class Placed, class Queue, class A>
inline constexpr bool is_made_on_device =
    std::is_constructible_v<Placed, Queue&, const device_csr_pointer<A>&, const prepare_options&>;

/// Whether a kernel finishes rows itself: its launch then says in how many blocks, takes any epilogue, and
/// says how many split_rows have sums apart from the blocks', if any.
template <class Launch, class Queue, class Placed>
concept finishes_rows = requires(const Queue& queue, const Placed& placed) {
  Launch::blocks(queue, placed);
};

/// A: what values are given in; V: what x, y and the sums are in.
template <class A, class V, class Queue, class Launch, class Placed>
class prepared_on_gpu final : public prepared_matrix<V> {
 public:
  prepared_on_gpu(csr_view<A> a, const prepare_options& options)
      : prepared_matrix<V>(a.rows, a.cols, options.on),
        a_(a, options),
        parts_(options.on, blocks_of_step(Queue(*options.on, {}), a_), split_rows_of_step(a_)) {
    finish_placing();
  }
  prepared_on_gpu(const device_csr_pointer<A>& a, const prepare_options& options)
      : prepared_on_gpu(Queue(*options.on, {}), a, options) {}
  footprint storage() const override {
    const footprint matrix = a_.storage();
    return {matrix.bytes + parts_.bytes(), matrix.padding_bytes};
  }
  std::string encodings() const override {
    if constexpr (requires(const Placed& placed) { placed.encodings(); })
      return a_.encodings();
    else
      return {};
  }

 private:
  prepared_on_gpu(Queue queue, const device_csr_pointer<A>& a, const prepare_options& options)
      : prepared_matrix<V>(a->rows, a->cols, options.on),
        a_(queue, a, options),
        parts_(options.on, blocks_of_step(queue, a_), split_rows_of_step(a_)) {
    finish_placing();
  }

  /// Multiplies may be in streams that do not wait for the one in which the arrays were made.
  void finish_placing() { this->where()->synchronize({}); }

  static std::int64_t blocks_of_step(const Queue& queue, const Placed& a) {
    if constexpr (finishes_rows<Launch, Queue, Placed>)
      return Launch::blocks(queue, a);
    else
      return blocks_for(a.rows);
  }
  static std::int64_t split_rows_of_step(const Placed& a) {
    if constexpr (requires { Launch::split_rows(a); })
      return Launch::split_rows(a);
    else
      return 0;
  }

  void run(V alpha, const V* x, V beta, V* y, stream in) const override {
    Queue queue(*this->where(), in);
    Launch::multiply(queue, a_, x, y, scale_and_add<V>{alpha, beta});
  }

  void run_step(const V* x, const fused_step<V>& step, V* y, double* sums, stream in) const override {
    Queue queue(*this->where(), in);
    const fused_epilogue<V> finish = parts_.epilogue(step, sums);
    if constexpr (finishes_rows<Launch, Queue, Placed>) {
      Launch::multiply(queue, a_, x, y, finish);
    } else {
      Launch::multiply(queue, a_, x, y, scale_and_add<V>{});
      step_after_multiply(queue, this->rows(), finish, y);
    }
    parts_.end_step(queue, step.sums(), sums);
  }

  Placed a_;
  step_scratch parts_;
};

/// How a kernel's matrix lies on the device, for values in A and sums in V.
template <class Launch, class A, class V, class Offset> struct placed_as {
  using type = typename Launch::template placed<A, Offset, V>;
};
template <class Launch, class V, class Offset> struct placed_as<Launch, V, V, Offset> {
  using type = typename Launch::template placed<V, Offset>;
};
template <class A, class V, class Queue, class Launch>
inline constexpr bool converts_on_device =
    is_made_on_device<typename placed_as<Launch, A, V, offset>::type, Queue, A>;

/// From a csr or from a device_csr_pointer, whichever this kernel's arrays are made from.
template <class A, class V, class Queue, class Launch, class Matrix>
std::unique_ptr<prepared_matrix<V>> prepare_with(const Matrix& a, bool is_wide,
                                                 const prepare_options& options) {
  using narrow = typename placed_as<Launch, A, V, std::int32_t>::type;
  using wide = typename placed_as<Launch, A, V, offset>::type;
  if (is_wide) return std::make_unique<prepared_on_gpu<A, V, Queue, Launch, wide>>(a, options);
  return std::make_unique<prepared_on_gpu<A, V, Queue, Launch, narrow>>(a, options);
}

template <class A, class V, class Queue, class Launch>
std::unique_ptr<prepared_matrix<V>> prepare_placed(const device_csr_pointer<A>& a,
                                                   const prepare_options& asked) {
  prepare_options options = asked;
  options.on = device_of(*a, Queue::kind, asked);
  if constexpr (converts_on_device<A, V, Queue, Launch>)
    return prepare_with<A, V, Queue, Launch>(a, a->is_wide(), options);
  else
    return prepare_with<A, V, Queue, Launch>(to_host(*a), a->is_wide(), options);
}

template <class A, class V, class Queue, class Launch>
std::unique_ptr<prepared_matrix<V>> prepare(csr_view<A> a, const prepare_options& asked) {
  prepare_options options = asked;
  options.on = device_for(Queue::kind, asked, Queue::default_device);
  if constexpr (converts_on_device<A, V, Queue, Launch>)
    return prepare_placed<A, V, Queue, Launch>(place_csr(a, options.on, options.wide_offsets), options);
  else
    return prepare_with<A, V, Queue, Launch>(a, options.wide_offsets || needs_wide_offsets(a.nnz()), options);
}

template <class A, class V, class Queue, class Launch> constexpr void add_functions(kernel_row& row) {
  auto& functions = static_cast<prepare_functions<A, V>&>(row.functions);
  functions.host = prepare<A, V, Queue, Launch>;
  functions.device = prepare_placed<A, V, Queue, Launch>;
}

template <class Queue, class Launch>
constexpr kernel_row row(std::string_view name, std::string_view format, bool is_repeatable,
                         std::string_view summary) {
  kernel_row out{.name = name,
                 .format = format,
                 .summary = summary,
                 .runs_on = Queue::kind,
                 .is_repeatable = is_repeatable,
                 .converts_on_device = converts_on_device<double, double, Queue, Launch>,
                 .is_smallest = name == "csr_vector"};
  if constexpr (requires { Launch::predict; }) out.predict = Launch::predict;
  add_functions<float, float, Queue, Launch>(out);
  add_functions<double, double, Queue, Launch>(out);
  return out;
}

/// A repeatable row, in mixed precision too.
template <class Queue, class Launch>
constexpr kernel_row mixed_row(std::string_view name, std::string_view format, std::string_view summary) {
  kernel_row out = row<Queue, Launch>(name, format, true, summary);
  add_functions<float, double, Queue, Launch>(out);
  return out;
}
/// One that plans think of.
template <class Queue, class Launch>
constexpr kernel_row candidate(std::string_view name, std::string_view format, std::string_view summary) {
  kernel_row out = mixed_row<Queue, Launch>(name, format, summary);
  out.is_candidate = true;
  return out;
}

template <class Queue>
inline constexpr kernel_row csr_rows[] = {
    candidate<Queue, csr_scalar_launch>("csr_scalar", "csr", "a thread per row"),
    mixed_row<Queue, csr_vector_launch>("csr_vector", "csr", "2 to 32 lanes per row, by the mean row length"),
    row<Queue, csr_cached_launch>("csr_cached", "csr", true,
                                  "a thread per row, a window of x in shared memory"),
    row<Queue, csr_light_vector_launch>("csr_light_vector", "csr", true,
                                        "rows handed out while it runs, to 2 to 32 lanes at a time"),
    row<Queue, csr_light_warp_launch>("csr_light_warp", "csr", true,
                                      "rows handed out while it runs, to a warp at a time"),
    candidate<Queue, csr_merge_launch>("csr_merge", "csr",
                                       "equal shares of rows and entries per block, long rows cut"),
    candidate<Queue, csr_groups_launch>("csr_groups", "csr",
                                        "2 to 32 lanes per row, a warp for each part of a long one"),
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
};

template <class Queue>
inline constexpr kernel_row sliced_rows[] = {
    candidate<Queue, sell_slices_launch>("sell_slices", "sell", "a warp per slice of 32 rows, sorted nearby"),
    candidate<Queue, bsr_rows_launch>("bsr_rows", "bsr", "a warp for each row of 32 interleaved block rows"),
};

template <class Queue>
inline constexpr kernel_row packed_rows[] = {
    candidate<Queue, warp_packed_slices_launch>("warp_packed_slices", "warp_packed",
                                                "a thread per row, a warp per slice, as each slice is held"),
    candidate<Queue, hubs_slices_launch>("hubs_slices", "hubs",
                                         "x of the columns used most in shared memory, long rows cut"),
};

}  // namespace nz::gpu
