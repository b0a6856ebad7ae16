#pragma once

#include <cstdint>
#include <type_traits>

#include <nonzero/gpu/lay_out_slices.cuh>
#include <nonzero/gpu/placed.cuh>
#include <nonzero/gpu/warp_slices_internal.hpp>

// Slices for warps, as they lie in a device's memory.
namespace nz::gpu {

/// The row that a lane of a slice has, which must have one.
__device__ inline index row_of_place(const index* first, const index* listed, std::int64_t slice, int lane) {
  const index known = first[slice];
  return known >= 0 ? known + lane : listed[(-1 - std::int64_t{known}) * slice_height + lane];
}

/// Calls body(n, k) for steps [k, k + n) that cover [k, end) in order, with n, a power of two up to `Most`,
/// as a compile-time constant: what a thread loads for n steps without a test between them is under way at
/// once.
template <int Most, class Offset, class Body>
__device__ __forceinline__ void in_batches(Offset k, Offset end, Body body) {
  for (; end - k >= Most; k += Most) body(std::integral_constant<int, Most>{}, k);
  if constexpr (Most > 1) in_batches<Most / 2>(k, end, body);
}

/// The x of column c of block j, and 0 at padding, to be multiplied by the 0 there. It loads in any case,
/// without a branch to wait at: where there is padding there is an entry too, and so a column c.
template <int Size, class V> __device__ __forceinline__ V x_or_zero(const V* x, index j, int c) {
  const bool is_padding = j == padding_column;
  const V loaded = x[(is_padding ? 0 : j) * Size + c];
  return is_padding ? V{0} : loaded;
}

// A thread per place copies its row's entries to where the lanes of a warp read neighbours, and writes
// padding behind them. Reading is by rows: what a thread's neighbours fetched is still in the cache. Good:
// rows of about equal length.  Bad: a row far longer than its neighbours, which one thread copies. Traffic:
// each entry read once, each place written once.
template <class V, class Offset>
__global__ void fill_slices_kernel(index rows, row_lists lists, const Offset* __restrict__ row_begin,
                                   const index* __restrict__ from_col, const V* __restrict__ from_val,
                                   const Offset* __restrict__ slice_begin, index* __restrict__ col,
                                   V* __restrict__ val) {
  const std::int64_t place = thread_in_grid(), slice = place / slice_height;
  const int lane = threadIdx.x % slice_height;
  if (slice * slice_height >= rows) return;
  const index i = lists.list(place, rows);
  const Offset begin = i < 0 ? 0 : row_begin[i], length = i < 0 ? 0 : row_begin[i + 1] - begin;
  const Offset first = slice_begin[slice], width = slice_begin[slice + 1] - first;
  in_batches<4>(Offset{0}, width, [&](auto steps, Offset k) {
    index j[steps];
    V v[steps];
    for (int q = 0; q < steps; ++q) {
      const bool has_entry = k + q < length;
      j[q] = has_entry ? from_col[begin + k + q] : padding_column;
      v[q] = has_entry ? from_val[begin + k + q] : V{0};
    }
    for (int q = 0; q < steps; ++q) {
      const offset at = (offset{first} + k + q) * slice_height + lane;
      col[at] = j[q];
      val[at] = v[q];
    }
  });
}

/// What to_warp_slices makes, made on the device.
template <class V, class Offset> struct placed_sell {
  index rows, cols;
  vector<Offset> slice_begin;  // in steps of slice_height places: 32 bits are enough for 2^36 places
  placed_slice_rows row;
  vector<index> col;
  vector<V> val;
  std::uint64_t padding_bytes;

  /// Throws `unsupported` where padding would break the budget.
  template <class Queue>
  placed_sell(Queue& queue, const std::shared_ptr<const device_csr<V>>& a, const prepare_options& options)
      : rows(a->rows), cols(a->cols) {
    const placed_csr<V, Offset> from(a);
    slice_layout<Queue, Offset> layout(queue, options.on, rows, from.row_begin.data());
    const auto [steps, listed] = queue.read(layout.steps(), layout.listed());
    const offset places = offset{steps} * slice_height;
    require_slices_within_budget<V>(rows, from.nnz, places, options.budget);

    row = placed_slice_rows(options.on, layout.slices, listed);
    col = vector<index>(options.on, static_cast<std::size_t>(places));
    val = vector<V>(options.on, static_cast<std::size_t>(places));
    padding_bytes = static_cast<std::uint64_t>(places - from.nnz) * (sizeof(index) + sizeof(V));
    queue.launch("sell_slices (convert)", blocks_for(layout.slices * slice_height), threads_per_block,
                 fill_slices_kernel<V, Offset>, rows, row.lists(layout), from.row_begin.data(),
                 from.col.data(), from.val.data(), layout.slice_begin.data(), col.data(), val.data());
    slice_begin = std::move(layout.slice_begin);
  }
  footprint storage() const {
    return {row.bytes() + slice_begin.bytes() + col.bytes() + val.bytes(), padding_bytes};
  }
};

}  // namespace nz::gpu
