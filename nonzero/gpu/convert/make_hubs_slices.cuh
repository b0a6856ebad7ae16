#pragma once

#include <cstdint>

#include <nonzero/gpu/convert/make_hubs_kernels.cuh>

// The second half of what make_hubs.cuh launches: slices of sorted virtual_rows.
namespace nz::gpu {

/// What is summed up over the slices, each with a stretch of slices + 1 numbers in one list: the last is 0.
/// Values by their kind, in the order of hubs_values.
enum slice_count { hub_steps_count, rest_steps_count, values_count, padding_count = values_count + 4 };
constexpr int slice_counts = padding_count + 1;

__device__ inline int largest_of_warp(int value) {
  for (int step = 16; step > 0; step /= 2) {
    const int other = __shfl_xor_sync(full_warp, value, step);
    value = other > value ? other : value;
  }
  return value;
}

/// Bytes of a value of that kind.
__device__ inline int bytes_of_kind(hubs_values kind, int full) {
  return kind == hubs_values::one      ? 0
         : kind == hubs_values::coded  ? 1
         : kind == hubs_values::single ? 4
                                       : full;
}

/// A warp per slice, a lane per virtual_row: how many steps, what kind of values, how much padding. Of the
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
  // Virtual_rows are sorted: where one has entries, the first has.
  const unsigned long long first_of_slice = __shfl_sync(full_warp, first, 0);
  const bool is_empty = __shfl_sync(full_warp, has_entries ? 1 : 0, 0) == 0;
  const bool are_one = __all_sync(full_warp, !has_entries || ((kind & virtual_row_is_one) != 0 &&
                                                              first == first_of_slice)) != 0;
  const bool are_single = __all_sync(full_warp, (kind & virtual_row_is_single) != 0) != 0;
  const int hub_steps = largest_of_warp(hub), rest_steps = largest_of_warp(rest);
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

/// Takes from the sums of each stretch what the stretches before add up to.
template <class Sum>
__global__ void begin_stretches_kernel(std::int64_t slices, const Sum* __restrict__ sums,
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
  int low = 0, high = coded - 1;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (bits_of_value(dictionary[middle]) < bits_of_value(value))
      low = middle + 1;
    else
      high = middle;
  }
  return static_cast<std::uint8_t>(low);
}

/// A warp per slice, a lane per virtual_row, entry by entry: hub steps and rest steps fill up side by side.
/// What is left of them is 0.
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
