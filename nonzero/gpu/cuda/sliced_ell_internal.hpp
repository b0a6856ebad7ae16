#pragma once

#include <algorithm>

#include <nonzero/formats/csr.hpp>
#include <nonzero/formats/ell.hpp>

namespace nz {

/// Sliced ELLPACK as cuSPARSE takes it: every `rows_per_slice` rows are an ELL of their own, as wide as the
/// longest of them. Entry k of row i, in slice s = i / rows_per_slice, is at
/// slice_begin[s] + k * rows_per_slice + i % rows_per_slice. The last slice is as tall as the others.
template <class V> struct sliced_ell {
  static constexpr index rows_per_slice = 32;  // a warp: its threads read neighbours

  index rows = 0, cols = 0;      // >= 0
  offset nnz = 0;                // entries, without padding
  array<offset> slice_begin{0};  // one more than slices; starts at 0, never falls; counts places
  array<index> col;              // slice_begin.back() long; 0 <= col < cols, or padding_column at a row's end
  array<V> val;                  // slice_begin.back() long; 0 at padding

  footprint size() const {
    const std::uint64_t padding = col.size() - static_cast<std::uint64_t>(nnz);
    return {slice_begin.size() * sizeof(offset) + col.size() * (sizeof(index) + sizeof(V)),
            padding * (sizeof(index) + sizeof(V))};
  }
};

/// Throws `unsupported` where padding would exceed the budget.
template <class V> sliced_ell<V> to_sliced_ell(csr_view<V> a, padding_budget budget) {
  constexpr index height = sliced_ell<V>::rows_per_slice;
  const index slices = a.rows / height + (a.rows % height != 0);
  sliced_ell<V> out{a.rows, a.cols, a.nnz(), array<offset>(static_cast<std::size_t>(slices) + 1, 0), {}, {}};
  for (index i = 0; i < a.rows; ++i) {
    offset& width = out.slice_begin[i / height + 1];
    width = std::max(width, a.row_length(i));
  }
  for (index s = 0; s < slices; ++s)
    out.slice_begin[s + 1] = out.slice_begin[s] + out.slice_begin[s + 1] * height;

  const auto places = static_cast<std::uint64_t>(out.slice_begin.back());
  constexpr std::uint64_t size = sizeof(index) + sizeof(V);
  require_within_budget("sliced ell", {places * size, (places - static_cast<std::uint64_t>(a.nnz())) * size},
                        footprint_of(a), budget);
  out.col.assign(places, padding_column);
  out.val.assign(places, V{0});
  for (index i = 0; i < a.rows; ++i) {
    offset at = out.slice_begin[i / height] + i % height;
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k, at += height) {
      out.col[at] = a.col[k];
      out.val[at] = a.val[k];
    }
  }
  return out;
}

}  // namespace nz
