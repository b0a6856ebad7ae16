// A slice of eight rows at a time, column by column, with their sums in registers. Rows are sorted by length
// within a chunk only: the chunk's sums are put back in order while they are in L1, and rows that read the
// same x stay near each other. Long rows are stored apart, as CSR.
// Good: nearly every matrix whose rows fit into a slice, most of all if lengths change from row to row.
// Bad: few rows of very different lengths (padding); few multiplies after a conversion.
// Traffic: 12 bytes per entry in double and 5 per row, plus padding and the gather of x.
// Source: Kreutzer, Hager, Wellein, Fehske, Bishop 2014 (SELL-C-sigma).
#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/sell_slices.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <nonzero/cpu/chunk_ranges_internal.hpp>
#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/cpu/row_functions_internal.hpp>
#include <nonzero/cpu/simd_internal.hpp>
#include <nonzero/formats/sell.hpp>

#ifndef NONZERO_CPU_SELL_SLICES  // this file is included by itself, once for each target
#  define NONZERO_CPU_SELL_SLICES
namespace nz::cpu {

template <class A, class V> struct sell_functions {
  /// The sums of a window's rows, from first_row on; full[s]: the columns of slice s without padding. `full`,
  /// `row` and slice_begin point to those of the window.
  void (*find_sums)(const offset* slice_begin, const index* full, const index* row, index rows,
                    index first_row, const index* col, const A* val, const V* x, V* sums);
};

}  // namespace nz::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

template <class A, class V>
void find_sums(const offset* slice_begin, const index* full, const index* row, index rows, index first_row,
               const index* col, const A* val, const V* x, V* sums) {
  for (index p = 0; p < rows; p += rows_at_once, ++slice_begin, ++full) {
    const strided_places at{slice_begin[0], rows_at_once};
    const offset width = (slice_begin[1] - slice_begin[0]) / rows_at_once;
    V slice_sums[rows_at_once] = {};
    add_columns(*full, at, col, val, x, slice_sums);
    for (int r = 0; *full < width && r < rows_at_once; ++r)
      slice_sums[r] += sum_row(*full, width, strided_places{at.begin + r, at.stride}, col, val, x);
    // Consecutive rows of equal length are in order: most slices of a regular matrix.
    if (p + rows_at_once <= rows && *full == width &&
        row[p + rows_at_once - 1] - row[p] == rows_at_once - 1) {
      for (int r = 0; r < rows_at_once; ++r) sums[row[p] - first_row + r] = slice_sums[r];
    } else {
      for (int r = 0; r < rows_at_once && p + r < rows; ++r) sums[row[p + r] - first_row] = slice_sums[r];
    }
  }
}

NONZERO_ADD_FUNCTIONS(sell_functions, find_sums);

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nz::cpu {
namespace {

constexpr index slice_rows = 8;

/// The entries of long rows, one row after the other.
template <class A> struct long_entries {
  array<index> col;
  array<A> val;
};

/// Copies the entries of the segments, and lets the segments point to the copies.
template <class A> long_entries<A> take_long_rows(csr_view<A> a, chunking& chunks) {
  long_entries<A> out;
  for (chunking::segment& segment : chunks.segments) {
    const auto begin = static_cast<offset>(out.col.size());
    out.col.insert(out.col.end(), a.col.begin() + segment.begin, a.col.begin() + segment.end);
    out.val.insert(out.val.end(), a.val.begin() + segment.begin, a.val.begin() + segment.end);
    segment = {segment.row, begin, static_cast<offset>(out.col.size())};
  }
  return out;
}

/// Each thread converts the windows that it will multiply (NUMA).
template <class A> sell<A> to_sell_in_parallel(csr_view<A> a, const chunking& chunks, padding_budget budget) {
  const auto for_each_window = [&](index, const std::function<void(index)>& task) {
    in_team(chunks.cost_before.back() >= least_parallel_cost ? 0 : 1, [&](const team_thread& me) {
      const chunk_range mine = equal_cost_range(me, chunks.cost_before);
      for (auto w = static_cast<index>(mine.begin); w < mine.end; ++w) task(w);
    });
  };
  return to_sell_by_steps(a, {slice_rows, chunks.first_row, long_row_from, for_each_window}, budget);
}

template <class A, class V> class sell_slices final : public chunked_matrix<V> {
 public:
  sell_slices(csr_view<A> a, chunking chunks, long_entries<A> long_rows, const prepare_options& options)
      : chunked_matrix<V>(a.rows, a.cols, std::move(chunks)),
        slices_(compiled_functions<sell_functions<A, V>>::find(options.simd)),
        rows_(compiled_functions<csr_functions<A, V>>::find(options.simd)),
        a_(to_sell_in_parallel(a, this->chunks(), options.budget)),
        long_(std::move(long_rows)) {
    for (index w = 0; w < a_.windows(); ++w) {
      const index begin = a_.window_begin[w], end = a_.window_begin[w + 1];
      // The last row of a slice is its shortest.
      for (index last = begin + slice_rows - 1; last < end; last += slice_rows)
        full_.push_back(static_cast<index>(this->chunks().is_long_row(w) ? 0 : a.row_length(a_.row[last])));
      if ((end - begin) % slice_rows != 0) full_.push_back(0);
      first_slice_.push_back(static_cast<index>(full_.size()));
    }
  }
  footprint storage() const override {
    footprint size = footprint_of(a_);
    size.bytes += full_.size() * sizeof(index) + long_.col.size() * (sizeof(index) + sizeof(A));
    return size;
  }

 private:
  void find_sums(index chunk, const V* x, V* sums) const override {
    const index first = a_.window_begin[chunk], last = a_.window_begin[chunk + 1];
    slices_.find_sums(a_.slice_begin.data() + first_slice_[chunk], full_.data() + first_slice_[chunk],
                      a_.row.data() + first, last - first, first, a_.col.data(), a_.val.data(), x, sums);
  }
  V find_segment_sum(const chunking::segment& segment, const V* x) const override {
    return rows_.sum(long_, segment, x);
  }

  sell_functions<A, V> slices_;
  csr_functions<A, V> rows_;
  sell<A> a_;                    // a window for each chunk; long rows are empty
  array<index> full_;            // slices long: the columns of a slice without padding
  array<index> first_slice_{0};  // windows+1 long
  long_entries<A> long_;
};

}  // namespace

kernel_row sell_slices_row() {
  return row_with<[]<class A, class V>(csr_view<A> a, const prepare_options& options) {
    chunking chunks = split_into_chunks(a.row_begin);
    long_entries<A> long_rows = take_long_rows(a, chunks);
    return std::make_unique<sell_slices<A, V>>(a, std::move(chunks), std::move(long_rows), options);
  }>({.name = "sell_slices",
      .format = "sell",
      .summary = "a slice of eight rows at a time; rows sorted within a chunk",
      .is_candidate = true});
}

}  // namespace nz::cpu
#endif
