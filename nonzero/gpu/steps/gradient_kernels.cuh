#pragma once

#include <nonzero/gpu/steps/vector_kernels.cuh>
#include <nonzero/kernel/gradient_kernels.hpp>

// The gradient_kernels of kernel/gradient_kernels.hpp, for one Queue: two launches an iteration. Every block
// of the second adds up the sums of the first, in the same order, so that all agree on beta and on whether
// the loop has ended without a launch in between.
namespace nz::gpu {

/// The sums that a grid published, in all threads of the block. Every thread calls it, once in a kernel.
__device__ inline step_sums sums_for_all(std::int64_t blocks, const double* sums) {
  __shared__ shared_array<double, 2> found;
  const step_sums total = block_sum(sum_strided(blocks, sums, 2), 2);
  if (threadIdx.x == 0) {
    found[0] = total.first;
    found[1] = total.second;
  }
  __syncthreads();
  return {found[0], found[1]};
}

template <class V> __device__ V precondition(V value, const V* inverse_diagonal, std::int64_t i) {
  return inverse_diagonal == nullptr ? value : value * inverse_diagonal[i];
}

__device__ inline void publish_both_sums(step_sums mine, double* sums) {
  const step_sums total = block_sum(mine, 2);
  if (threadIdx.x != 0) return;
  sums[blockIdx.x] = total.first;
  sums[gridDim.x + blockIdx.x] = total.second;
}

/// p = z, with the blocks' sums of r · z and r · r.
template <class V>
__global__ void begin_gradients_kernel(std::int64_t size, gradient_vectors<V> v, double* sums) {
  step_sums mine;
  for_numbers(size, [&](std::int64_t i) {
    const V r = v.r[i], z = precondition(r, v.inverse_diagonal, i);
    v.p[i] = z;
    mine +=
        {static_cast<double>(r) * static_cast<double>(z), static_cast<double>(r) * static_cast<double>(r)};
  });
  publish_both_sums(mine, sums);
}

template <class State>
__global__ void first_state_kernel(std::int64_t blocks, const double* sums, double threshold, State* state) {
  const step_sums total = sums_for_all(blocks, sums);
  if (threadIdx.x == 0) *state = state_of(0, total.first, sqrt(total.second), threshold);
}

// r -= alpha q, with the blocks' sums of r · z and r · r.
// Good: long vectors.
// Bad: the whole grid waits for one number, alpha.
// Traffic: r twice, q and the diagonal once.
// Source: ours.
template <class V>
__global__ void update_residual_kernel(std::int64_t size, const double* curvature,
                                       const gradient_state* before, gradient_vectors<V> v, double* sums) {
  wait_for_prerequisite();
  trigger_dependent_launch();
  if (!can_advance(*before, *curvature)) return;
  const V alpha = static_cast<V>(before->rz / *curvature);
  step_sums mine;
  V r[numbers_at_once], d[numbers_at_once];
  for_batches(
      size,
      [&](int j, std::int64_t i) {
        r[j] = v.r[i] - alpha * v.q[i];
        d[j] = v.inverse_diagonal == nullptr ? V{1} : v.inverse_diagonal[i];
      },
      [&](int j, std::int64_t i) {
        v.r[i] = r[j];
        const auto wide = static_cast<double>(r[j]);
        mine += {wide * static_cast<double>(r[j] * d[j]), wide * wide};
      });
  publish_both_sums(mine, sums);
}

// x += alpha p and p = z + beta p, and the state that the iteration ends with.
// Good: always.
// Bad: short vectors, for which adding up the sums takes most of the time.
// Traffic: x and p twice, r and the diagonal once.
// Source: ours.
template <class V>
__global__ void update_direction_kernel(std::int64_t size, const double* curvature, double threshold,
                                        const gradient_state* before, gradient_vectors<V> v,
                                        std::int64_t blocks, const double* sums, gradient_state* after) {
  wait_for_prerequisite();
  trigger_dependent_launch();
  const bool writes_state = blockIdx.x == 0 && threadIdx.x == 0;
  if (!can_advance(*before, *curvature)) {
    if (writes_state) *after = state_without_advance(*before, *curvature);
    return;
  }
  const step_sums total = sums_for_all(blocks, sums);
  const V alpha = static_cast<V>(before->rz / *curvature), beta = static_cast<V>(total.first / before->rz);
  if (writes_state) *after = state_of(*curvature, total.first, sqrt(total.second), threshold);
  V x[numbers_at_once], p[numbers_at_once], z[numbers_at_once];
  for_batches(
      size,
      [&](int j, std::int64_t i) {
        x[j] = v.x[i];
        p[j] = v.p[i];
        z[j] = precondition(v.r[i], v.inverse_diagonal, i);
      },
      [&](int j, std::int64_t i) {
        v.x[i] = x[j] + alpha * p[j];
        v.p[i] = z[j] + beta * p[j];
      });
}

template <class V, class Queue> class device_gradient_kernels final : public gradient_kernels<V> {
 public:
  device_gradient_kernels(std::shared_ptr<device> on, std::size_t size)
      : on_(std::move(on)),
        size_(static_cast<std::int64_t>(size)),
        blocks_(std::max<std::int64_t>(1, vector_blocks(size_))),
        sums_(layout_.add<double>(2 * blocks_)),
        scratch_(on_, layout_) {}

  void begin(const gradient_vectors<V>& v, double threshold, gradient_state* state,
             stream in) const override {
    Queue queue(*on_, in);
    const auto set = scratch_.lend(in);
    double* const sums = sums_.in(set.data());
    queue.launch("begin_gradients", blocks_, threads_per_block, begin_gradients_kernel<V>, size_, v, sums);
    queue.launch("first_state", 1, threads_per_block, first_state_kernel<gradient_state>, blocks_, sums,
                 threshold, state);
  }

  void advance(const gradient_vectors<V>& v, const double* curvature, double threshold,
               const gradient_state* before, gradient_state* after, stream in) const override {
    Queue queue(*on_, in);
    const auto set = scratch_.lend(in);
    double* const sums = sums_.in(set.data());
    queue.launch_dependent("update_residual", blocks_, threads_per_block, update_residual_kernel<V>, size_,
                           curvature, before, v, sums);
    queue.launch_dependent("update_direction", blocks_, threads_per_block, update_direction_kernel<V>, size_,
                           curvature, threshold, before, v, blocks_, sums, after);
  }

 private:
  std::shared_ptr<device> on_;
  std::int64_t size_, blocks_;
  scratch_layout layout_;
  scratch_array<double> sums_;
  typename Queue::scratch_pool scratch_;
};

}  // namespace nz::gpu
