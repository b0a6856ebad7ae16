#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include <nonzero/core/vector.hpp>
#include <nonzero/gpu/shared.cuh>
#include <nonzero/gpu/threads.cuh>
#include <nonzero/gpu/warp_slices_internal.hpp>

// How the device lays out slices for warps (warp_slices_internal.hpp), from the rows' offsets alone: bit by
// bit as to_warp_slices and rows_of_slices do on the host. Rows may be block rows, and entries their blocks.
namespace nz::gpu {

/// A row as a number to sort by: longer rows first, equal lengths in their order.
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

/// Sorts a window's keys by a bitonic network. Every thread of the block calls it.
__device__ inline void sort_window(shared_array<std::uint64_t, rows_per_window>& key) {
  for (int size = 2; size <= rows_per_window; size *= 2)
    for (int step = size / 2; step > 0; step /= 2) {
      for (int pair = threadIdx.x; pair < rows_per_window / 2; pair += threads_per_block) {
        const int low = 2 * pair - pair % step, high = low + step;
        const bool rises = (low & size) == 0;
        const std::uint64_t a = key[low], b = key[high];
        if ((a > b) == rises) {
          key[low] = b;
          key[high] = a;
        }
      }
      __syncthreads();
    }
}

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

// A block of threads sorts the rows of a window, unless they are in order as most of a regular matrix are.
// Each slice's width is left in `width`, and a 0 behind the last; 1 in `is_listed` for slices whose rows do
// not follow each other, or are apart, with the same 0.
// Good: any lengths.  Traffic: 12 bytes per row and 8 per slice with 32-bit offsets.
// Source: Batcher 1968 (bitonic sort).
template <class Offset>
__global__ void __launch_bounds__(threads_per_block)
    sort_windows_kernel(index rows, const Offset* __restrict__ row_begin, Offset longest,
                        index* __restrict__ row, Offset* __restrict__ width, index* __restrict__ is_listed) {
  __shared__ shared_array<std::uint64_t, rows_per_window> key;
  __shared__ shared<unsigned> out_of_order;
  const std::int64_t first = std::int64_t{blockIdx.x} * rows_per_window;
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
  if (out_of_order != 0) sort_window(key);

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

/// Which row each place has, and where slice_rows says so.
struct row_lists {
  const index* row;            // of each place, or -1 for one that is apart
  const index* listed_before;  // slices+1 long: how many slices before have their rows listed
  index *first, *listed;       // as in slice_rows, to be written

  /// Writes what slice_rows holds of a place and returns its row, or -1. Every place of the slices calls it.
  __device__ index list(std::int64_t place, index rows) const {
    const std::int64_t slice = place / slice_height;
    const index mine = place < rows ? row[place] : -1, before = listed_before[slice];
    const bool is_listed = listed_before[slice + 1] != before;
    if (place % slice_height == 0) first[slice] = is_listed ? -1 - before : mine;
    if (is_listed) listed[std::int64_t{before} * slice_height + place % slice_height] = mine;
    return mine;
  }
};

/// What a queue gives for a time.
template <class Queue, class T>
using temporary_of = decltype(std::declval<Queue&>().template temporary<T>(std::size_t{0}));

/// The layout of some rows, as it is after the launches in the queue.
template <class Queue, class Offset> struct slice_layout {
  index rows;
  std::int64_t slices;
  vector<Offset> slice_begin;                     // slices+1 long, in steps
  temporary_of<Queue, index> row, listed_before;  // as in row_lists

  /// Without rows of more entries than `longest`.
  slice_layout(Queue& queue, const std::shared_ptr<device>& on, index row_count, const Offset* row_begin,
               Offset longest = std::numeric_limits<Offset>::max())
      : rows(row_count),
        slices((std::int64_t{rows} + slice_height - 1) / slice_height),
        slice_begin(on, static_cast<std::size_t>(slices) + 1),
        row(queue.template temporary<index>(static_cast<std::size_t>(rows))),
        listed_before(queue.template temporary<index>(static_cast<std::size_t>(slices) + 1)) {
    const std::int64_t windows = (std::int64_t{rows} + rows_per_window - 1) / rows_per_window;
    // A window without rows writes where no slice begins.
    queue.launch("sort_windows", windows > 0 ? windows : 1, threads_per_block, sort_windows_kernel<Offset>,
                 rows, row_begin, longest, row.data(), slice_begin.data(), listed_before.data());
    queue.exclusive_sum(slice_begin.data(), slice_begin.data(), slices + 1);
    queue.exclusive_sum(listed_before.data(), listed_before.data(), slices + 1);
  }
  /// The steps of all slices, and how many slices have their rows listed: to be read from the device.
  const Offset* steps() const { return slice_begin.data() + slices; }
  const index* listed() { return listed_before.data() + slices; }
};

/// slice_rows in the device's memory.
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
