#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <nonzero/gpu/convert/device_bsr.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/load.cuh>

namespace nz::gpu {

/// The sum of each row's entries in no block, by a group of lanes as in csr_vector. `row`: the matrix's row
/// of each row of a.
template <int Lanes, class A, class V, class Offset>
__global__ void bsr_rest_kernel(csr_view<A, Offset> a, const index* __restrict__ row, const V* __restrict__ x,
                                V* __restrict__ sums) {
  const std::int64_t group = thread_in_grid() / Lanes;
  const int lane = threadIdx.x % Lanes;
  if (group >= a.rows) return;  // the whole group
  V sum = 0;
  const Offset end = a.end(group);
  for (Offset k = a.begin(group) + lane; k < end; k += Lanes)
    sum += static_cast<V>(a.value(k)) * x[a.column(k)];
  sum = group_sum<Lanes>(sum);
  if (lane == 0) sums[row[group]] = sum;
}

// A slice has 32 block rows, one per lane, and a warp for each row of its blocks: in each step the lanes read
// neighbouring values. The warps of a slice are in one block of threads and share columns and x through L1.
// Entries in no full block are summed before, by a launch of their own.
// Good: several unknowns at each node of a mesh.
// Bad: many entries in no full block, which cost what they do in csr_vector; block rows far longer than their
// neighbours (padding; past four times the mean they go to the rest).
// Traffic: 8.4 bytes per entry of 3 x 3 blocks in double, 4.4 where all values are exact in single, plus x.
// Source: Kreutzer et al. 2014 (SELL-C-sigma), with blocks for entries.
template <int Size, class A, class V, class Offset, class Epilogue>
__global__ void bsr_rows_kernel(bsr_view<A, V, Offset> a, const V* __restrict__ x, V* __restrict__ y,
                                Epilogue finish) {
  const std::int64_t warp = thread_in_grid() / slice_height, slice = warp / Size;
  const int r = static_cast<int>(warp % Size), lane = threadIdx.x % slice_height;
  row_epilogue<Epilogue> finish_row(finish, y);
  if (slice * slice_height + lane < a.block_rows) {
    constexpr int ahead = Size <= 3 ? 4 : Size <= 6 ? 2 : 1;  // blocks in flight
    V sum = 0;
    in_batches<ahead>(a.begin(slice), a.begin(slice + 1), [&](auto steps, Offset k) {
      index j[steps];
      A v[steps][Size];
      V v_x[steps][Size];
      for (int q = 0; q < steps; ++q) {
        const offset step = offset{k} + q;
        j[q] = a.column(step * slice_height + lane);
        for (int c = 0; c < Size; ++c)
          v[q][c] = load_no_l1(a.val + ((step * Size + r) * Size + c) * slice_height + lane);
      }
      for (int q = 0; q < steps; ++q)
        for (int c = 0; c < Size; ++c) v_x[q][c] = x_or_zero<Size>(x, j[q], c);
      for (int q = 0; q < steps; ++q)
        for (int c = 0; c < Size; ++c) sum += static_cast<V>(v[q][c]) * v_x[q][c];
    });
    const std::int64_t row = std::int64_t{row_of_place(a.first_row, a.listed_rows, slice, lane)} * Size + r;
    // The last block row may reach past the last row.
    if (row < a.rows) finish_row(a.rest_sums == nullptr ? sum : sum + load_read_only(a.rest_sums + row), row);
  }
  finish_row.publish_block_sums();
}

struct bsr_rows_launch {
  /// In blocks of n x n, n - 1 of n rows have the columns of the row before.
  static prediction predict(const device_features& a) {
    constexpr double least_twins = 0.45, largest_block = 8, passes = 8;
    if (a.slice.twin_rows < least_twins)
      return {.verdict = "few rows have the columns of the row before: no small dense blocks"};
    const double size = std::min(std::round(1 / (1 - std::min(a.slice.twin_rows, 0.9))), largest_block);
    const double value = a.slice.exact == a.slice.entries ? sizeof(float) : a.value_bytes;  // all or none
    return {.bytes = static_cast<double>(a.nnz) * (value + sizeof(index) / (size * size)) +
                     a.rows / size * sizeof(index),
            .passes = passes};  // long rows are not in blocks, so no steps
  }

  static constexpr kernel_row row{.name = "bsr_rows",
                                  .format = "bsr",
                                  .summary = "a warp for each row of 32 interleaved block rows",
                                  .is_candidate = true,
                                  .predict = predict};
  static constexpr bool has_mixed_precision = true;
  template <class A, class V, class Offset> using matrix = device_bsr<A, Offset, V>;

  static std::int64_t blocks(const auto&, const auto& a) {
    return std::visit([](const auto& held) { return blocks_of(held); }, a.blocks);
  }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const device_bsr<A, Offset, V>& a, std::byte* set, const V* x, V* y,
                       Epilogue finish) {
    V* const rest_sums = a.has_rest() ? a.rest_sums.in(set) : nullptr;
    const auto launch = [&]<class Held>(const device_blocks<Held, Offset>& held) {
      if (const csr_view<Held, Offset> rest = held.rest.view(); rest.nnz() > 0)
        with_lanes(lanes_for(rest.rows, rest.nnz()), [&](auto lanes) {
          launch_threads(queue, "bsr_rows (rest)", std::int64_t{lanes.value} * rest.rows,
                         bsr_rest_kernel<lanes.value, Held, V, Offset>, rest, held.rest.row.data(), x,
                         rest_sums);
        });
      with_block_size(held.block_size, [&](auto size) {
        queue.launch("bsr_rows", blocks_of(held), slices_per_block(size.value) * size.value * slice_height,
                     bsr_rows_kernel<size.value, Held, V, Offset, Epilogue>,
                     held.view(static_cast<const V*>(rest_sums)), x, y, finish);
      });
    };
    std::visit(launch, a.blocks);
  }

 private:
  static constexpr int slices_per_block(int block_size) { return 8 / block_size; }  // 160 to 256 threads

  static std::int64_t blocks_of(const auto& a) {
    const int each = slices_per_block(a.block_size);
    return (static_cast<std::int64_t>(a.slice_begin.size()) - 1 + each - 1) / each;
  }
};

}  // namespace nz::gpu
