#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/scratch.cuh>
#include <nonzero/kernel/kernel_row.hpp>

// How a GPU kernel becomes a row of the table (plan/kernels.hpp), for one Queue: the emulator's or the
// GPU's.
//
// A kernel's file has a struct NAME_launch with
//   row: its facts, a kernel_row without device and functions;
//   matrix<A, V, Offset>: how the matrix is stored in the device's memory, for values in A, sums in V and row
//     offsets in Offset. It is made from (queue, source, options), where the source is a
//     device_csr_pointer<A>, or a csr_view<A> for formats that the host converts. It has storage(), and
//     encodings() if it has more to say than the format;
//   multiply(queue, matrix, x, y, epilogue). Where the matrix has reserve(layout), which adds what a multiply
//     writes besides y to a scratch_layout, there is the scratch set behind the matrix: (queue, matrix, set,
//     x, y, epilogue). Neither matrix nor kernel may have other memory that a multiply writes;
// and where they apply
//   has_mixed_precision = true: float values with double sums;
//   blocks(queue, matrix): how many blocks publish sums of a fused step. It says that the kernel finishes
//     rows itself and takes any epilogue; other kernels take scale_and_add only;
//   split_rows(matrix): how many rows publish sums of their own, besides the blocks.
//
// A Queue belongs to a device and a stream. It has `kind`, `default_device()` and a scratch_pool, and
//   launch(name, blocks, threads, kernel, arguments...), which does nothing for 0 blocks;
//   launch_dependent, the same for a kernel that calls wait_for_prerequisite();
//   launch_with_shared, the same with the bytes of dynamic shared memory after the threads;
//   most_shared_bytes(), the limit of those; multiprocessors(); resident_threads();
//   temporary<T>(n): n uninitialised numbers, with data(); the memory is reused in stream order;
// and for conversions, with pointers into the device's memory, in the queue's stream:
//   exclusive_sum(in, out, n), where in and out may be the same;
//   sort_pairs(keys_in, keys_out, values_in, values_out, n, bits): stable, by the lowest bits of unsigned
//     keys;
//   sum(in, out, n) and largest(in, out, n), to one number in the device's memory; for n = 0: 0 and the
//     lowest number;
//   read(pointers...), which waits and returns the number there, or a tuple of several after one wait;
//   read_array(from, n), which waits and returns a std::vector of the n numbers there.
namespace nz::gpu {

template <class A> using device_csr_pointer = std::shared_ptr<const device_csr<A>>;

/// Whether a kernel's matrix is made on the device. If not, the host converts it.
template <class Kernel, class Queue, class A, class V>
inline constexpr bool converts_on_device =
    std::is_constructible_v<typename Kernel::template matrix<A, V, offset>, Queue&,
                            const device_csr_pointer<A>&, const prepare_options&>;

template <class Kernel> inline constexpr bool has_mixed_precision = requires {
  requires Kernel::has_mixed_precision;
};

/// A matrix made ready for a kernel. Matrix: the kernel's matrix<A, V, Offset>.
///
/// Thread safety: multiplies write nothing but y and the scratch set that they are lent, so that any number
/// of threads may make them at once.
template <class Kernel, class Queue, class V, class Matrix>
class prepared_on_gpu final : public prepared_matrix<V> {
 public:
  /// Source: device_csr_pointer<A> or csr_view<A>, whichever the kernel's matrix is made from.
  template <class Source>
  prepared_on_gpu(index rows, index cols, const Source& source, const prepare_options& options, Queue&& queue)
      : prepared_matrix<V>(rows, cols, options.on),
        a_(queue, source, options),
        layout_(layout_of_multiply()),
        multiply_has_scratch_(layout_.bytes() > 0),
        step_(layout_, blocks_of_step(queue), split_rows_of_step()),
        scratch_(options.on, layout_) {
    // Multiplies may be in streams that do not wait for the one in which the arrays were made.
    options.on->synchronize({});
  }
  footprint storage() const override {
    const footprint size = a_.storage();
    return {size.bytes + scratch_.bytes(), size.padding_bytes};
  }
  std::string encodings() const override {
    if constexpr (requires(const Matrix& a) { a.encodings(); })
      return a_.encodings();
    else
      return {};
  }

 private:
  static constexpr bool finishes_rows = requires(const Queue& queue, const Matrix& a) {
    Kernel::blocks(queue, a);
  };

  std::int64_t blocks_of_step(const Queue& queue) const {
    if constexpr (finishes_rows)
      return Kernel::blocks(queue, a_);
    else
      return blocks_for(this->rows());
  }
  std::int64_t split_rows_of_step() const {
    if constexpr (requires(const Matrix& a) { Kernel::split_rows(a); })
      return Kernel::split_rows(a_);
    else
      return 0;
  }

  static constexpr bool has_scratch = requires(Matrix & a, scratch_layout& layout) { a.reserve(layout); };

  scratch_layout layout_of_multiply() {
    scratch_layout out;
    if constexpr (has_scratch) a_.reserve(out);
    return out;
  }
  template <class Epilogue>
  void multiply_with(Queue& queue, std::byte* set, const V* x, V* y, const Epilogue& finish) const {
    if constexpr (has_scratch)
      Kernel::multiply(queue, a_, set, x, y, finish);
    else
      Kernel::multiply(queue, a_, x, y, finish);
  }

  void run(V alpha, const V* x, V beta, V* y, stream in) const override {
    Queue queue(*this->where(), in);
    const scale_and_add<V> finish{alpha, beta};
    if (!multiply_has_scratch_) return multiply_with(queue, nullptr, x, y, finish);
    const auto set = scratch_.lend(in);
    multiply_with(queue, set.data(), x, y, finish);
  }
  void run_step(const V* x, const fused_step<V>& step, V* y, double* sums, stream in) const override {
    Queue queue(*this->where(), in);
    const auto set = scratch_.lend(in);
    const fused_epilogue<V> finish = step_.epilogue(step, sums, set.data());
    if constexpr (finishes_rows) {
      multiply_with(queue, set.data(), x, y, finish);
    } else {
      multiply_with(queue, set.data(), x, y, scale_and_add<V>{});
      step_after_multiply(queue, this->rows(), finish, y);
    }
    step_.end_step(queue, step.sums(), sums, set.data());
  }

  Matrix a_;
  scratch_layout layout_;
  bool multiply_has_scratch_;
  step_scratch step_;
  typename Queue::scratch_pool scratch_;
};

/// From a csr_view or a device_csr_pointer, whichever the kernel's matrix is made from.
template <class Kernel, class Queue, class A, class V, class Source>
std::unique_ptr<prepared_matrix<V>> prepare(index rows, index cols, const Source& source, bool is_wide,
                                            const prepare_options& options) {
  const auto make = [&]<class Offset>(Offset) -> std::unique_ptr<prepared_matrix<V>> {
    using matrix = typename Kernel::template matrix<A, V, Offset>;
    return std::make_unique<prepared_on_gpu<Kernel, Queue, V, matrix>>(rows, cols, source, options,
                                                                       Queue(*options.on, {}));
  };
  return is_wide ? make(offset{}) : make(std::int32_t{});
}

template <class Kernel, class Queue, class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_from_device(const device_csr_pointer<A>& a,
                                                        const prepare_options& asked) {
  prepare_options options = asked;
  options.on = device_of(a->where(), Queue::kind, asked);
  if constexpr (converts_on_device<Kernel, Queue, A, V>)
    return prepare<Kernel, Queue, A, V>(a->rows, a->cols, a, a->is_wide(), options);
  else
    return prepare<Kernel, Queue, A, V>(a->rows, a->cols, trusted(to_host(*a)), a->is_wide(), options);
}

template <class Kernel, class Queue, class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_from_host(csr_view<A> a, const prepare_options& asked) {
  prepare_options options = asked;
  options.on = device_for(Queue::kind, asked, Queue::default_device);
  if constexpr (converts_on_device<Kernel, Queue, A, V>)
    return prepare_from_device<Kernel, Queue, A, V>(place_csr(a, options.on, options.wide_offsets), options);
  else
    return prepare<Kernel, Queue, A, V>(a.rows, a.cols, a,
                                        options.wide_offsets || needs_wide_offsets(a.nnz()), options);
}

/// The row of a kernel's file, for one kind of device.
template <class Kernel, class Queue> kernel_row make_row() {
  kernel_row out = Kernel::row;
  out.runs_on = Queue::kind;
  out.converts_on_device = converts_on_device<Kernel, Queue, double, double>;
#define NONZERO_PREPARE(A, V)                                                                       \
  if constexpr (std::is_same_v<A, V> || has_mixed_precision<Kernel>)                                \
    static_cast<prepare_functions<A, V>&>(out.functions) = {prepare_from_host<Kernel, Queue, A, V>, \
                                                            prepare_from_device<Kernel, Queue, A, V>};
  NONZERO_FOR_EACH_STORAGE(NONZERO_PREPARE)
#undef NONZERO_PREPARE
  return out;
}

}  // namespace nz::gpu
