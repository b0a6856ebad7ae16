#pragma once

#include <cstdint>

#include <nonzero/formats/hubs.hpp>
#include <nonzero/gpu/threads.cuh>
#include <nonzero/gpu/value_bits.cuh>

// What make_hubs.cuh launches, in this order. Each is a step of to_hubs on the device.
namespace nz::gpu {

template <class T> __global__ void fill_kernel(std::int64_t count, T value, T* __restrict__ out) {
  const std::int64_t i = thread_in_grid();
  if (i < count) out[i] = value;
}

/// A thread per entry counts it for its column.
template <class Count>
__global__ void count_columns_kernel(std::int64_t nnz, const index* __restrict__ col,
                                     Count* __restrict__ uses) {
  const std::int64_t k = thread_in_grid();
  if (k < nnz) atomicAdd(&uses[col[k]], Count{1});
}

/// Keys by which columns come in the order of use, falling.
template <class Count, class Key>
__global__ void column_keys_kernel(std::int64_t cols, const Count* __restrict__ uses, Key* __restrict__ key,
                                   index* __restrict__ column) {
  const std::int64_t j = thread_in_grid();
  if (j >= cols) return;
  key[j] = ~static_cast<Key>(uses[j]);
  column[j] = static_cast<index>(j);
}

/// What the first so many columns, as sorted, are used; and whether they are.
template <class Key>
__global__ void column_uses_kernel(std::int64_t count, const Key* __restrict__ key,
                                   std::int64_t* __restrict__ uses, std::int32_t* __restrict__ is_used) {
  const std::int64_t h = thread_in_grid();
  if (h >= count) return;
  uses[h] = static_cast<std::int64_t>(~key[h]);
  is_used[h] = uses[h] > 0 ? 1 : 0;
}

/// Takes the first so many columns, as sorted, for hubs.
template <class Index>
__global__ void number_hubs_kernel(std::int64_t hubs, const Index* __restrict__ sorted,
                                   Index* __restrict__ hub, Index* __restrict__ number) {
  const std::int64_t h = thread_in_grid();
  if (h >= hubs) return;
  hub[h] = sorted[h];
  number[sorted[h]] = static_cast<Index>(h);
}

/// A table of distinct values: slots with a value's bits, then whether `no_value` was met, then how many
/// slots are taken. Past 256 values the rest of it means nothing.
struct value_table {
  static constexpr unsigned slots = 4096, most = 256, met_no_value = slots, taken = slots + 1,
                            cells = slots + 2;
  static constexpr unsigned long long no_value = ~0ULL;  // what an empty slot holds
};

__device__ inline void add_value(unsigned long long bits, unsigned long long* cell) {
  if (bits == value_table::no_value) {
    atomicExch(&cell[value_table::met_no_value], 1ULL);
    return;
  }
  auto at = static_cast<unsigned>(bits * 0x9e3779b97f4a7c15ULL >> 52);
  // No more slots than there may be values lie before the right one, or there are too many values.
  for (unsigned tries = 0; tries <= value_table::most; ++tries) {
    unsigned long long found = cell[at];  // perhaps an old state: then the next line says what is there
    if (found == value_table::no_value) {
      found = atomicCAS(&cell[at], value_table::no_value, bits);
      if (found == value_table::no_value) {
        atomicAdd(&cell[value_table::taken], 1ULL);
        return;
      }
    }
    if (found == bits) return;
    at = (at + 1) % value_table::slots;
  }
  atomicAdd(&cell[value_table::taken], 1ULL + value_table::most);
}

/// 16 entries for each thread. Warps that come when there are too many values leave at once.
template <class V>
__global__ void collect_values_kernel(std::int64_t nnz, const V* __restrict__ val,
                                      unsigned long long* __restrict__ cell) {
  constexpr int each = 16;
  unsigned long long taken = threadIdx.x % 32 == 0 ? atomicAdd(&cell[value_table::taken], 0ULL) : 0;
  taken = __shfl_sync(full_warp, taken, 0);
  if (taken > value_table::most) return;
  const std::int64_t first = (thread_in_grid() - threadIdx.x) * each + threadIdx.x;
  for (int q = 0; q < each; ++q) {
    const std::int64_t k = first + std::int64_t{q} * blockDim.x;
    if (k < nnz) add_value(bits_of_value(val[k]), cell);
  }
}

__device__ inline offset pieces_of_row(offset entries) {
  constexpr offset most = hubs<double>::most_virtual_row_entries;
  return entries <= most ? 1 : (entries + most - 1) / most;
}

/// For each row 2^32 and its segments if it is cut, else 0; and a 0 behind the last. Sums of these count cut
/// rows and segments at once.
template <class Offset>
__global__ void count_hub_segments_kernel(std::int64_t rows, const Offset* __restrict__ row_begin,
                                          std::int64_t* __restrict__ cut) {
  const std::int64_t i = thread_in_grid();
  if (i > rows) return;
  const offset n = i < rows ? pieces_of_row(row_begin[i + 1] - row_begin[i]) : 1;
  cut[i] = n > 1 ? (std::int64_t{1} << 32) + n : 0;
}

/// Virtual_rows in the order of rows.
template <class Offset> struct virtual_row_list {
  index* target;
  Offset* begin;
  Offset* stride;  // from one of its entries to the next
  std::uint8_t* length;
};

/// A thread per row, and one behind the last. `cut` has the sums of what count_hub_segments_kernel found.
template <class Offset>
__global__ void list_rows_kernel(std::int64_t rows, const Offset* __restrict__ row_begin,
                                 const std::int64_t* __restrict__ cut, virtual_row_list<Offset> virtual_row,
                                 index* __restrict__ split_row, offset* __restrict__ segment_begin) {
  const std::int64_t i = thread_in_grid();
  if (i > rows) return;
  const std::int64_t cuts = cut[i] >> 32, segments = cut[i] & 0xffffffff;
  if (i == rows) {
    segment_begin[cuts] = segments;
  } else if (cut[i + 1] != cut[i]) {
    split_row[cuts] = static_cast<index>(i);
    segment_begin[cuts] = segments;
  } else {
    const std::int64_t s = i - cuts + segments;
    virtual_row.target[s] = static_cast<index>(i);
    virtual_row.begin[s] = row_begin[i];
    virtual_row.stride[s] = 1;
    virtual_row.length[s] = static_cast<std::uint8_t>(row_begin[i + 1] - row_begin[i]);
  }
}

/// A thread per segment finds its row by halving.
template <class Offset>
__global__ void list_hub_segments_kernel(std::int64_t segments, std::int64_t split_rows,
                                         const Offset* __restrict__ row_begin,
                                         const index* __restrict__ split_row,
                                         const offset* __restrict__ segment_begin,
                                         virtual_row_list<Offset> virtual_row) {
  const std::int64_t segment = thread_in_grid();
  if (segment >= segments) return;
  std::int64_t low = 0, high = split_rows - 1;  // the last cut row that does not begin behind the segment
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (segment_begin[middle] <= segment)
      low = middle;
    else
      high = middle - 1;
  }
  const index row = split_row[low];
  const offset entries = row_begin[row + 1] - row_begin[row], p = segment - segment_begin[low];
  const offset n = segment_begin[low + 1] - segment_begin[low];
  const std::int64_t s = row - low + segment;
  virtual_row.target[s] = static_cast<index>(-1 - segment);
  virtual_row.begin[s] = static_cast<Offset>(row_begin[row] + p);
  virtual_row.stride[s] = static_cast<Offset>(n);
  virtual_row.length[s] = static_cast<std::uint8_t>(length_of_segment(entries, n, p));
}

constexpr unsigned char virtual_row_is_one = 1, virtual_row_is_single = 2;  // what its values are
constexpr int lanes_per_virtual_row = 8;
constexpr unsigned virtual_row_side = 129;  // lengths that there may be

/// Eight lanes per virtual_row: the key to sort it by, and whether its values are all the same or all exact
/// in single precision.
template <class V, class Offset>
__global__ void virtual_row_keys_kernel(std::int64_t virtual_rows, virtual_row_list<Offset> virtual_row,
                                        const index* __restrict__ col, const V* __restrict__ val,
                                        const index* __restrict__ number, std::uint32_t* __restrict__ key,
                                        index* __restrict__ in_order, unsigned char* __restrict__ kinds) {
  const std::int64_t s = thread_in_grid() / lanes_per_virtual_row;
  if (s >= virtual_rows) return;  // all of its lanes
  const Offset begin = virtual_row.begin[s], stride = virtual_row.stride[s];
  const int length = virtual_row.length[s];
  int hub = 0, others = 0, inexact = 0;
  for (int k = threadIdx.x % lanes_per_virtual_row; k < length; k += lanes_per_virtual_row) {
    const Offset at = begin + k * stride;
    bool is_exact;
    to_single(val[at], is_exact);
    hub += number[col[at]] >= 0 ? 1 : 0;
    others += bits_of_value(val[at]) != bits_of_value(val[begin]) ? 1 : 0;
    inexact += is_exact ? 0 : 1;
  }
  // Counts of at most 128 each.
  const int all = group_sum<lanes_per_virtual_row>(hub | others << 10 | inexact << 20);
  if (threadIdx.x % lanes_per_virtual_row != 0) return;
  hub = all & 1023;
  const int rest = length - hub;
  key[s] = (virtual_row_side - 1 - rest) * virtual_row_side + (virtual_row_side - 1 - hub);
  in_order[s] = static_cast<index>(s);
  kinds[s] = static_cast<unsigned char>(((all >> 10 & 1023) == 0 ? virtual_row_is_one : 0) |
                                        (all >> 20 == 0 ? virtual_row_is_single : 0));
}

/// A thread per place: which virtual_row it has, as sorted.
template <class Offset>
__global__ void place_virtual_rows_kernel(std::int64_t virtual_rows, const std::uint32_t* __restrict__ key,
                                          const index* __restrict__ sorted,
                                          virtual_row_list<Offset> virtual_row, index* __restrict__ target,
                                          std::uint8_t* __restrict__ hub_length,
                                          std::uint8_t* __restrict__ rest_length) {
  const std::int64_t p = thread_in_grid();
  if (p >= virtual_rows) return;
  target[p] = virtual_row.target[sorted[p]];
  rest_length[p] = static_cast<std::uint8_t>(virtual_row_side - 1 - key[p] / virtual_row_side);
  hub_length[p] = static_cast<std::uint8_t>(virtual_row_side - 1 - key[p] % virtual_row_side);
}

}  // namespace nz::gpu
