#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include <nonzero/gpu/convert/device_warp_packed.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/load.cuh>

namespace nz::gpu {

/// The sum of a lane's products over the steps of its slice, whose first place is `first`. offset_of(k) and
/// value_of(k, step) give what a lane has in a step that it takes part in. Other lanes compute a product and
/// drop it: cheaper than a branch.
template <class A, class V, class OffsetOf, class ValueOf>
__device__ V sum_of_steps(const warp_packed_step<A>* __restrict__ step, offset steps, index first, const V* x,
                          OffsetOf offset_of, ValueOf value_of) {
  const int lane = threadIdx.x % 32;
  V sum = 0;
  for (offset k = 0; k < steps; ++k) {
    const warp_packed_step<A> now = step[k];
    const bool has_entry = (now.mask >> lane & 1U) != 0;
    const auto from_step = static_cast<index>(offset_of(k));
    const V with_it =
        sum + static_cast<V>(value_of(k, now)) * x[has_entry ? first + now.column + from_step : 0];
    sum = has_entry ? with_it : sum;
  }
  return sum;
}

/// The same for any width of offsets. A slice has one width: the whole warp takes the same branch.
template <class A, class V, class ValueOf>
__device__ V sum_of_slice(const warp_packed_pattern& p, const warp_packed_step<A>* steps,
                          const std::uint8_t* offsets, index first, const V* x, ValueOf value_of) {
  const int lane = threadIdx.x % 32;
  const warp_packed_step<A>* step = steps + p.step;
  const std::uint8_t* mine = offsets + p.offsets * 32 + lane * p.width;
  const auto sum_by = [&](auto offset_of) {
    return sum_of_steps(step, p.steps, first, x, offset_of, value_of);
  };
  if (p.width == 0) return sum_by([=](offset) { return lane; });
  if (p.width == 1) return sum_by([=](offset k) { return mine[k * 32]; });
  if (p.width == 2) return sum_by([=](offset k) { return load_as<std::uint16_t>(mine + k * 64); });
  return sum_by([=](offset k) { return load_as<std::uint32_t>(mine + k * 128); });
}

/// The same for any encoding of values.
template <class A, class V, class Offset>
__device__ V sum_of_any_slice(const warp_packed_view<A, Offset>& a, std::int64_t slice, const V* x) {
  const warp_packed_pattern p = a.patterns[a.pattern[slice]];
  const std::int64_t at = std::int64_t{a.value[slice]} * 32 + threadIdx.x % 32;
  const auto sum_with = [&](auto value_of) {
    return sum_of_slice(p, a.steps, a.offsets, static_cast<index>(slice * 32), x, value_of);
  };
  if (p.values == packed_values::one)
    return sum_with([](offset, const warp_packed_step<A>& step) { return step.value; });
  if (p.values == packed_values::single)
    return sum_with([from = a.single_value + at](offset k, const warp_packed_step<A>&) {
      return load_no_l1(from + k * 32);
    });
  return sum_with(
      [from = a.full_value + at](offset k, const warp_packed_step<A>&) { return load_no_l1(from + k * 32); });
}

/// Neighbouring slices of the same diagonals and constants: each step is read once for all of them, and their
/// loads of x are in flight together.
template <int Slices, class A, class V, class Finish>
__device__ void finish_same_slices(const warp_packed_pattern& p,
                                   const warp_packed_step<A>* __restrict__ steps, index first, const V* x,
                                   Finish finish_place) {
  const int lane = threadIdx.x % 32;
  V sum[Slices] = {};
  for (offset k = p.step; k < p.step + p.steps; ++k) {
    const warp_packed_step<A> now = steps[k];
    if (Slices == 4 && now.mask == full_warp) {  // inside of a grid: half the work of its border
      const V* at = x + first + now.column + lane;
      for (int s = 0; s < Slices; ++s) sum[s] += static_cast<V>(now.value) * at[s * 32];
      continue;
    }
    const bool has_entry = (now.mask >> lane & 1U) != 0;
    const index column = has_entry ? first + now.column + lane : 0;
    for (int s = 0; s < Slices; ++s) {
      const V with_it = sum[s] + static_cast<V>(now.value) * x[has_entry ? column + s * 32 : 0];
      sum[s] = has_entry ? with_it : sum[s];
    }
  }
  for (int s = 0; s < Slices; ++s) finish_place(std::int64_t{first} + s * 32 + lane, sum[s]);
}

/// A plain multiply of four slices per warp limits registers so that six blocks fit a multiprocessor: with
/// four, the compiler's own choice, a prototype took 5 to 8 % longer in double (H200). Bounds of 1,024
/// threads and one block leave other kernels the compiler's choice.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int blocks_of_four_slices = 4;  // all that such a GPU has threads for
#else
constexpr int blocks_of_four_slices = 6;
#endif
template <int Slices, class V, class Epilogue>
inline constexpr bool has_many_blocks = Slices == 4 && std::is_same_v<Epilogue, scale_and_add<V>>;

// A thread per row and a warp per slice of 32 rows, or per several equal slices. Steps, which give the lanes'
// columns, are read once for a warp; slices of a stencil share them, so that only x is read. Other slices
// also read values, in as few bytes as are exact.
// Good: stencils, which move x and y only; bands, meshes and matrices of blocks, whose columns repeat or are
// near each other; values that repeat or are exact in single precision.
// Bad: a giant row (one lane sums it); columns and values that have nothing in common: 12 bytes per entry, as
// in CSR, and padding.
// Traffic: x, y and 4 bytes per 32 rows (stencils) to 12.5 bytes per entry in double, plus the gather of x.
// Source: Kreutzer et al. 2014 (SELL-C-sigma); the patterns and the exact encodings are ours.
template <int Slices, class A, class V, class Offset, class Epilogue>
__global__ void __launch_bounds__(has_many_blocks<Slices, V, Epilogue> ? threads_per_block : 1024,
                                  has_many_blocks<Slices, V, Epilogue> ? blocks_of_four_slices : 1)
    warp_packed_slices_kernel(warp_packed_view<A, Offset> a, const V* x, V* y, Epilogue finish) {
  wait_for_prerequisite();
  const std::int64_t begin = thread_in_grid() / 32 * Slices, slices = (std::int64_t{a.rows} + 31) / 32;
  const int lane = threadIdx.x % 32;
  row_epilogue<Epilogue> finish_row(finish, y);
  const auto finish_place = [&](std::int64_t place, V sum) {
    if (place < a.rows) finish_row(sum, a.row == nullptr ? place : a.row[place]);
  };
  bool are_same = Slices > 1 && begin + Slices <= slices;
  if (are_same) {
    const index pattern = a.pattern[begin];
    for (int s = 1; s < Slices; ++s) are_same = are_same && a.pattern[begin + s] == pattern;
    const warp_packed_pattern p = a.patterns[pattern];
    are_same = are_same && p.width == 0 && p.values == packed_values::one;
    if (are_same) finish_same_slices<Slices>(p, a.steps, static_cast<index>(begin * 32), x, finish_place);
  }
  const std::int64_t end = are_same ? begin : begin + Slices < slices ? begin + Slices : slices;
  for (std::int64_t s = begin; s < end; ++s) finish_place(s * 32 + lane, sum_of_any_slice(a, s, x));
  finish_row.publish_block_sums();
}

struct warp_packed_slices_launch {
  /// Slices of diagonals store no columns; those of constants store no values either.
  static prediction predict(const device_features& a) {
    constexpr double per_slice = 12, passes = 12;  // its pattern and its first value
    const slice_survey& s = a.slice;
    const auto of_entries = [&](offset some) { return a.fraction(some, s.entries); };
    const double value = a.exact_value_bytes(), in_diagonals = of_entries(s.in_diagonals);
    const double in_8_bits = of_entries(s.within_8_bits), in_16_bits = of_entries(s.within_16_bits);
    const double others = 1 - in_diagonals;
    const double offsets = 1 * in_8_bits + 2 * (in_16_bits - in_8_bits) + 4 * (others - in_16_bits);
    const double padding = std::max(1.0, a.fraction(s.places, s.entries));
    const double per_entry =
        (in_diagonals - of_entries(s.in_constants)) * value + padding * (others * value + offsets);
    prediction out{.bytes = static_cast<double>(a.nnz) * per_entry + a.rows / 32.0 * per_slice,
                   .steps = static_cast<double>(a.row.longest),
                   .passes = passes};
    // A large matrix of many diagonals that the cache holds: with no columns to read it takes less time than
    // in sell_slices.
    constexpr double large_bytes = 8 << 20, long_row = 16, fewest_multiplies = 100;
    if (a.fits_cache() && a.csr_bytes >= large_bytes && a.mean_row() > long_row &&
        a.multiplies >= fewest_multiplies && 4 * s.in_diagonals >= 3 * s.entries && s.entries > 0)
      out.preference = 6;
    return out;
  }

  static constexpr kernel_row row{.name = "warp_packed_slices",
                                  .format = "warp_packed",
                                  .summary = "a warp per slice of 32 rows, repeated patterns stored once",
                                  .is_candidate = true,
                                  .predict = predict};
  static constexpr bool has_mixed_precision = true;
  template <class A, class V, class Offset> using matrix = device_warp_packed<A, Offset>;

  static std::int64_t blocks(const auto& queue, const auto& a) {
    const std::int64_t each = slices_per_warp(queue, a);
    return blocks_for((a.slices() + each - 1) / each * 32);
  }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const device_warp_packed<A, Offset>& a, const V* x, V* y,
                       Epilogue finish) {
    with_one_of<1, 2, 4>(slices_per_warp(queue, a), [&](auto each) {
      queue.launch_dependent("warp_packed_slices", blocks(queue, a), threads_per_block,
                             warp_packed_slices_kernel<each.value, A, V, Offset, Epilogue>, a.view(), x, y,
                             finish);
    });
  }

 private:
  /// Several where most share their steps and the GPU stays full. On an H200, four are best for up to 7
  /// steps, two for 27.
  static int slices_per_warp(const auto& queue, const auto& a) {
    const std::int64_t slices = a.slices(), per_warp = slices / (queue.resident_threads() / 32);
    if (2 * a.of_constants < slices || per_warp < 2) return 1;
    return per_warp < 4 || a.their_steps > 16 * a.of_constants ? 2 : 4;
  }
};

}  // namespace nz::gpu
