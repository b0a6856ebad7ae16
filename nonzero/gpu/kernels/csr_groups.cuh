#pragma once

#include <cstdint>
#include <memory>

#include <nonzero/gpu/long_rows.cuh>

namespace nz::gpu {

/// How many lanes share a row, 2, 4, 8 or 32: by the mean row, and more where there are few rows, as a card
/// then has threads to spare.
template <class Queue> int lanes_of_group(const Queue& queue, index rows, offset nnz) {
  const offset mean = rows == 0 ? 0 : (nnz + rows / 2) / rows;
  int lanes = mean >= 48 ? 32 : mean >= 13 ? 8 : mean >= 5 ? 4 : 2;
  for (const int more : {4, 8, 32})
    if (more > lanes && std::int64_t{rows} * more <= queue.resident_threads() / 4) lanes = more;
  return lanes;
}

/// Entries that a lane has under way at once: as measured, on an H200.
constexpr int ahead_of_lane(int lanes) { return lanes == 2 ? 8 : lanes == 4 ? 2 : 4; }

/// Which rows are too long for so many lanes. A warp is as soon done with 64 entries as 8 lanes are.
inline split_rule split_rule_for(int lanes) { return {lanes == 8 ? 64 : 16 * lanes, 256}; }

/// CSR with the list of its long rows.
template <class A, class Offset, class V = A> struct csr_in_groups : csr_or_pattern<A, Offset> {
  int lanes;
  device_segments<V, Offset> parts;

  template <class Queue>
  csr_in_groups(Queue& queue, const std::shared_ptr<const device_csr<A>>& a, const prepare_options& options)
      : csr_or_pattern<A, Offset>(queue, a, options),
        lanes(lanes_of_group(queue, this->rows, this->nnz)),
        parts(queue, options.on, this->rows, this->row_begin.data(), split_rule_for(lanes), nullptr) {}
  footprint storage() const { return {csr_on_device<A, Offset>::storage().bytes + parts.bytes(), 0}; }
};

// A few lanes share each short row, as in csr_vector, but each has several entries under way at once; a long
// row has a warp, or several: one for each part of 256, and the last of them to be done finishes the row.
// Blocks for those come first, as they take the longest.
// Good: what a card's cache holds, whatever the lengths of its rows, in one launch; long rows.  Bad: short
// rows that come from memory (csr_scalar and the formats by slices start fewer threads for them, csr_merge
// has a thread for a few entries of any row).
// Traffic: 12 bytes per nonzero in double, 4 where all values are the same, plus the gather of x, and 12 to
// 28 bytes for each part, and 16 for each cut row.
// Source: Bell & Garland 2008, §4.2, for several lanes or a warp per row; the list of parts is ours.
template <int Lanes, bool HasLongRows, class A, class V, class Offset, class Epilogue>
__global__ void __launch_bounds__(threads_per_block)
    csr_groups_kernel(index rows, offset longest_short, segment_view<V, Offset> parts,
                      const Offset* __restrict__ row_begin, const index* __restrict__ col,
                      entry_values<A> values, const V* __restrict__ x, V* __restrict__ y, Epilogue finish) {
  row_epilogue<Epilogue> finish_row(finish, y);
  const std::int64_t blocks_of_parts = HasLongRows ? parts.blocks() : 0;
  if (HasLongRows && blockIdx.x < blocks_of_parts) {
    sum_segment(parts, col, values, x, finish_row);
  } else {
    const std::int64_t row = (thread_in_grid() - blocks_of_parts * threads_per_block) / Lanes;
    const Offset begin = row < rows ? row_begin[row] : 0, end = row < rows ? row_begin[row + 1] : 0;
    if (row < rows && (!HasLongRows || end - begin <= longest_short)) {  // the whole group
      const V sum = sum_of_entries<Lanes, ahead_of_lane(Lanes)>(begin, end, col, values, x);
      if (threadIdx.x % Lanes == 0) finish_row(sum, row);
    }
  }
  finish_row.publish_block_sums();
}

struct csr_groups_launch {
  static prediction predict(const device_features& a) {
    const bool suits = a.fits_cache() || a.has_long_rows();
    prediction out;
    if (!suits) out.verdict = "its rows are too short for several lanes or a warp each";
    out.preference = a.is_small() || suits ? 3 : 0;
    return out;
  }

  template <class A, class Offset, class V = A> using placed = csr_in_groups<A, Offset, V>;

  template <class Queue, class A, class Offset, class V>
  static std::int64_t blocks(const Queue&, const csr_in_groups<A, Offset, V>& a) {
    return a.parts.blocks() + blocks_for(std::int64_t{a.lanes} * a.rows);
  }
  template <class A, class Offset, class V>
  static std::int64_t split_rows(const csr_in_groups<A, Offset, V>& a) {
    return a.parts.split_rows();
  }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const csr_in_groups<A, Offset, V>& a, const V* x, V* y,
                       Epilogue finish) {
    const auto launch = [&](auto kernel) {
      queue.launch("csr_groups", blocks(queue, a), threads_per_block, kernel, a.rows,
                   split_rule_for(a.lanes).longest_short, a.parts.for_multiply(), a.row_begin.data(),
                   a.col.data(), a.values(), x, y, finish);
    };
    with_one_of<2, 4, 8, 32>(a.lanes, [&](auto lanes) {
      if (a.parts.size() == 0)
        launch(csr_groups_kernel<lanes.value, false, A, V, Offset, Epilogue>);
      else
        launch(csr_groups_kernel<lanes.value, true, A, V, Offset, Epilogue>);
    });
  }
};

}  // namespace nz::gpu
