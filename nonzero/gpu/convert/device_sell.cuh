#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nonzero/gpu/convert/device_slices.cuh>
#include <nonzero/gpu/long_rows.cuh>

// SELL as it lies in a device's memory, with rows that are too long for a lane beside it.
namespace nz::gpu {

// A thread per place copies its row's entries to where the lanes of a warp read neighbours, and writes
// padding behind them. Reading is by rows: what a thread's neighbours fetched is still in the cache. Traffic:
// each entry read once, each place written once.
template <class A, class Offset>
__global__ void fill_slices_kernel(index rows, row_lists lists, const Offset* __restrict__ row_begin,
                                   const index* __restrict__ from_col, const A* __restrict__ from_val,
                                   const Offset* __restrict__ slice_begin, index* __restrict__ col,
                                   A* __restrict__ val) {
  const std::int64_t place = thread_in_grid(), slice = place / slice_height;
  const int lane = threadIdx.x % slice_height;
  if (slice * slice_height >= rows) return;
  const index i = lists.list(place, rows);
  const Offset begin = i < 0 ? 0 : row_begin[i], length = i < 0 ? 0 : row_begin[i + 1] - begin;
  const Offset first = slice_begin[slice], width = slice_begin[slice + 1] - first;
  in_batches<4>(Offset{0}, width, [&](auto steps, Offset k) {
    index j[steps];
    A v[steps];
    for (int q = 0; q < steps; ++q) {
      const bool has_entry = k + q < length;
      j[q] = has_entry ? from_col[begin + k + q] : padding_column;
      v[q] = has_entry ? from_val[begin + k + q] : A{0};
    }
    for (int q = 0; q < steps; ++q) {
      const offset at = (offset{first} + k + q) * slice_height + lane;
      col[at] = j[q];
      if (val != nullptr) val[at] = v[q];
    }
  });
}

/// What to_warp_slices makes of the rows that are short enough, made on the device, and the others in parts.
template <class A, class Offset, class V = A> struct device_sell {
  index rows, cols;
  vector<Offset> slice_begin;  // in steps of slice_height places: 32 bits are enough for 2^36 places
  device_slice_rows row;
  vector<index> col;
  vector<A> val;  // empty where all are the same
  device_segments<V, Offset> parts;
  vector<index> part_col;
  vector<A> part_val;  // empty where val is
  std::optional<A> one_value;
  std::uint64_t padding_bytes;

  /// Throws `unsupported` where padding would break the budget.
  template <class Queue>
  device_sell(Queue& queue, const std::shared_ptr<const device_csr<A>>& a, const prepare_options& options)
      : rows(a->rows), cols(a->cols) {
    constexpr offset longest_segment = 512;
    const csr_or_pattern<A, Offset> from(queue, a, options);
    // Padding has an x of 0, and any number times 0 must be 0.
    if (from.one_value && std::isfinite(*from.one_value)) one_value = from.one_value;
    const auto longest = static_cast<Offset>(
        std::min<offset>(longest_in_slices(rows, from.nnz), std::numeric_limits<Offset>::max()));
    slice_layout<Queue, Offset> layout(queue, options.on, rows, from.row_begin.data(), longest);
    auto part_entry = queue.template temporary<Offset>(static_cast<std::size_t>(rows) + 1);
    parts = device_segments<V, Offset>(queue, options.on, rows, from.row_begin.data(),
                                       {longest, longest_segment}, part_entry.data());
    const auto [steps, listed, apart] = queue.read(layout.steps(), layout.listed(), part_entry.data() + rows);
    const offset places = offset{steps} * slice_height;
    require_slices_within_budget<A>(rows, from.nnz, apart, places, options.budget);

    const auto size = [](offset n) { return static_cast<std::size_t>(n); };
    row = device_slice_rows(options.on, layout.slices, listed);
    col = vector<index>(options.on, size(places));
    val = vector<A>(options.on, one_value ? 0 : size(places));
    part_col = vector<index>(options.on, size(apart));
    part_val = vector<A>(options.on, one_value ? 0 : size(apart));
    padding_bytes = static_cast<std::uint64_t>(places - (from.nnz - apart)) *
                    (sizeof(index) + (one_value ? 0 : sizeof(A)));
    queue.launch("sell_slices (convert)", blocks_for(layout.slices * slice_height), threads_per_block,
                 fill_slices_kernel<A, Offset>, rows, row.lists(layout), from.row_begin.data(),
                 from.col.data(), from.val.data(), layout.slice_begin.data(), col.data(), val.data());
    queue.launch("copy_segments", parts.blocks(), threads_per_block, copy_segments_kernel<A, Offset>,
                 parts.size(), parts.list(), from.row_begin.data(), part_entry.data(), from.col.data(),
                 from.val.data(), part_col.data(), part_val.data());
    slice_begin = std::move(layout.slice_begin);
  }
  footprint storage() const {
    return {row.bytes() + slice_begin.bytes() + col.bytes() + val.bytes() + parts.bytes() + part_col.bytes() +
                part_val.bytes(),
            padding_bytes};
  }
  std::string encodings() const {
    std::string out = one_value ? "one value for all entries" : "";
    if (part_col.size() > 0)
      out += (out.empty() ? "" : ", ") + std::to_string(part_col.size()) + " entries in long rows, apart";
    return out;
  }
};

}  // namespace nz::gpu
