#pragma once

#include <algorithm>
#include <limits>

#include <nonzero/core/threads.hpp>
#include <nonzero/formats/bsr.hpp>
#include <nonzero/formats/sell.hpp>
#include <nonzero/gpu/slices_internal.hpp>

// What the device's conversions to slices must make, made on the host.
namespace nz::gpu {

/// SELL in slices for warps, converted by all threads, without rows of more entries than `longest`. Throws
/// `unsupported` where padding would break the budget.
template <class V>
sell<V> to_warp_slices(csr_view<V> a, padding_budget budget,
                       offset longest = std::numeric_limits<offset>::max()) {
  constexpr index windows_per_task = 16;
  array<index> window_begin{0};
  while (window_begin.back() < a.rows)
    window_begin.push_back(window_begin.back() + std::min(rows_per_window, a.rows - window_begin.back()));
  const auto for_each_window = [](index windows, const std::function<void(index)>& task) {
    parallel_ranges(windows, windows_per_task, 0, [&](std::int64_t begin, std::int64_t end) {
      for (auto w = static_cast<index>(begin); w < end; ++w) task(w);
    });
  };
  return to_sell_by_steps(a,
                          {.height = slice_height,
                           .window_begin = std::move(window_begin),
                           .longest = longest,
                           .for_each_window = for_each_window},
                          for_slices(budget, footprint_of(a)));
}

/// Which rows the slices hold, for 4 bytes per slice where these are neighbours, as in most slices of a
/// regular matrix: 4 bytes per row are a tenth of the time of a tridiagonal one.
struct slice_rows {
  array<index> first;  // slices long; a slice's first row if the others follow it one by one, or -1 - n where
                       // its rows are in `listed` from n * slice_height on
  array<index> listed;  // slice_height rows for each of the other slices; -1 at a place without a row
};

/// `row` has the row of each place, or -1 for one that is apart.
inline slice_rows rows_of_slices(const array<index>& row) {
  slice_rows out;
  for (auto slice = row.begin(); slice != row.end();) {
    const auto end = slice + std::min<std::ptrdiff_t>(slice_height, row.end() - slice);
    if (*slice >= 0 && std::adjacent_find(slice, end, [](index i, index j) { return j != i + 1; }) == end) {
      out.first.push_back(*slice);
    } else {
      out.first.push_back(-1 - static_cast<index>(out.listed.size() / slice_height));
      out.listed.insert(out.listed.end(), slice, end);
      out.listed.resize(out.listed.size() + static_cast<std::size_t>(slice_height - (end - slice)), -1);
    }
    slice = end;
  }
  return out;
}

/// The blocks of a bsr in slices of 32 block rows. Entry k of place l of slice s is a block: its column is at
/// step * slice_height + l with step = slice_begin[s] / slice_height + k, and its value of row r and column c
/// is at ((step*block_size + r)*block_size + c) * slice_height + l. Lanes that take the same value of their
/// blocks read neighbours.
template <class A> struct interleaved_blocks {
  index rows = 0, cols = 0;   // of the matrix
  index block_size = 2;       // one of block_sizes
  array<index> block_row;     // of each place, as `row` in sell
  array<offset> slice_begin;  // in blocks, as in sell
  array<index> block_col;     // as long as the slices; a block's column, or padding_column
  array<A> val;               // block_size^2 as long; 0 at padding
};

/// Copies the blocks of a slice to their places.
template <class A> void fill_slice(const bsr<A>& from, std::int64_t slice, interleaved_blocks<A>& to) {
  const index size = from.block_size;
  const offset first = to.slice_begin[slice] / slice_height, end = to.slice_begin[slice + 1] / slice_height;
  for (index l = 0; l < slice_height; ++l) {
    const auto place = static_cast<std::size_t>(slice * slice_height + l);
    const index row = place < to.block_row.size() ? to.block_row[place] : -1;
    const offset begin = row < 0 ? 0 : from.block_begin[row];
    const offset blocks = row < 0 ? 0 : from.block_begin[row + 1] - begin;
    for (offset step = first; step < end; ++step) {
      A* const at = &to.val[step * size * size * slice_height + l];
      const A* const block =
          step - first < blocks ? &from.val[(begin + step - first) * size * size] : nullptr;
      for (index r = 0; r < size; ++r)
        for (index c = 0; c < size; ++c)
          at[(r * size + c) * slice_height] = block == nullptr ? A{0} : block[c * size + r];
    }
  }
}

/// Without `rest`. Throws `unsupported` where padding would break the budget.
template <class A> interleaved_blocks<A> interleave(const bsr<A>& a, padding_budget budget) {
  constexpr std::int64_t slices_per_task = 64;
  const csr<float> pattern{a.block_rows(), a.cols / a.block_size, a.block_begin, a.block_col,
                           array<float>(a.block_col.size(), 0.0F)};
  sell<float> places = to_warp_slices<float>(pattern, {std::numeric_limits<double>::infinity()});
  require_blocks_within_budget<A>(
      {a.rows, a.block_size, a.nnz(), a.blocks(), static_cast<offset>(places.col.size())}, budget);

  const auto values = places.col.size() * static_cast<std::size_t>(a.block_size * a.block_size);
  const offset slices = places.slices();
  interleaved_blocks<A> out{a.rows,
                            a.cols,
                            a.block_size,
                            std::move(places.row),
                            std::move(places.slice_begin),
                            std::move(places.col),
                            array<A>(values)};
  parallel_ranges(slices, slices_per_task, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) fill_slice(a, s, out);
  });
  return out;
}

}  // namespace nz::gpu
