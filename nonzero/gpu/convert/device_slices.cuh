#pragma once

#include <cstdint>
#include <type_traits>

#include <nonzero/gpu/convert/lay_out_slices.cuh>
#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/warp_slices_internal.hpp>

// How warps walk slices.
namespace nz::gpu {

/// The row that a lane of a slice has, which must have one; -1 for one that is apart.
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

}  // namespace nz::gpu
