#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <nonzero/gpu/placed.cuh>
#include <nonzero/gpu/read_once.cuh>
#include <nonzero/gpu/threads.cuh>
#include <nonzero/gpu/value_bits.cuh>

// The values of the entries of a matrix in CSR. Those of a graph are all the same: then none is read.
namespace nz::gpu {

template <class A> struct entry_values {
  const A* each;  // null: all are the same
  A all;
};

/// Writes 1 where an entry differs from the first by a bit: 0 was there before.
template <class A>
__global__ void find_differing_kernel(offset nnz, const A* __restrict__ val, std::int32_t* is_different) {
  const auto first = bits_of_value(val[0]);
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t k = thread_in_grid(); k < nnz; k += threads)
    if (bits_of_value(val[k]) != first) {
      *is_different = 1;
      return;
    }
}

/// The value that all entries have.
template <class Queue, class A, class Offset>
std::optional<A> find_one_value(Queue& queue, const placed_csr<A, Offset>& a,
                                const prepare_options& options) {
  constexpr offset fewest = 1 << 14;  // fewer are sooner read than looked through
  if (a.nnz < fewest) return std::nullopt;
  vector<std::int32_t> is_different = place(options.on, array<std::int32_t>(1, 0));
  const std::int64_t blocks =
      std::min<std::int64_t>(blocks_for(a.nnz), queue.resident_threads() / threads_per_block);
  queue.launch("find_differing", blocks, threads_per_block, find_differing_kernel<A>, a.nnz, a.val.data(),
               is_different.data());
  const auto [differs, first] = queue.read(is_different.data(), a.val.data());
  return differs != 0 ? std::nullopt : std::optional<A>(first);
}

/// CSR, for kernels that read no values where they are all the same.
template <class A, class Offset> struct placed_csr_or_pattern : placed_csr<A, Offset> {
  std::optional<A> one_value;

  template <class Queue>
  placed_csr_or_pattern(Queue& queue, const std::shared_ptr<const device_csr<A>>& a,
                        const prepare_options& options)
      : placed_csr<A, Offset>(a), one_value(find_one_value(queue, *this, options)) {}
  entry_values<A> values() const {
    return one_value ? entry_values<A>{nullptr, *one_value} : entry_values<A>{this->val.data(), A{0}};
  }
  std::string encodings() const { return one_value ? "one value for all entries" : std::string{}; }
};

}  // namespace nz::gpu
