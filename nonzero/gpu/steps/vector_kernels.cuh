#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/threads.cuh>
#include <nonzero/kernel/vector_kernels.hpp>

// The vector_kernels of kernel/vector_kernels.hpp, for one Queue.
namespace nz::gpu {

/// Numbers that a thread takes at once, blockDim.x from each other, so that their loads are in flight
/// together.
constexpr int numbers_at_once = 4;
constexpr std::int64_t tile = std::int64_t{numbers_at_once} * threads_per_block;
/// The most blocks of a grid; a block takes one tile after the other. Few enough that every block of the next
/// launch can add up their sums.
constexpr std::int64_t most_vector_blocks = 1024;

inline std::int64_t vector_blocks(std::int64_t size) {
  return std::min((size + tile - 1) / tile, most_vector_blocks);
}

/// body(i) for this thread's numbers.
template <class Body> __device__ void for_numbers(std::int64_t size, Body body) {
  for (std::int64_t first = blockIdx.x * tile; first < size; first += gridDim.x * tile)
    for (int j = 0; j < numbers_at_once; ++j) {
      const std::int64_t i = first + j * threads_per_block + threadIdx.x;
      if (i < size) body(i);
    }
}

/// load(j, i) for numbers_at_once of this thread's numbers, then use(j, i) for them: for kernels that write
/// where, as far as the compiler knows, their next reads may be.
template <class Load, class Use> __device__ void for_batches(std::int64_t size, Load load, Use use) {
  for (std::int64_t first = blockIdx.x * tile; first < size; first += gridDim.x * tile) {
    const auto for_each = [&](auto& body) {
      for (int j = 0; j < numbers_at_once; ++j) {
        const std::int64_t i = first + j * threads_per_block + threadIdx.x;
        if (i < size) body(j, i);
      }
    };
    for_each(load);
    for_each(use);
  }
}

// Each block publishes the sum of its numbers; one block then adds them up.
// Good: long vectors.
// Bad: short ones, for which two launches are the time.
// Traffic: each vector once.
// Source: M. Harris, Optimizing parallel reduction in CUDA (2007), with shuffles and a fixed order.
template <class V>
__global__ void dot_kernel(std::int64_t size, const V* __restrict__ x, const V* __restrict__ y,
                           double* __restrict__ sums) {
  trigger_dependent_launch();
  step_sums mine;
  for_numbers(size,
              [&](std::int64_t i) { mine.first += static_cast<double>(x[i]) * static_cast<double>(y[i]); });
  const step_sums total = block_sum(mine, 1);
  if (threadIdx.x == 0) sums[blockIdx.x] = total.first;
}

template <class V>
__global__ void end_dot_kernel(std::int64_t blocks, const double* sums, bool is_norm, V* to) {
  wait_for_prerequisite();
  const step_sums total = block_sum(sum_strided(blocks, sums, 1), 1);
  if (threadIdx.x == 0) *to = static_cast<V>(is_norm ? sqrt(total.first) : total.first);
}

template <class V>
__global__ void axpy_kernel(std::int64_t size, V alpha, const V* alpha_at, const V* __restrict__ x,
                            V* __restrict__ y) {
  const V factor = alpha_at == nullptr ? alpha : *alpha_at;
  for_numbers(size, [&](std::int64_t i) { y[i] += factor * x[i]; });
}

template <class V>
__global__ void scale_vector_kernel(std::int64_t size, V alpha, const V* alpha_at, V* __restrict__ x) {
  const V factor = alpha_at == nullptr ? alpha : *alpha_at;
  for_numbers(size, [&](std::int64_t i) { x[i] *= factor; });
}

template <class V> __global__ void multiply_entries_kernel(std::int64_t size, const V* x, const V* y, V* z) {
  for_numbers(size, [&](std::int64_t i) { z[i] = x[i] * y[i]; });
}

template <class V> __global__ void divide_kernel(const V* over, const V* under, V* to) {
  const V quotient = *under > V{0} ? *over / *under : V{0};
  to[0] = quotient;
  to[1] = -quotient;
}

/// The operations that BLAS does not have: a base for our kernels and for another library's.
template <class V, class Queue> class small_vector_kernels : public vector_kernels<V> {
 protected:
  using vector_kernels<V>::vector_kernels;
  std::int64_t count() const { return static_cast<std::int64_t>(this->size()); }
  std::int64_t blocks() const { return vector_blocks(count()); }

 private:
  void run_divide(const V* over, const V* under, V* to, stream in) const override {
    Queue(*this->where(), in).launch("divide", 1, 1, divide_kernel<V>, over, under, to);
  }
  void run_multiply(const V* x, const V* y, V* z, stream in) const override {
    Queue(*this->where(), in)
        .launch("multiply_entries", blocks(), threads_per_block, multiply_entries_kernel<V>, count(), x, y,
                z);
  }
};

template <class V, class Queue> class device_vector_kernels final : public small_vector_kernels<V, Queue> {
 public:
  device_vector_kernels(const std::shared_ptr<device>& on, std::size_t size)
      : small_vector_kernels<V, Queue>(on, size),
        sums_(layout_.add<double>(most_vector_blocks)),
        scratch_(on, layout_) {}
  std::string_view name() const override { return "nonzero"; }

 private:
  void run_dot(const V* x, const V* y, V* to, stream in) const override { find_dot(x, y, false, to, in); }
  void run_norm2(const V* x, V* to, stream in) const override { find_dot(x, x, true, to, in); }
  void find_dot(const V* x, const V* y, bool is_norm, V* to, stream in) const {
    Queue queue(*this->where(), in);
    const auto set = scratch_.lend(in);
    double* const sums = sums_.in(set.data());
    queue.launch("dot", this->blocks(), threads_per_block, dot_kernel<V>, this->count(), x, y, sums);
    queue.launch_dependent("end_dot", 1, threads_per_block, end_dot_kernel<V>, this->blocks(), sums, is_norm,
                           to);
  }
  void run_axpy(V alpha, const V* alpha_at, const V* x, V* y, stream in) const override {
    Queue(*this->where(), in)
        .launch("axpy", this->blocks(), threads_per_block, axpy_kernel<V>, this->count(), alpha, alpha_at, x,
                y);
  }
  void run_scale(V alpha, const V* alpha_at, V* x, stream in) const override {
    Queue(*this->where(), in)
        .launch("scale_vector", this->blocks(), threads_per_block, scale_vector_kernel<V>, this->count(),
                alpha, alpha_at, x);
  }

  scratch_layout layout_;
  scratch_array<double> sums_;
  typename Queue::scratch_pool scratch_;
};

}  // namespace nz::gpu
