#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <nonzero/core/epilogue.hpp>
#include <nonzero/core/vector.hpp>
#include <nonzero/gpu/load.cuh>
#include <nonzero/gpu/scratch.cuh>
#include <nonzero/gpu/warp.cuh>

// What kernels do with the sums of rows. A kernel passes each row's sum to a row_epilogue. At its end, where
// all threads of the block are, it calls publish_block_sums(), which does nothing in a plain multiply. The
// sums of a fused step are added up from the blocks' sums, always in the same order: by the last block to
// publish its own, or by separate launches where there are many. A split row that any of several blocks may
// finish publishes a sum of its own.
namespace nz::gpu {

/// The epilogue of a fused step, for a grid: block b publishes its first sum in sums[b], split row s in
/// sums[blocks + s]; the second ones come sum_count later.
template <class V> struct fused_epilogue {
  fused_step<V> step;
  double* sums;
  std::int64_t blocks;             // of all launches of the step together
  std::int64_t sum_count;          // blocks and split rows
  double* totals = nullptr;        // where the last block writes the totals; null: other launches do
  unsigned* published = nullptr;   // blocks of the last launch that have published; 0 between steps
  std::int64_t blocks_before = 0;  // in earlier launches of the step

  /// For a launch that follows one of `earlier_blocks` blocks.
  fused_epilogue after(std::int64_t earlier_blocks) const {
    fused_epilogue out = *this;
    out.blocks_before += earlier_blocks;
    return out;
  }
};

/// fused_epilogue::after for either epilogue: a plain multiply publishes nothing.
template <class V> scale_and_add<V> after_blocks(const scale_and_add<V>& finish, std::int64_t) {
  return finish;
}
template <class V> fused_epilogue<V> after_blocks(const fused_epilogue<V>& finish, std::int64_t blocks) {
  return finish.after(blocks);
}

constexpr int most_warps = 32;  // of any block
/// The shared memory that publish_block_sums takes; 16 of it are for is_last_block.
constexpr std::size_t block_sums_shared_bytes = 2 * most_warps * sizeof(double) + 16;

/// The sums over the block's threads, in its first; always added in the same order. Every thread calls it; a
/// barrier must come between two calls.
__device__ inline step_sums block_sum(step_sums mine, int sums) {
  __shared__ shared_array<double, most_warps> first_of_warp;
  __shared__ shared_array<double, most_warps> second_of_warp;
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
  mine.first = group_sum<32>(mine.first);
  if (sums > 1) mine.second = group_sum<32>(mine.second);
  if (threadIdx.x % 32 == 0) {
    first_of_warp[warp] = mine.first;
    if (sums > 1) second_of_warp[warp] = mine.second;
  }
  __syncthreads();
  step_sums total;
  for (int w = 0; w < warps && threadIdx.x == 0; ++w) {
    total.first += first_of_warp[w];
    if (sums > 1) total.second += second_of_warp[w];
  }
  return total;
}

/// Increments a counter that goes up to `of`, with release order for what this thread has written or
/// observed. Returns whether it was the last of them; the counter is then 0 again, and what all of them wrote
/// can be read. Only the last needs an acquiring fence: a fence in every block would invalidate the
/// multiprocessor's L1, and the x of other blocks with it.
__device__ inline bool is_last_of(unsigned of, unsigned* counter) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  unsigned before;
  asm volatile("atom.release.gpu.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(counter), "r"(of - 1)
               : "memory");
#else
  __threadfence();
  const unsigned before = atomicInc(counter, of - 1);
#endif
  if (before != of - 1) return false;
  __threadfence();
  return true;
}

/// Whether this block is the last of `blocks` to call it. Every thread of the block calls it. What any of
/// them has written comes before the barrier, and so before the first thread's release: releases are
/// cumulative.
__device__ inline bool is_last_block(unsigned blocks, unsigned* counter) {
  __shared__ shared<int> is_last;
  __syncthreads();
  if (threadIdx.x == 0) is_last = is_last_of(blocks, counter) ? 1 : 0;
  __syncthreads();
  return is_last != 0;
}

/// The same for a warp: every lane calls it, after the first has written its result.
__device__ inline bool is_last_warp(unsigned warps, unsigned* counter) {
  int is_last = 0;
  if (threadIdx.x % 32 == 0) is_last = is_last_of(warps, counter) ? 1 : 0;
  is_last = __shfl_sync(full_warp, is_last, 0);
  __syncwarp();  // a shuffle orders no memory: what the first lane may read now, the others may
  return is_last != 0;
}

/// The sum of every blockDim.x-th published sum, from number threadIdx.x on; block_sum then adds those of the
/// threads. Eight loads are in flight.
__device__ inline step_sums sum_strided(std::int64_t count, const double* published, int sums) {
  constexpr int ahead = 8;
  step_sums mine;
  for (std::int64_t first = threadIdx.x; first < count; first += ahead * blockDim.x) {
    step_sums some[ahead];
    for (int q = 0; q < ahead; ++q) {
      const std::int64_t p = first + q * blockDim.x;
      if (p < count) some[q] = {load_l2(published + p), sums > 1 ? load_l2(published + count + p) : 0.0};
    }
    for (const step_sums& s : some) mine += s;
  }
  return mine;
}

/// Finishes the rows of a thread.
template <class Epilogue> class row_epilogue;

template <class V> class row_epilogue<scale_and_add<V>> {
 public:
  __device__ row_epilogue(const scale_and_add<V>& finish, V* y) : finish_(finish), y_(y) {}
  __device__ void operator()(V sum, std::int64_t row) const { finish_(sum, y_[row]); }
  __device__ void finish_split(V sum, std::int64_t row, std::int64_t) const { (*this)(sum, row); }
  __device__ void publish_block_sums() const {}

 private:
  const scale_and_add<V>& finish_;
  V* y_;
};

template <class V> class row_epilogue<fused_epilogue<V>> {
 public:
  __device__ row_epilogue(const fused_epilogue<V>& finish, V* y) : finish_(finish), y_(y) {
    // For the launch that adds up the blocks' sums.
    if (finish_.totals == nullptr && finish_.step.sums() > 0) trigger_dependent_launch();
  }
  __device__ void operator()(V sum, std::int64_t row) { mine_ += measure(sum, row); }
  /// Split row number `split`, which another block may finish the next time: added to this block's sums, it
  /// would change how they are rounded. By one thread of the grid, before its block publishes its sums.
  __device__ void finish_split(V sum, std::int64_t row, std::int64_t split) const {
    publish(measure(sum, row), finish_.sums + finish_.blocks + split, finish_.sum_count);
  }
  /// Every thread of the block calls it, once.
  __device__ void publish_block_sums() const {
    const int sums = finish_.step.sums();
    if (sums == 0) return;
    const step_sums of_block = block_sum(mine_, sums);
    if (threadIdx.x == 0)
      publish(of_block, finish_.sums + finish_.blocks_before + blockIdx.x, finish_.sum_count);
    if (finish_.totals == nullptr || finish_.blocks_before + gridDim.x < finish_.blocks) return;
    if (!is_last_block(gridDim.x, finish_.published)) return;
    const step_sums total = block_sum(sum_strided(finish_.sum_count, finish_.sums, sums), sums);
    if (threadIdx.x != 0) return;
    publish(total, finish_.totals, 1);
  }

 private:
  __device__ step_sums measure(V sum, std::int64_t row) const {
    return finish_.step.measure_row(finish_.step(sum, row, y_[row]), row);
  }
  /// The second sum goes to to[distance].
  __device__ void publish(const step_sums& found, double* to, std::int64_t distance) const {
    const int sums = finish_.step.sums();
    if (sums > 0) to[0] = found.first;
    if (sums > 1) to[distance] = found.second;
  }

  const fused_epilogue<V>& finish_;
  V* y_;
  step_sums mine_;
};

/// y = beta * y: for kernels that then add to y.
template <class V> __global__ void scale_kernel(index rows, V beta, V* __restrict__ y) {
  const std::int64_t row = thread_in_grid();
  if (row < rows) y[row] = beta == V{0} ? V{0} : beta * y[row];
}

/// A fused step on what a multiply has written to y, a thread per row: for kernels that do not finish rows.
template <class V> __global__ void fused_step_kernel(index rows, V* y, fused_epilogue<V> finish) {
  const std::int64_t row = thread_in_grid();
  row_epilogue<fused_epilogue<V>> finish_row(finish, y);
  if (row < rows) finish_row(y[row], row);
  finish_row.publish_block_sums();
}

constexpr int sums_per_thread = 16;
constexpr std::int64_t sums_per_block = sums_per_thread * threads_per_block;

/// Adds up `count` published sums, sums_per_block in a block. Those of the second sum begin at sums + count,
/// and their totals at totals + gridDim.x.
template <int Sums>
__global__ void add_block_sums_kernel(std::int64_t count, const double* sums, double* totals) {
  wait_for_prerequisite();
  const std::int64_t first = blockIdx.x * sums_per_block + threadIdx.x;
  step_sums mine;
  for (int j = 0; j < sums_per_thread; ++j) {
    const std::int64_t at = first + j * threads_per_block;
    if (at >= count) continue;
    mine += {sums[at], Sums > 1 ? sums[count + at] : 0.0};
  }
  const step_sums total = block_sum(mine, Sums);
  if (threadIdx.x != 0) return;
  totals[blockIdx.x] = total.first;
  if (Sums > 1) totals[gridDim.x + blockIdx.x] = total.second;
}

/// The most sums that the last block adds up. Counting keeps a block on its multiprocessor for a microsecond
/// more; where there are more blocks than fit at once, the others wait longer, and a launch costs less (H200:
/// PageRank's step on cnr-2000, 1,354 blocks, 20.0 and 18.3 µs).
constexpr std::int64_t most_at_once = 1024;

/// How many totals one launch makes of `sums` sums: at least one, also where there are none.
constexpr std::int64_t totals_of(std::int64_t sums) {
  return sums <= sums_per_block ? 1 : (sums + sums_per_block - 1) / sums_per_block;
}

/// Where blocks and split rows publish their two sums, in a scratch set. Behind them come their totals, and
/// the totals of those.
class step_scratch {
 public:
  step_scratch(scratch_layout& layout, std::int64_t blocks, std::int64_t split_rows = 0)
      : blocks_(blocks), count_(blocks + split_rows) {
    std::int64_t numbers = 2 * count_;
    for (std::int64_t left = totals_of(count_); left > 1; left = totals_of(left)) numbers += 2 * left;
    sums_ = layout.add<double>(numbers);
    published_ = layout.add<unsigned>(1);
  }
  /// Where the blocks and the split rows publish theirs.
  double* data(std::byte* set) const { return sums_.in(set); }

  /// For a step whose totals go to `to`: the last block of its launches adds up the sums if one block can;
  /// otherwise end_step does.
  template <class V> fused_epilogue<V> epilogue(const fused_step<V>& step, double* to, std::byte* set) const {
    return {step, data(set), blocks_, count_, is_added_up_at_once() ? to : nullptr, published_.in(set)};
  }
  template <class Queue> void end_step(Queue& queue, int sums, double* to, std::byte* set) const {
    if (sums > 0 && !is_added_up_at_once()) add_up(queue, sums, to, set);
  }

  template <class Queue> void add_up(Queue& queue, int sums, double* to, std::byte* set) const {
    const double* from = data(set);
    double* next = data(set) + 2 * count_;
    for (std::int64_t count = count_;;) {
      const std::int64_t totals = totals_of(count);
      with_one_of<1, 2>(sums, [&](auto each) {
        queue.launch_dependent("add_block_sums", totals, threads_per_block, add_block_sums_kernel<each.value>,
                               count, from, totals == 1 ? to : next);
      });
      if (totals == 1) return;
      from = next;
      next += 2 * totals;
      count = totals;
    }
  }

 private:
  bool is_added_up_at_once() const { return count_ > 0 && count_ <= most_at_once; }

  std::int64_t blocks_, count_;
  scratch_array<double> sums_;
  scratch_array<unsigned> published_;
};

/// The step for kernels that add to y instead of finishing rows.
template <class V, class Queue>
void step_after_multiply(Queue& queue, index rows, const fused_epilogue<V>& finish, V* y) {
  launch_threads(queue, "fused_step", rows, fused_step_kernel<V>, rows, y, finish);
}

}  // namespace nz::gpu
