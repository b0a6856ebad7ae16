#pragma once

#include <algorithm>
#include <limits>

#include <nonzero/core/threads.hpp>
#include <nonzero/formats/sell.hpp>

// How rows are laid out for warps that have a row, or a block row, for each of their lanes.
namespace nz::gpu {

constexpr index slice_height = 32;  // the lanes of a warp
/// Rows that are sorted together. A multiple of the height: no slice but the last has places without a row.
constexpr index rows_per_window = 1024;

/// The budget, but enough for the places without a row in the one slice of a small matrix.
inline padding_budget for_slices(padding_budget budget, footprint csr) {
  constexpr double never_refused = 64 << 10;  // bytes
  return {std::max(budget.times_csr, never_refused / static_cast<double>(csr.bytes))};
}

/// The longest row that is left to one lane; the others are kept apart, for a warp or several each.
inline offset longest_in_slices(index rows, offset nnz) {
  constexpr offset always = 64, times_mean = 4;
  return std::max(always, times_mean * (nnz / std::max<offset>(rows, 1)));
}

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

/// Refuses, as to_warp_slices does, slices of so many places for a matrix of which `apart` entries are not in
/// them.
template <class V>
void require_slices_within_budget(index rows, offset nnz, offset apart, offset places,
                                  padding_budget budget) {
  constexpr std::uint64_t entry = sizeof(index) + sizeof(V);
  const auto count = [](offset n) { return static_cast<std::uint64_t>(n); };
  const offset windows = (offset{rows} + rows_per_window - 1) / rows_per_window,
               slices = (offset{rows} + slice_height - 1) / slice_height;
  const footprint csr{count(rows + offset{1}) * sizeof(offset) + count(nnz) * entry, 0};
  const footprint sliced{
      count(places) * entry + count(windows + 1 + rows) * sizeof(index) + count(slices + 1) * sizeof(offset),
      count(places - (nnz - apart)) * entry};
  require_within_budget("sell", sliced, csr, for_slices(budget, csr));
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

}  // namespace nz::gpu
