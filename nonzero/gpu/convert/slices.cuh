#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include <nonzero/core/vector.hpp>
#include <nonzero/formats/ell.hpp>
#include <nonzero/gpu/slices_internal.hpp>
#include <nonzero/gpu/warp.cuh>

// Slices of 32 rows: how the device assigns rows to them, from the row offsets alone, and what kernels need
// to read them. Rows may be block rows, and entries their blocks.
namespace nz::gpu {

/// The row of a lane in a slice; -1 for a row that is stored apart.
__device__ inline index row_of_place(const index* first, const index* listed, std::int64_t slice, int lane) {
  const index known = first[slice];
  return known >= 0 ? known + lane : listed[(-1 - std::int64_t{known}) * slice_height + lane];
}

/// Calls body(n, k) for steps [k, k + n) that cover [k, end) in order, with n, a power of two up to `Most`,
/// as a compile-time constant: the loads of n steps have no test between them and are in flight at once.
template <int Most, class Offset, class Body>
__device__ __forceinline__ void in_batches(Offset k, Offset end, Body body) {
  for (; end - k >= Most; k += Most) body(std::integral_constant<int, Most>{}, k);
  if constexpr (Most > 1) in_batches<Most / 2>(k, end, body);
}

/// The x of column c of block j, and 0 at padding, to be multiplied by the 0 stored there. It loads in any
/// case, to avoid a branch: where there is padding there is an entry too, and so a column c.
template <int Size, class V> __device__ __forceinline__ V x_or_zero(const V* x, index j, int c) {
  const bool is_padding = j == padding_column;
  const V loaded = x[(is_padding ? 0 : j) * Size + c];
  return is_padding ? V{0} : loaded;
}

/// A row as a sort key: longer rows first, rows of equal length in their order.
struct row_key {
  static constexpr int row_bits = 10;
  static_assert(rows_per_window == 1 << row_bits);
  static constexpr std::uint64_t longest = std::uint64_t{1} << 53;  // no memory holds such a row
  static constexpr std::uint64_t none = ~std::uint64_t{0};          // sorts behind every row

  __device__ static std::uint64_t of(std::uint64_t length, int row) {
    return (longest - length) << row_bits | static_cast<std::uint64_t>(row);
  }
  __device__ static std::uint64_t length(std::uint64_t key) { return longest - (key >> row_bits); }
  __device__ static int row(std::uint64_t key) { return static_cast<int>(key % rows_per_window); }
};

/// Whether a row is too long for a lane.
template <class Offset>
__device__ bool is_apart(const Offset* __restrict__ row_begin, std::int64_t row, Offset longest) {
  return row_begin[row + 1] - row_begin[row] > longest;
}
/// How many entries of a row are in the slices.
template <class Offset>
__device__ Offset length_in_slices(const Offset* __restrict__ row_begin, std::int64_t row, Offset longest) {
  return is_apart(row_begin, row, longest) ? 0 : row_begin[row + 1] - row_begin[row];
}

/// A block of threads makes keys of the rows of the window that begins with row `first`, and sorts them,
/// unless they are in order as in most of a regular matrix. Rows of more than `longest` entries count as
/// empty.
template <class Offset>
__device__ void sort_window(index rows, const Offset* __restrict__ row_begin, std::int64_t first,
                            Offset longest, shared_array<std::uint64_t, rows_per_window>& key) {
  __shared__ shared<unsigned> out_of_order;
  const int thread = threadIdx.x;
  if (thread == 0) out_of_order = 0;
  for (int i = thread; i < rows_per_window; i += threads_per_block)
    key[i] = first + i < rows
                 ? row_key::of(static_cast<std::uint64_t>(length_in_slices(row_begin, first + i, longest)), i)
                 : row_key::none;
  __syncthreads();
  bool is_in_order = true;
  for (int i = thread; i < rows_per_window - 1; i += threads_per_block)
    is_in_order = is_in_order && key[i] <= key[i + 1];
  if (!is_in_order) atomicAdd(&out_of_order, 1U);
  __syncthreads();
  if (out_of_order != 0) sort_in_block<rows_per_window>(key);
}

// A block of threads sorts the rows of a window. Writes each slice's width to `width`, and a 0 behind the
// last; 1 to `is_listed` for slices whose rows are not consecutive, or stored apart, with the same 0.
// Good: any lengths.
// Traffic: 12 bytes per row and 8 per slice with 32-bit offsets.
// Source: Batcher 1968 (bitonic sort).
template <class Offset>
__global__ void __launch_bounds__(threads_per_block)
    sort_windows_kernel(index rows, const Offset* __restrict__ row_begin, Offset longest,
                        index* __restrict__ row, Offset* __restrict__ width, index* __restrict__ is_listed) {
  __shared__ shared_array<std::uint64_t, rows_per_window> key;
  const std::int64_t first = std::int64_t{blockIdx.x} * rows_per_window;
  const int thread = threadIdx.x;
  sort_window(rows, row_begin, first, longest, key);

  for (int i = thread; i < rows_per_window; i += threads_per_block) {  // a warp has a slice each time
    const std::int64_t place = first + i;
    const std::uint64_t mine = key[i];
    const bool has_row = place < rows, is_first = i % slice_height == 0;
    const bool follows = is_first || !has_row || row_key::row(mine) == row_key::row(key[i - 1]) + 1;
    const bool is_here = !has_row || !is_apart(row_begin, first + row_key::row(mine), longest);
    const bool all_follow = __all_sync(full_warp, follows && is_here) != 0;
    if (has_row) row[place] = is_here ? static_cast<index>(first + row_key::row(mine)) : -1;
    if (!is_first || !has_row) continue;
    width[place / slice_height] = static_cast<Offset>(row_key::length(mine));
    is_listed[place / slice_height] = all_follow ? 0 : 1;
  }
  if (blockIdx.x == gridDim.x - 1 && thread == 0) {
    const std::int64_t slices = (std::int64_t{rows} + slice_height - 1) / slice_height;
    width[slices] = 0;
    is_listed[slices] = 0;
  }
}

/// The rows of the slices. A slice whose rows are consecutive, as most are in a regular matrix, takes 4 bytes
/// instead of 4 per row, which would be a tenth of the time of a tridiagonal matrix.
struct row_lists {
  const index* row;            // of each place, or -1 for one that is stored apart
  const index* listed_before;  // slices+1 long: how many slices before have their rows listed
  // To be written. first: slices long; a slice's first row if the others follow it one by one, or -1 - n
  // where its rows are in `listed` from n * slice_height on, with -1 at places without a row.
  index *first, *listed;

  /// Writes the entries of a place and returns its row, or -1. Called for every place of the slices.
  __device__ index list(std::int64_t place, index rows) const {
    const std::int64_t slice = place / slice_height;
    const index mine = place < rows ? row[place] : -1, before = listed_before[slice];
    const bool is_listed = listed_before[slice + 1] != before;
    if (place % slice_height == 0) first[slice] = is_listed ? -1 - before : mine;
    if (is_listed) listed[std::int64_t{before} * slice_height + place % slice_height] = mine;
    return mine;
  }
};

/// The type of a queue's temporary<T>.
template <class Queue, class T>
using temporary_of = decltype(std::declval<Queue&>().template temporary<T>(std::size_t{0}));

/// Which rows each slice has, once the launches in the queue are done.
template <class Queue, class Offset> struct slice_layout {
  index rows;
  std::int64_t slices;
  vector<Offset> slice_begin;                     // slices+1 long, in steps
  temporary_of<Queue, index> row, listed_before;  // as in row_lists

  /// Leaves out rows of more than `longest` entries.
  slice_layout(Queue& queue, const std::shared_ptr<device>& on, index row_count, const Offset* row_begin,
               Offset longest = std::numeric_limits<Offset>::max())
      : rows(row_count),
        slices((std::int64_t{rows} + slice_height - 1) / slice_height),
        slice_begin(on, static_cast<std::size_t>(slices) + 1),
        row(queue.template temporary<index>(static_cast<std::size_t>(rows))),
        listed_before(queue.template temporary<index>(static_cast<std::size_t>(slices) + 1)) {
    const std::int64_t windows = (std::int64_t{rows} + rows_per_window - 1) / rows_per_window;
    // Without rows there is still one block, which writes the 0 behind the last slice.
    queue.launch("sort_windows", windows > 0 ? windows : 1, threads_per_block, sort_windows_kernel<Offset>,
                 rows, row_begin, longest, row.data(), slice_begin.data(), listed_before.data());
    queue.exclusive_sum(slice_begin.data(), slice_begin.data(), slices + 1);
    queue.exclusive_sum(listed_before.data(), listed_before.data(), slices + 1);
  }
  /// The steps of all slices, and how many slices have their rows listed: to be read from the device.
  const Offset* steps() const { return slice_begin.data() + slices; }
  const index* listed() { return listed_before.data() + slices; }
};

/// `first` and `listed` of row_lists in the device's memory.
struct device_slice_rows {
  vector<index> first, listed;

  device_slice_rows() = default;
  device_slice_rows(const std::shared_ptr<device>& on, std::int64_t slices, index listed_slices)
      : first(on, static_cast<std::size_t>(slices)),
        listed(on, static_cast<std::size_t>(listed_slices) * slice_height) {}
  template <class Queue, class Offset> row_lists lists(slice_layout<Queue, Offset>& from) {
    return {from.row.data(), from.listed_before.data(), first.data(), listed.data()};
  }
  std::uint64_t bytes() const { return first.bytes() + listed.bytes(); }
};

}  // namespace nz::gpu
