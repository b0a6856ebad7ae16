#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <nonzero/gpu/long_rows.cuh>

namespace nz::gpu {

/// How many lanes share a row, 2, 4, 8 or 32: by the mean row length, and more if there are few rows and the
/// GPU would have idle threads.
template <class Queue> int lanes_of_group(const Queue& queue, index rows, offset nnz) {
  const offset mean = rows == 0 ? 0 : (nnz + rows / 2) / rows;
  int lanes = mean >= 48 ? 32 : mean >= 13 ? 8 : mean >= 5 ? 4 : 2;
  for (const int more : {4, 8, 32})
    if (more > lanes && std::int64_t{rows} * more <= queue.resident_threads() / 4) lanes = more;
  return lanes;
}

/// Entries that a lane has in flight: as measured, on an H200.
constexpr int ahead_of_lane(int lanes) { return lanes == 2 ? 8 : lanes == 4 ? 2 : 4; }

/// How many blocks a multiprocessor must hold; 0 leaves it to the compiler. In float with long rows nvcc 13.0
/// would save registers and have fewer loads in flight: 8 % slower on an H200 (arrow, lp_nw04).
template <class V> constexpr int min_blocks(bool has_long_rows) {
  return has_long_rows && sizeof(V) == sizeof(float) ? 6 : 0;
}

/// A row is long if it has more than 32, 64, 64 or 512 entries, for 2, 4, 8 or 32 lanes: a warp takes no
/// longer for 64 entries than 8 lanes do.
inline split_rule split_rule_for(int lanes) { return {lanes == 8 ? 64 : 16 * lanes, 256, 256}; }

/// CSR with the list of its long rows.
template <class A, class V, class Offset> struct csr_in_groups : csr_or_one_value<A, Offset> {
  int lanes;
  device_segments<V, Offset> segments;

  template <class Queue>
  csr_in_groups(Queue& queue, const std::shared_ptr<const device_csr<A>>& a, const prepare_options& options)
      : csr_or_one_value<A, Offset>(queue, a, options),
        lanes(lanes_of_group(queue, this->rows, this->nnz())),
        segments(queue, options.on, this->rows, this->row_begin.data(), split_rule_for(lanes), nullptr) {}
  void reserve(scratch_layout& layout) { segments.reserve(layout); }
  footprint storage() const { return {shared_csr<A, Offset>::storage().bytes + segments.bytes(), 0}; }
};

// A few lanes share each short row, as in csr_vector, but each lane has several entries in flight. A long row
// has a warp for each segment of 256, and the last of them to be done finishes the row. The blocks for long
// rows come first, as they take the longest.
// Good: matrices that a GPU's cache holds, if rows have more than about 16 entries or some are very long; one
// launch.
// Bad: short rows that come from DRAM (csr_scalar and the sliced formats start fewer threads for them;
// csr_merge gives every thread a few entries of any row).
// Traffic: 12 bytes per nonzero in double, 4 where all values are equal, plus the gather of x, 12 to 28 bytes
// for each segment, and 16 for each split row.
// Source: Bell & Garland 2008, §4.2, for several lanes or a warp per row; the list of segments is ours.
template <int Lanes, bool HasLongRows, class A, class V, class Offset, class Epilogue>
__global__ void __launch_bounds__(threads_per_block, min_blocks<V>(HasLongRows))
    csr_groups_kernel(csr_view<A, Offset> a, entry_values<A> values, offset longest_short,
                      segment_view<V, Offset> segments, const V* x, V* y, Epilogue finish) {
  wait_for_prerequisite();
  row_epilogue<Epilogue> finish_row(finish, y);
  const std::int64_t segment_blocks = HasLongRows ? segments.blocks() : 0;
  if (HasLongRows && blockIdx.x < segment_blocks) {
    sum_segment(segments, a.col.data(), values, x, finish_row);
  } else {
    const std::int64_t row = (thread_in_grid() - segment_blocks * threads_per_block) / Lanes;
    const Offset begin = row < a.rows ? a.begin(row) : 0, end = row < a.rows ? a.end(row) : 0;
    if (row < a.rows && (!HasLongRows || end - begin <= longest_short)) {  // the whole group
      const V sum = sum_of_entries<Lanes, ahead_of_lane(Lanes)>(begin, end, a.col.data(), values, x);
      if (threadIdx.x % Lanes == 0) finish_row(sum, row);
    }
  }
  finish_row.publish_block_sums();
}

struct csr_groups_launch {
  static prediction predict(const device_features& a) {
    const bool suits = a.fits_cache() || a.has_long_rows();
    prediction out;
    if (!suits)
      out.verdict =
          "the cache does not hold the matrix, and more than a quarter of its entries are in short rows";
    out.preference = a.is_small() || suits ? 3 : 0;
    return out;
  }

  static constexpr kernel_row row{.name = "csr_groups",
                                  .format = "csr",
                                  .summary = "2 to 32 lanes per row, a warp for each segment of a long one",
                                  .is_candidate = true,
                                  .predict = predict};
  static constexpr bool has_mixed_precision = true;
  template <class A, class V, class Offset> using matrix = csr_in_groups<A, V, Offset>;

  template <class Queue, class A, class V, class Offset>
  static std::int64_t blocks(const Queue&, const csr_in_groups<A, V, Offset>& a) {
    return a.segments.blocks() + blocks_for(std::int64_t{a.lanes} * a.rows);
  }
  template <class A, class V, class Offset>
  static std::int64_t split_rows(const csr_in_groups<A, V, Offset>& a) {
    return a.segments.split_rows();
  }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const csr_in_groups<A, V, Offset>& a, std::byte* set, const V* x, V* y,
                       Epilogue finish) {
    const auto launch = [&](auto kernel) {
      queue.launch_dependent("csr_groups", blocks(queue, a), threads_per_block, kernel, a.view(), a.values(),
                             split_rule_for(a.lanes).longest_short, a.segments.view(set), x, y, finish);
    };
    with_one_of<2, 4, 8, 32>(a.lanes, [&](auto lanes) {
      if (a.segments.size() == 0)
        launch(csr_groups_kernel<lanes.value, false, A, V, Offset, Epilogue>);
      else
        launch(csr_groups_kernel<lanes.value, true, A, V, Offset, Epilogue>);
    });
  }
};

}  // namespace nz::gpu
