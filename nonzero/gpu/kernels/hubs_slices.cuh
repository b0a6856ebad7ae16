#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <nonzero/gpu/convert/device_hubs.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/load.cuh>
#include <nonzero/gpu/shared.cuh>

namespace nz::gpu {

constexpr int threads_beside_hubs = 1024;  // of the one block that a multiprocessor has room for

/// Copies x of the hubs to consecutive places.
template <class V>
__global__ void gather_hubs_kernel(std::int64_t hubs, const index* __restrict__ hub, const V* __restrict__ x,
                                   V* __restrict__ hub_x) {
  const std::int64_t h = thread_in_grid();
  if (h < hubs) hub_x[h] = x[hub[h]];
}

/// The sum of a lane's products over the steps of its slice. Only its first `length` steps have an entry of
/// this lane; the others are padding. Eight steps are in flight, without divergent branches: columns and
/// values are loaded first, then x.
/// `first` is the lane's place in the first step, among all `columns`, which may be null where there are no
/// steps; read(k) gives the stored value of step k, decode() the value itself. Products of padding are
/// dropped.
template <class V, class Column, class XOf, class Read, class Decode>
__device__ __forceinline__ V sum_of_virtual_row(int steps, int length, const Column* __restrict__ columns,
                                                std::int64_t first, XOf x_of, Read read, Decode decode) {
  constexpr int ahead = 8;
  using held_as = decltype(read(0));
  V sum = 0;
  for (int k = 0; k < steps; k += ahead) {
    Column j[ahead];
    held_as held[ahead];
    V x_of_j[ahead];
    for (int q = 0; q < ahead; ++q)
      j[q] = k + q < steps ? load_no_l1(columns + (first + (k + q) * 32)) : Column{0};
    for (int q = 0; q < ahead; ++q) held[q] = k + q < steps ? read(k + q) : held_as{0};
    for (int q = 0; q < ahead; ++q) x_of_j[q] = x_of(j[q]);
    for (int q = 0; q < ahead; ++q) {
      const V with_it = sum + decode(held[q]) * x_of_j[q];
      sum = k + q < length ? with_it : sum;
    }
  }
  return sum;
}

/// The sum of a lane's virtual row. A slice stores all its values in one way: the whole warp takes the same
/// branch.
template <class V, class Value, class Offset, class HubX, class Dictionary>
__device__ V sum_of_lane(const hubs_view<Value, Offset>& a, const hubs_slice<Offset>& slice, int hub_length,
                         int rest_length, const HubX* hub_x, const Dictionary* dictionary,
                         const V* __restrict__ x) {
  const int lane = threadIdx.x % 32;
  const auto place = [=](Offset step) { return std::int64_t{step} * 32 + lane; };
  const auto sum_with = [&](auto read, auto decode) {
    const V hub = sum_of_virtual_row<V>(
        slice.hub_steps, hub_length, a.hub_number, place(slice.hub_step),
        [=](std::uint16_t h) { return V{hub_x[h]}; }, read, decode);
    const V rest = sum_of_virtual_row<V>(
        slice.rest_steps, rest_length, a.rest_col, place(slice.rest_step), [=](index j) { return x[j]; },
        [=, after = slice.hub_steps](int k) { return read(after + k); }, decode);
    return hub + rest;
  };
  const auto as_it_is = [](auto value) { return static_cast<V>(value); };
  if (slice.values == hubs_values::one)
    return sum_with([](int) { return 0; },
                    [value = static_cast<V>(a.constant[slice.value])](int) { return value; });
  const std::int64_t first = place(slice.value);
  if (slice.values == hubs_values::coded)
    return sum_with([from = a.coded_value, first](int k) { return load_no_l1(from + (first + k * 32)); },
                    [=](std::uint8_t code) { return V{dictionary[code]}; });
  if (slice.values == hubs_values::single)
    return sum_with([from = a.single_value, first](int k) { return load_no_l1(from + (first + k * 32)); },
                    as_it_is);
  return sum_with([from = a.full_value, first](int k) { return load_no_l1(from + (first + k * 32)); },
                  as_it_is);
}

// A lane per virtual row and a warp per slice of 32. Each block first loads x of the hub columns into
// shared memory and stays for all of the work: one block per multiprocessor. Gathers from shared memory have
// few bank conflicts; from L2 each takes a sector. A small launch before it copies x of the hub columns to
// consecutive places; one after it adds up the segments of split rows. Without hub columns there are as many
// blocks as the slices need.
// Good: power laws, where a few columns have most of the entries, and giant rows, in segments of at most 128;
// values that repeat.
// Bad: columns used evenly (no hub columns: all gathers are from L2); small matrices, for which three
// launches and loading x of the hub columns take most of the time.
// Traffic: 10 bytes per entry in a hub column, 12 per other entry, in double, less for values that repeat; 6
// per virtual row; plus the gather of x for the rest.
// Source: ours; sorted slices after Kreutzer et al. 2014 (SELL-C-sigma).
template <class Value, class V, class Offset, class Epilogue>
__global__ void __launch_bounds__(threads_beside_hubs, 1)
    hubs_slices_kernel(hubs_view<Value, Offset> a, const V* __restrict__ hub_x, const V* __restrict__ x,
                       V* __restrict__ y, V* __restrict__ segment_sum, Epilogue finish) {
  trigger_dependent_launch();
  auto* const shared_x = dynamic_shared<V>();
  auto* const dictionary = shared_x + a.hubs;
  for (int h = threadIdx.x; h < a.hubs; h += blockDim.x) shared_x[h] = hub_x[h];
  for (int c = threadIdx.x; c < a.coded; c += blockDim.x) dictionary[c] = static_cast<V>(a.dictionary[c]);
  __syncthreads();

  // Slices are sorted by length: consecutive ones go to different blocks, for load balance.
  const std::int64_t warps = std::int64_t{gridDim.x} * (blockDim.x / 32);
  const int lane = threadIdx.x % 32;
  row_epilogue<Epilogue> finish_row(finish, y);
  std::int64_t s = std::int64_t{threadIdx.x / 32} * gridDim.x + blockIdx.x;
  for (; s < a.slices; s += warps) {
    const hubs_slice<Offset> slice = a.slice[s];
    const std::int64_t virtual_row = s * 32 + lane;
    const bool is_there = virtual_row < a.virtual_rows;
    const int hub_length = is_there ? load_no_l1(a.hub_length + virtual_row) : 0;
    const int rest_length = is_there ? load_no_l1(a.rest_length + virtual_row) : 0;
    const index target = is_there ? load_no_l1(a.target + virtual_row) : 0;
    const V sum = sum_of_lane<V>(a, slice, hub_length, rest_length, shared_x, dictionary, x);
    if (!is_there) continue;
    if (target >= 0)
      finish_row(sum, target);
    else
      segment_sum[-1 - target] = sum;
  }
  finish_row.publish_block_sums();
}

/// A group of lanes per split row adds up its segments, always in the same order. Where the group is less
/// than a warp, the whole warp takes rows of more than 64 segments, one after the other.
template <int Lanes, class V, class Epilogue>
__global__ void hubs_finish_kernel(std::int64_t split_rows, const index* __restrict__ split_row,
                                   const offset* __restrict__ segment_begin, const V* segment_sum,
                                   V* __restrict__ y, Epilogue finish) {
  constexpr offset most_of_group = 64;
  const std::int64_t split = thread_in_grid() / Lanes;
  const int lane = threadIdx.x % 32;
  row_epilogue<Epilogue> finish_row(finish, y);
  const bool has_row = split < split_rows;
  const index row = has_row ? split_row[split] : -1;
  const offset begin = has_row ? segment_begin[split] : 0, end = has_row ? segment_begin[split + 1] : 0;
  const bool is_long = Lanes < 32 && end - begin > most_of_group;
  wait_for_prerequisite();
  V sum = 0;
  for (offset p = begin + lane % Lanes; p < end && !is_long; p += Lanes) sum += segment_sum[p];
  sum = group_sum<Lanes>(sum);
  for (unsigned left = __ballot_sync(full_warp, is_long && lane % Lanes == 0); left != 0; left &= left - 1) {
    const int owner = __ffs(static_cast<int>(left)) - 1;
    const offset first = __shfl_sync(full_warp, begin, owner), last = __shfl_sync(full_warp, end, owner);
    V some = 0;
    for (offset p = first + lane; p < last; p += 32) some += segment_sum[p];
    const V all = __shfl_sync(full_warp, group_sum<32>(some), 0);
    if (lane == owner) sum = all;
  }
  if (has_row && lane % Lanes == 0) finish_row(sum, row);
  finish_row.publish_block_sums();
}

struct hubs_slices_launch {
  /// The columns used most have 16-bit numbers, and their x is in shared memory. Rows are split into virtual
  /// rows.
  static prediction predict(const device_features& a) {
    constexpr double passes = 30, per_virtual_row = 6, longest_virtual_row = 128, hub_number_bytes = 2;
    const double column = a.hub_fraction * hub_number_bytes + (1 - a.hub_fraction) * sizeof(index);
    return {.bytes = static_cast<double>(a.nnz) * (a.exact_value_bytes() + column) + a.rows * per_virtual_row,
            .steps = longest_virtual_row,
            .passes = passes,
            .gathers = 1 - a.hub_fraction};
  }

  static constexpr kernel_row row{.name = "hubs_slices",
                                  .format = "hubs",
                                  .summary = "x of the columns used most in shared memory, long rows split",
                                  .is_candidate = true,
                                  .predict = predict};
  static constexpr bool has_mixed_precision = true;
  template <class A, class V, class Offset> using matrix = device_hubs<A, V, Offset>;

  static std::int64_t blocks(const auto& queue, const auto& a) {
    return blocks_of_slices(queue, a) + blocks_of_split_rows(queue, a);
  }

  template <class Queue, class Value, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const device_hubs<Value, V, Offset>& a, std::byte* set, const V* x, V* y,
                       Epilogue finish) {
    const auto count = [](const auto& values) { return static_cast<std::int64_t>(values.size()); };
    launch_threads(queue, "gather_hubs", count(a.hub), gather_hubs_kernel<V>, count(a.hub), a.hub.data(), x,
                   a.hub_x.in(set));
    const std::int64_t blocks = blocks_of_slices(queue, a);
    queue.launch_with_shared("hubs_slices", blocks, threads_of(a),
                             (a.hub.size() + a.dictionary.size()) * sizeof(V),
                             hubs_slices_kernel<Value, V, Offset, Epilogue>, a.view(), a.hub_x.in(set), x, y,
                             a.segment_sum.in(set), finish);
    with_one_of<8, 32>(lanes_of_split_row(queue, a), [&](auto lanes) {
      queue.launch_dependent("hubs_finish", blocks_of_split_rows(queue, a), threads_per_block,
                             hubs_finish_kernel<lanes.value, V, Epilogue>, count(a.split_row),
                             a.split_row.data(), a.segment_begin.data(), a.segment_sum.in(set), y,
                             after_blocks(finish, blocks));
    });
  }

 private:
  static int threads_of(const auto& a) { return a.hub.size() > 0 ? threads_beside_hubs : threads_per_block; }
  static std::int64_t blocks_of_slices(const auto& queue, const auto& a) {
    const auto lanes = static_cast<std::int64_t>(a.slices.size()) * 32;
    const std::int64_t needed = (lanes + threads_of(a) - 1) / threads_of(a);
    return a.hub.size() > 0 ? std::min<std::int64_t>(needed, queue.multiprocessors()) : needed;
  }
  /// A warp each, unless that is more than four times what the GPU holds at once: most rows have few
  /// segments.
  static int lanes_of_split_row(const auto& queue, const auto& a) {
    return static_cast<std::int64_t>(a.split_row.size()) * 32 <= 4 * queue.resident_threads() ? 32 : 8;
  }
  static std::int64_t blocks_of_split_rows(const auto& queue, const auto& a) {
    return blocks_for(static_cast<std::int64_t>(a.split_row.size()) * lanes_of_split_row(queue, a));
  }
};

}  // namespace nz::gpu
