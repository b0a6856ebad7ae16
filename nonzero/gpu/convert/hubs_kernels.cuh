#pragma once

#include <cstdint>

#include <nonzero/formats/hubs.hpp>
#include <nonzero/gpu/load.cuh>
#include <nonzero/gpu/values.cuh>
#include <nonzero/gpu/warp.cuh>

// The kernels that device_hubs.cuh launches, in this order. Each is a step of to_hubs on the device.
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

/// Keys that sort columns by how often they are used, most first.
template <class Count, class Key>
__global__ void column_keys_kernel(std::int64_t cols, const Count* __restrict__ uses, Key* __restrict__ key,
                                   index* __restrict__ column) {
  const std::int64_t j = thread_in_grid();
  if (j >= cols) return;
  key[j] = ~static_cast<Key>(uses[j]);
  column[j] = static_cast<index>(j);
}

/// How often each of the first `count` sorted columns is used, and whether it is used at all.
template <class Key>
__global__ void column_uses_kernel(std::int64_t count, const Key* __restrict__ key,
                                   std::int64_t* __restrict__ uses, std::int32_t* __restrict__ is_used) {
  const std::int64_t h = thread_in_grid();
  if (h >= count) return;
  uses[h] = static_cast<std::int64_t>(~key[h]);
  is_used[h] = uses[h] > 0 ? 1 : 0;
}

/// Makes the first `hubs` sorted columns the hubs.
template <class Index>
__global__ void number_hubs_kernel(std::int64_t hubs, const Index* __restrict__ sorted,
                                   Index* __restrict__ hub, Index* __restrict__ number) {
  const std::int64_t h = thread_in_grid();
  if (h >= hubs) return;
  hub[h] = sorted[h];
  number[sorted[h]] = static_cast<Index>(h);
}

/// A hash table of distinct values: slots with a value's bits, then whether `no_value` was found, then how
/// many slots are taken. Past 256 values its content is not used.
struct value_table {
  static constexpr unsigned slots = 4096, most = 256, has_no_value = slots, taken = slots + 1,
                            cells = slots + 2;
  static constexpr unsigned long long no_value = ~0ULL;  // what an empty slot holds
};

__device__ inline void add_value(unsigned long long bits, unsigned long long* cell) {
  if (bits == value_table::no_value) {
    atomicExch(&cell[value_table::has_no_value], 1ULL);
    return;
  }
  auto at = static_cast<unsigned>(scatter(bits) >> 52);
  // After `most` other values there are too many.
  for (unsigned tries = 0; tries <= value_table::most; ++tries) {
    unsigned long long found = load_atomic(cell + at);  // if out of date, atomicCAS returns the present value
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

/// 16 entries for each thread. Warps that start when there are too many values already return at once.
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

/// Virtual rows in the order of rows.
template <class Offset> struct virtual_row_list {
  index* target;
  Offset* begin;
  Offset* stride;  // from one of its entries to the next
  std::uint8_t* length;
};

/// A thread per row, and one behind the last. `split`: the prefix sums of what count_segments_kernel found.
template <class Offset>
__global__ void list_rows_kernel(std::int64_t rows, const Offset* __restrict__ row_begin,
                                 const std::int64_t* __restrict__ split, virtual_row_list<Offset> virtual_row,
                                 index* __restrict__ split_row, offset* __restrict__ segment_begin) {
  const std::int64_t i = thread_in_grid();
  if (i > rows) return;
  const std::int64_t splits = split[i] >> 32, segments = split[i] & 0xffffffff;
  if (i == rows) {
    segment_begin[splits] = segments;
  } else if (split[i + 1] != split[i]) {
    split_row[splits] = static_cast<index>(i);
    segment_begin[splits] = segments;
  } else {
    const std::int64_t s = i - splits + segments;
    virtual_row.target[s] = static_cast<index>(i);
    virtual_row.begin[s] = row_begin[i];
    virtual_row.stride[s] = 1;
    virtual_row.length[s] = static_cast<std::uint8_t>(row_begin[i + 1] - row_begin[i]);
  }
}

/// A thread per segment finds its row.
template <class Offset>
__global__ void list_hub_segments_kernel(std::int64_t segments, std::int64_t split_rows,
                                         const Offset* __restrict__ row_begin,
                                         const index* __restrict__ split_row,
                                         const offset* __restrict__ segment_begin,
                                         virtual_row_list<Offset> virtual_row) {
  const std::int64_t segment = thread_in_grid();
  if (segment >= segments) return;
  // The last split row that does not begin behind the segment.
  const std::int64_t low = partition_point(std::int64_t{1}, split_rows,
                                           [=](std::int64_t r) { return segment_begin[r] <= segment; }) -
                           1;
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
constexpr unsigned virtual_row_side = 129;  // possible lengths: 0 to 128

/// Eight lanes per virtual row: the key to sort it by, and whether its values are all the same or all exact
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

/// A thread per place: which virtual row it has, as sorted.
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

/// What is counted for each slice. Each kind has a section of slices + 1 numbers in one list, the last of
/// them 0. Values by their kind, in the order of hubs_values.
enum slice_count { hub_steps_count, rest_steps_count, values_count, padding_count = values_count + 4 };
constexpr int slice_counts = padding_count + 1;

/// Bytes of a value of that kind.
__device__ inline int bytes_of_kind(hubs_values kind, int full) {
  return kind == hubs_values::one      ? 0
         : kind == hubs_values::coded  ? 1
         : kind == hubs_values::single ? 4
                                       : full;
}

/// A warp per slice, a lane per virtual row: how many steps, what kind of values, how much padding. Of the
/// slice itself it writes what needs no sums.
template <class V, class Offset>
__global__ void choose_slices_kernel(std::int64_t slices, std::int64_t virtual_rows, bool has_dictionary,
                                     const index* __restrict__ sorted, virtual_row_list<Offset> virtual_row,
                                     const unsigned char* __restrict__ kinds, const V* __restrict__ val,
                                     const std::uint8_t* __restrict__ hub_length,
                                     const std::uint8_t* __restrict__ rest_length,
                                     hubs_slice<Offset>* __restrict__ slice,
                                     std::int64_t* __restrict__ counts) {
  const std::int64_t s = thread_in_grid() / 32, p = s * 32 + threadIdx.x % 32;
  if (s >= slices) return;  // the whole warp
  const bool is_there = p < virtual_rows;
  const int hub = is_there ? hub_length[p] : 0, rest = is_there ? rest_length[p] : 0;
  const bool has_entries = hub + rest > 0;
  const unsigned long long first = has_entries ? bits_of_value(val[virtual_row.begin[sorted[p]]]) : 0;
  const unsigned char kind = has_entries ? kinds[sorted[p]] : virtual_row_is_one | virtual_row_is_single;
  // Virtual rows are sorted: where one has entries, the first has.
  const unsigned long long first_of_slice = __shfl_sync(full_warp, first, 0);
  const bool is_empty = __shfl_sync(full_warp, has_entries ? 1 : 0, 0) == 0;
  const bool are_one = __all_sync(full_warp, !has_entries || ((kind & virtual_row_is_one) != 0 &&
                                                              first == first_of_slice)) != 0;
  const bool are_single = __all_sync(full_warp, (kind & virtual_row_is_single) != 0) != 0;
  const int hub_steps = warp_maximum(hub), rest_steps = warp_maximum(rest);
  const hubs_values values = is_empty                      ? hubs_values::full
                             : are_one                     ? hubs_values::one
                             : has_dictionary              ? hubs_values::coded
                             : are_single && sizeof(V) > 4 ? hubs_values::single
                                                           : hubs_values::full;
  const int bytes = bytes_of_kind(values, sizeof(V));
  const int padding = is_there ? (hub_steps - hub) * (2 + bytes) + (rest_steps - rest) * (4 + bytes) : 0;
  const int all_padding = group_sum<32>(padding);
  if (threadIdx.x % 32 != 0) return;
  slice[s] = {0, 0, 0, static_cast<std::uint8_t>(hub_steps), static_cast<std::uint8_t>(rest_steps), values};
  const auto count = [&](int what) -> std::int64_t& { return counts[what * (slices + 1) + s]; };
  count(hub_steps_count) = hub_steps;
  count(rest_steps_count) = rest_steps;
  count(padding_count) = all_padding;
  for (int k = 0; k < 4; ++k) {
    const bool is_it = static_cast<int>(values) == k;
    count(values_count + k) = !is_it ? 0 : values == hubs_values::one ? 1 : hub_steps + rest_steps;
  }
}

/// Makes each section's prefix sums start at 0.
template <class Sum>
__global__ void begin_counts_kernel(std::int64_t slices, const Sum* __restrict__ sums,
                                    Sum* __restrict__ begin) {
  const std::int64_t i = thread_in_grid();
  if (i >= slice_counts * (slices + 1)) return;
  begin[i] = sums[i] - sums[i / (slices + 1) * (slices + 1)];
}

/// The arrays of entries, to be filled.
template <class V> struct filled_hubs {
  std::uint16_t* hub_number;
  index* rest_col;
  V* constant;
  std::uint8_t* coded_value;
  float* single_value;
  V* full_value;
};

template <class V> __device__ std::uint8_t code_of_value(const V* dictionary, int coded, V value) {
  const unsigned long long bits = bits_of_value(value);
  return static_cast<std::uint8_t>(
      partition_point(0, coded - 1, [&](int c) { return bits_of_value(dictionary[c]) < bits; }));
}

/// A warp per slice, a lane per virtual row: each entry goes to the next hub step or the next rest step. The
/// steps that remain are filled with 0.
template <class V, class Offset>
__global__ void fill_virtual_rows_kernel(
    std::int64_t slices, std::int64_t virtual_rows, const index* __restrict__ sorted,
    virtual_row_list<Offset> virtual_row, const index* __restrict__ col, const V* __restrict__ val,
    const index* __restrict__ number, const std::uint8_t* __restrict__ hub_length,
    const std::uint8_t* __restrict__ rest_length, const std::int64_t* __restrict__ begin,
    const V* __restrict__ dictionary, int coded, hubs_slice<Offset>* __restrict__ slice, filled_hubs<V> out) {
  const std::int64_t s = thread_in_grid() / 32, p = s * 32 + threadIdx.x % 32;
  if (s >= slices) return;
  const int lane = threadIdx.x % 32;
  hubs_slice<Offset> now = slice[s];
  const auto starts = [&](int what) { return begin[what * (slices + 1) + s]; };
  now.hub_step = static_cast<Offset>(starts(hub_steps_count));
  now.rest_step = static_cast<Offset>(starts(rest_steps_count));
  now.value = static_cast<Offset>(starts(values_count + static_cast<int>(now.values)));
  const int length = p < virtual_rows ? hub_length[p] + rest_length[p] : 0;
  const Offset first = p < virtual_rows ? virtual_row.begin[sorted[p]] : 0;
  const Offset stride = p < virtual_rows ? virtual_row.stride[sorted[p]] : 0;
  const auto write = [&](int step, bool is_entry, index j, V value) {
    const std::int64_t at = (std::int64_t{now.value} + step) * 32 + lane;
    if (step < now.hub_steps)
      out.hub_number[(std::int64_t{now.hub_step} + step) * 32 + lane] = static_cast<std::uint16_t>(j);
    else
      out.rest_col[(std::int64_t{now.rest_step} + step - now.hub_steps) * 32 + lane] = j;
    bool is_exact;
    if (now.values == hubs_values::coded)
      out.coded_value[at] = is_entry ? code_of_value(dictionary, coded, value) : std::uint8_t{0};
    else if (now.values == hubs_values::single)
      out.single_value[at] = to_single(value, is_exact);
    else if (now.values == hubs_values::full)
      out.full_value[at] = value;
  };
  int hub = 0, rest = now.hub_steps;
  for (int k = 0; k < length; ++k) {
    const Offset at = first + k * stride;
    const index j = col[at], h = number[j];
    write(h >= 0 ? hub++ : rest++, true, h >= 0 ? h : j, val[at]);
  }
  while (hub < now.hub_steps) write(hub++, false, 0, V{0});
  while (rest < now.hub_steps + now.rest_steps) write(rest++, false, 0, V{0});
  if (lane != 0) return;
  if (now.values == hubs_values::one) out.constant[now.value] = val[first];
  slice[s] = now;
}

}  // namespace nz::gpu
