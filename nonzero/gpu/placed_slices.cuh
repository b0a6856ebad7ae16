#pragma once

#include <cstdint>
#include <type_traits>

#include <nonzero/gpu/placed.cuh>
#include <nonzero/gpu/warp_slices_internal.hpp>

// Slices for warps, as they lie in a device's memory.
namespace nz::gpu {

struct placed_slice_rows {
  vector<index> first, listed;

  placed_slice_rows(const slice_rows& rows, const prepare_options& options)
      : first(place(options.on, rows.first)), listed(place(options.on, rows.listed)) {}
  std::uint64_t bytes() const { return first.bytes() + listed.bytes(); }
};

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

/// Where slices begin, in steps of slice_height places: 32 bits are enough for 2^36 places.
template <class Offset>
vector<Offset> place_steps(const std::shared_ptr<device>& on, const array<offset>& slice_begin) {
  array<Offset> steps(slice_begin.size());
  for (std::size_t s = 0; s < steps.size(); ++s)
    steps[s] = static_cast<Offset>(slice_begin[s] / slice_height);
  return place(on, steps);
}

template <class V, class Offset> struct placed_sell {
  index rows, cols;
  placed_slice_rows row;
  vector<Offset> slice_begin;  // in steps
  vector<index> col;
  vector<V> val;
  std::uint64_t padding_bytes;

  placed_sell(const sell<V>& a, offset nnz, const prepare_options& options)
      : rows(a.rows),
        cols(a.cols),
        row(rows_of_slices(a.row), options),
        slice_begin(place_steps<Offset>(options.on, a.slice_begin)),
        col(place(options.on, a.col)),
        val(place(options.on, a.val)),
        padding_bytes((a.col.size() - static_cast<std::uint64_t>(nnz)) * (sizeof(index) + sizeof(V))) {}
  placed_sell(const csr<V>& a, const prepare_options& options)
      : placed_sell(to_warp_slices(a, options.budget), a.nnz(), options) {}
  footprint storage() const {
    return {row.bytes() + slice_begin.bytes() + col.bytes() + val.bytes(), padding_bytes};
  }
};

}  // namespace nz::gpu
