#pragma once

#include <cstdint>
#include <memory>

#include <nonzero/gpu/long_rows.cuh>

namespace nz::gpu {

constexpr int lanes_of_short = 8;  // that a short row has
constexpr offset longest_short = 64;

/// CSR with the list of its long rows.
template <class A, class Offset, class V = A> struct placed_csr_in_groups : placed_csr_or_pattern<A, Offset> {
  placed_parts<V, Offset> parts;

  template <class Queue>
  placed_csr_in_groups(Queue& queue, const std::shared_ptr<const device_csr<A>>& a,
                       const prepare_options& options)
      : placed_csr_or_pattern<A, Offset>(queue, a, options),
        parts(queue, options.on, this->rows, this->row_begin.data(), longest_short, nullptr) {}
  footprint storage() const { return {placed_csr<A, Offset>::storage().bytes + parts.bytes(), 0}; }
};

// Eight lanes share each short row, as in csr_vector; a long one has a warp, or several: one for each part of
// 512, and the last of them to be done finishes the row. Blocks for those come first, as they take the
// longest.
// Good: long rows, whatever their lengths, and some short ones among them: linear programs, bipartite graphs.
// Bad: mostly short rows (idle lanes; csr_merge has a thread for a few entries of any row).
// Traffic: 12 bytes per nonzero in double, 4 where all values are the same, plus the gather of x, and 12 to
// 28 bytes for each part, and 16 for each cut row.
// Source: Bell & Garland 2008, §4.2, for a warp per row; the list of parts is ours.
template <class A, class V, class Offset, class Epilogue>
__global__ void __launch_bounds__(threads_per_block)
    csr_groups_kernel(index rows, parts_of_rows<V, Offset> parts, const Offset* __restrict__ row_begin,
                      const index* __restrict__ col, entry_values<A> values, const V* __restrict__ x,
                      V* __restrict__ y, Epilogue finish) {
  row_finisher<Epilogue> finish_row(finish, y);
  if (blockIdx.x < parts.blocks()) {
    sum_part(parts, col, values, x, finish_row);
  } else {
    const std::int64_t row = (thread_in_grid() - parts.blocks() * threads_per_block) / lanes_of_short;
    const Offset begin = row < rows ? row_begin[row] : 0, end = row < rows ? row_begin[row + 1] : 0;
    if (row < rows && end - begin <= longest_short) {  // the whole group
      const V sum = sum_of_entries<lanes_of_short, 2>(begin, end, col, values, x);
      if (threadIdx.x % lanes_of_short == 0) finish_row(sum, row);
    }
  }
  finish_row.leave_sums();
}

struct csr_groups_launch {
  template <class A, class Offset, class V = A> using placed = placed_csr_in_groups<A, Offset, V>;

  template <class Queue, class A, class Offset, class V>
  static std::int64_t blocks(const Queue&, const placed_csr_in_groups<A, Offset, V>& a) {
    return a.parts.blocks() + blocks_for(std::int64_t{lanes_of_short} * a.rows);
  }
  template <class A, class Offset, class V>
  static std::int64_t cut_rows(const placed_csr_in_groups<A, Offset, V>& a) {
    return a.parts.cut_rows();
  }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const placed_csr_in_groups<A, Offset, V>& a, const V* x, V* y,
                       Epilogue finish) {
    queue.launch("csr_groups", blocks(queue, a), threads_per_block, csr_groups_kernel<A, V, Offset, Epilogue>,
                 a.rows, a.parts.for_multiply(), a.row_begin.data(), a.col.data(), a.values(), x, y, finish);
  }
};

}  // namespace nz::gpu
