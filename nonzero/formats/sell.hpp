#pragma once

#include <functional>
#include <limits>

#include <nonzero/formats/csr.hpp>
#include <nonzero/formats/ell.hpp>

namespace nz {

/// Sliced ELLPACK (SELL-C-sigma): the rows of a window are sorted by length, then stored in slices of
/// `height` places, each slice as wide as its longest row. Place p has row row[p]. Every window begins a
/// slice; its last slice may have places without a row. Entry k of place r of slice s is at slice_begin[s] +
/// k*height + r. A place's entries come first, padding after them.
template <class V> struct sell {
  index rows = 0, cols = 0;      // >= 0
  index height = 1;              // >= 1
  array<index> window_begin{0};  // rises from 0 to rows; window w holds the rows and the places from w's on
  array<index> row;              // rows long; in each window a permutation of its rows, longest first; equal
                                 // lengths keep the order of the matrix
  array<offset> slice_begin{0};  // slices+1 long; starts at 0, by steps of height times the longest row
  array<index> col;              // as long as the slices; 0 <= col < cols, or padding_column
  array<V> val;                  // as long as the slices; 0 at padding

  index windows() const { return static_cast<index>(window_begin.size()) - 1; }
  offset slices() const { return static_cast<offset>(slice_begin.size()) - 1; }
};

template <class V> void validate(const sell<V>& a);
template <class V> footprint footprint_of(const sell<V>& a);

struct sell_options {
  index height = 8;    // places of a slice: SIMD lanes, or the threads of a warp
  index sigma = 1024;  // rows of a window; best a multiple of the height
};

template <class V> footprint sell_footprint(csr_view<V> a, sell_options options = {});
template <class V> footprint sell_footprint(const csr<V>& a, sell_options options = {}) {
  return sell_footprint(csr_view<V>(a), options);
}
/// Throws `unsupported` if padding would exceed the budget, `shape_error` for a height or sigma below 1.
template <class V> sell<V> to_sell(csr_view<V> a, sell_options options = {}, padding_budget budget = {});
template <class V> sell<V> to_sell(const csr<V>& a, sell_options options = {}, padding_budget budget = {}) {
  return to_sell(csr_view<V>(a), options, budget);
}

/// For callers that have their own windows and threads.
struct sell_steps {
  index height;
  array<index> window_begin;
  /// Rows with more entries are left out, as if they were empty.
  offset longest = std::numeric_limits<offset>::max();
  /// Calls task(w) once for each of the windows, in any order or at the same time. The tasks do not throw.
  std::function<void(index windows, const std::function<void(index)>& task)> for_each_window;
};
template <class V> sell<V> to_sell_by_steps(csr_view<V> a, const sell_steps& steps, padding_budget budget);

/// body(row, column, value) for every entry; those of a row in its own order.
template <class V, class Body> void for_each_trusted_entry(const sell<V>& a, Body body) {
  offset slice = 0;
  for (index w = 0; w < a.windows(); ++w)
    for (index first = a.window_begin[w]; first < a.window_begin[w + 1]; first += a.height, ++slice)
      for (offset at = a.slice_begin[slice]; at < a.slice_begin[slice + 1]; ++at)
        if (a.col[at] != padding_column)
          body(a.row[first + (at - a.slice_begin[slice]) % a.height], a.col[at], a.val[at]);
}

}  // namespace nz
