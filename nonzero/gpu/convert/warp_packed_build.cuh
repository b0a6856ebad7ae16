#pragma once

#include <cstdint>

#include <nonzero/gpu/convert/warp_packed_patterns.cuh>
#include <nonzero/gpu/load.cuh>
#include <nonzero/gpu/shared.cuh>

// The kernels that make warp_packed from CSR on a device, with the same arrays as to_warp_packed
// (formats/warp_packed.hpp):
//   1. rows are ordered, and every slice chooses its encoding;
//   2. slices of the same hash use the pattern of the first of them, which owns it;
//   3. prefix sums say where everything goes;
//   4. owners write the patterns;
//   5. all slices compare their pattern bit by bit, and write their values.
// Entries are read four times.
namespace nz::gpu {

/// For each window, what its row lengths decide.
struct window_arrays {
  offset *steps, *longest;  // warp_packed_lengths
  offset* is_sorted;        // 0 or 1
};

// A block per window of 1,024 rows, a thread each: the longest rows first if the window is uneven.
// Good: windows of equal rows, of which only the lengths are read.
// Bad: nothing, but 55 barriers for others.
// Traffic: 8 bytes per row.
// Source: Batcher 1968 (the sort).
template <class Offset>
__global__ void __launch_bounds__(warp_packed_window_rows)
    order_rows_kernel(index rows, const Offset* __restrict__ row_begin, index* __restrict__ row,
                      window_arrays out) {
  constexpr int slices = warp_packed_window_rows / 32;
  constexpr std::uint64_t longer_than_any = std::uint64_t{1} << 52;
  __shared__ shared_array<std::uint64_t, warp_packed_window_rows> key;
  __shared__ shared_array<offset, slices> longest;
  const int me = threadIdx.x;
  const std::int64_t begin = std::int64_t{blockIdx.x} * warp_packed_window_rows, place = begin + me;
  const std::int64_t end = begin + warp_packed_window_rows < rows ? begin + warp_packed_window_rows : rows;
  const offset length = place < end ? row_begin[place + 1] - row_begin[place] : 0;
  const offset of_slice = warp_maximum(length);
  if (me % 32 == 0) longest[me / 32] = of_slice;
  __syncthreads();
  warp_packed_lengths all;
  offset places = 0;
  for (int s = 0; s < slices && begin + s * 32 < end; ++s) {
    const offset own = longest[s], height = end - begin - s * 32;
    places += own * (height < 32 ? height : 32);
    all.steps += own;
    all.longest = own > all.longest ? own : all.longest;
  }
  index from = me;
  const bool is_uneven = is_uneven_window(places, row_begin[end] - row_begin[begin]);
  if (is_uneven) {  // the whole block
    // Places without a row stay last.
    key[me] = (place < end ? longer_than_any - length : longer_than_any + 1) << 10 | me;
    __syncthreads();
    sort_in_block<warp_packed_window_rows>(key);
    from = static_cast<index>(key[me] & (warp_packed_window_rows - 1));
    all.steps = 0;
    for (int s = 0; s < slices && begin + s * 32 < end; ++s)
      all.steps += static_cast<offset>(longer_than_any - (key[s * 32] >> 10));
  }
  if (place < end) row[place] = static_cast<index>(begin) + from;
  if (me != 0) return;
  out.steps[blockIdx.x] = all.steps;
  out.longest[blockIdx.x] = all.longest;
  out.is_sorted[blockIdx.x] = is_uneven ? 1 : 0;
}

// A warp per slice reads it by ranks and by diagonals, chooses, and hashes what its pattern would hold.
// Good: slices whose diagonals are few.
// Bad: others, read up to four times to find that out.
// Traffic: 24 bytes per entry in double.
// Source: ours.
template <class V, class Offset>
__global__ void choose_warp_packed_kernel(warp_packed_source<V, Offset> a, std::uint64_t hash_mask,
                                          warp_packed_choice* __restrict__ choice,
                                          std::uint64_t* __restrict__ hash, index* __restrict__ number) {
  const std::int64_t slice = thread_in_grid() / 32;
  if (slice * 32 >= a.rows) return;  // the whole warp
  pattern_builder<V> ranks, diagonals;
  std::uint32_t span = 0;
  for_each_step_by_rank(a, slice, [&](const lane_step& now) {
    span = now.from_column > span ? now.from_column : span;
    ranks.add(now, a.val.data());
  });
  const warp_packed_choice by_rank = ranks.chosen(warp_packed_width(warp_maximum(span)));
  const bool all_seen = for_each_step_by_diagonal(
      a, slice, most_diagonals(by_rank), [&](const lane_step& now) { diagonals.add(now, a.val.data()); });
  const warp_packed_choice by_diagonal = diagonals.chosen(0);
  const bool is_diagonal = all_seen && are_better<V>(by_diagonal, by_rank);
  const warp_packed_choice how = is_diagonal ? by_diagonal : by_rank;
  const std::uint64_t of_pattern = is_diagonal ? diagonals.hash(how) : ranks.hash(how);
  if (threadIdx.x % 32 != 0) return;
  choice[slice] = how;
  hash[slice] = of_pattern & hash_mask;
  number[slice] = static_cast<index>(slice);
}

/// Slices sorted by their hashes: the first of each hash owns the pattern that the others share.
template <class Hash>
__global__ void find_owners_kernel(std::int64_t slices, const Hash* __restrict__ hash,
                                   const index* __restrict__ number, index* __restrict__ owner) {
  const std::int64_t me = thread_in_grid();
  if (me >= slices) return;
  const Hash mine = hash[me];
  const std::int64_t first =
      partition_point(std::int64_t{0}, me, [=](std::int64_t other) { return hash[other] < mine; });
  owner[number[me]] = number[first];
}

/// What is counted in each slice. The prefix sum at a slice is where its own begin.
enum warp_packed_count : int {
  pattern_count,  // this and the next two: of slices that own their pattern
  step_count,
  offset_count,  // / 32
  single_count,  // this and the next: values / 32
  full_count,
  value_padding,    // from here on: used for the whole matrix only
  bytes_unshared,   // as if no slice shared a pattern
  constant_slices,  // that go by diagonals and have one value for each
  constant_steps,
  warp_packed_counts
};

/// The counts of a whole matrix.
struct warp_packed_totals {
  offset of[warp_packed_counts];
};

/// One prefix sum over all counts: for each count, those of all slices and a 0.
struct warp_packed_sums {
  std::int64_t slices;
  const offset* before;

  __device__ offset at(warp_packed_count what, std::int64_t slice) const {
    return before[what * (slices + 1) + slice] - before[what * (slices + 1)];
  }
};

template <class V>
__global__ void count_slices_kernel(index rows, std::int64_t slices,
                                    const warp_packed_choice* __restrict__ choice,
                                    const index* __restrict__ owner, offset* __restrict__ count) {
  const std::int64_t slice = thread_in_grid();
  if (slice > slices) return;
  const auto set = [&](warp_packed_count what, offset to) { count[what * (slices + 1) + slice] = to; };
  const bool is_end = slice == slices, is_owner = !is_end && owner[slice] == slice;
  const warp_packed_choice how = is_end ? warp_packed_choice{} : choice[slice];
  const auto value = static_cast<offset>(warp_packed_value_bytes(how.values, sizeof(V)));
  const offset places_left = rows - slice * 32;
  const bool is_constant = !is_end && how.width == 0 && how.values == packed_values::one;
  set(pattern_count, is_owner ? 1 : 0);
  set(step_count, is_owner ? how.steps : 0);
  set(offset_count, is_owner ? how.steps * how.width : 0);
  set(single_count, how.values == packed_values::single ? how.steps : 0);
  set(full_count, how.values == packed_values::full ? how.steps : 0);
  set(value_padding, how.padding(places_left < 32 ? places_left : 32) * value);
  set(bytes_unshared,
      how.steps * (static_cast<offset>(sizeof(warp_packed_step<V>)) + 32 * (value + how.width)));
  set(constant_slices, is_constant ? 1 : 0);
  set(constant_steps, is_constant ? how.steps : 0);
}

/// One thread for each total.
template <class Totals>
__global__ void total_slices_kernel(warp_packed_sums sums, Totals* __restrict__ totals,
                                    unsigned* __restrict__ differing) {
  const int what = threadIdx.x;
  totals->of[what] = sums.at(static_cast<warp_packed_count>(what), sums.slices);
  if (what == 0) *differing = 0;
}

/// Where the conversion writes: the arrays of warp_packed<V>.
template <class V, class Offset> struct warp_packed_targets {
  index* pattern;
  Offset* value;
  warp_packed_pattern* patterns;
  warp_packed_step<V>* steps;
  std::uint8_t* offsets;
  float* single_value;
  V* full_value;
};

/// Where this lane's offset in step k of a pattern is.
template <class T> __device__ T* offset_place(T* offsets, const warp_packed_pattern& p, offset k) {
  return offsets + (p.offsets + k * p.width) * 32 + threadIdx.x % 32 * p.width;
}

__device__ inline void write_offset(std::uint8_t* to, std::uint8_t width, std::uint32_t value) {
  if (width == 1) *to = static_cast<std::uint8_t>(value);
  if (width == 2) store_as(to, static_cast<std::uint16_t>(value));
  if (width == 4) store_as(to, value);
}

__device__ inline std::uint32_t read_offset(const std::uint8_t* from, std::uint8_t width) {
  if (width == 1) return *from;
  if (width == 2) return load_as<std::uint16_t>(from);
  return width == 4 ? load_as<std::uint32_t>(from) : 0U;
}

// A warp per slice that owns a pattern writes it.
// Good: few patterns.
// Bad: a pattern for every slice: as much is written as read.
// Traffic: 12 bytes per entry of these slices.
// Source: ours.
template <class V, class Offset>
__global__ void write_patterns_kernel(warp_packed_source<V, Offset> a,
                                      const warp_packed_choice* __restrict__ choice,
                                      const index* __restrict__ owner, warp_packed_sums sums,
                                      warp_packed_targets<V, Offset> out) {
  const std::int64_t slice = thread_in_grid() / 32;
  if (slice * 32 >= a.rows || owner[slice] != slice) return;  // the whole warp
  const warp_packed_choice how = choice[slice];
  const int lane = threadIdx.x % 32;
  const warp_packed_pattern p{sums.at(step_count, slice), how.steps, sums.at(offset_count, slice), how.width,
                              how.values};
  if (lane == 0) out.patterns[sums.at(pattern_count, slice)] = p;
  offset k = 0;
  for_each_step_as_chosen(a, slice, how, [&](const lane_step& now) {
    if (lane == __ffs(static_cast<int>(now.mask)) - 1)
      out.steps[p.step + k] = {
          now.column, now.mask,
          how.values == packed_values::one ? a.value(static_cast<Offset>(now.entry)) : V{0}};
    if (p.width > 0) write_offset(offset_place(out.offsets, p, k), p.width, now.from_column);
    ++k;
  });
}

// A warp per slice writes its values, and reports in `differing` if its pattern is not that of its owner.
// Good: values that repeat, which are read and not written.
// Bad: nothing.
// Traffic: 12 bytes per entry, and what is written.
// Source: ours.
template <class V, class Offset>
__global__ void write_values_kernel(warp_packed_source<V, Offset> a,
                                    const warp_packed_choice* __restrict__ choice,
                                    const index* __restrict__ owner, warp_packed_sums sums,
                                    warp_packed_targets<V, Offset> out, unsigned* __restrict__ differing) {
  const std::int64_t slice = thread_in_grid() / 32;
  if (slice * 32 >= a.rows) return;  // the whole warp
  const warp_packed_choice how = choice[slice];
  const int lane = threadIdx.x % 32;
  const auto number = static_cast<index>(sums.at(pattern_count, owner[slice]));
  const warp_packed_pattern p = out.patterns[number];
  const offset value = how.values == packed_values::one      ? 0
                       : how.values == packed_values::single ? sums.at(single_count, slice)
                                                             : sums.at(full_count, slice);
  if (lane == 0) {
    out.pattern[slice] = number;
    out.value[slice] = static_cast<Offset>(value);
  }
  bool is_same = p.steps == how.steps && p.width == how.width && p.values == how.values;
  offset k = 0;
  bool is_single = false;  // not used: how.values says so
  const auto check_and_write = [&](const lane_step& now) {
    const warp_packed_step<V> step = out.steps[p.step + k];
    const V own = now.has_entry ? a.value(static_cast<Offset>(now.entry)) : V{0};
    is_same = is_same && step.column == now.column && step.mask == now.mask &&
              read_offset(offset_place(out.offsets, p, k), p.width) == now.from_column;
    if (how.values == packed_values::one)
      is_same = is_same && (!now.has_entry || bits_of_value(step.value) == bits_of_value(own));
    else if (how.values == packed_values::single)
      out.single_value[(value + k) * 32 + lane] = to_single(own, is_single);
    else
      out.full_value[(value + k) * 32 + lane] = own;
    ++k;
  };
  if (is_same) for_each_step_as_chosen(a, slice, how, check_and_write);
  if (!is_same) atomicMax(differing, 1U);
}

}  // namespace nz::gpu
