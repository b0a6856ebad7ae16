// Eight places at a time, diagonal by diagonal, with their sums in registers: as ell_blocks, over rows sorted
// by length, where nearly all blocks have rows of equal length and there is no padding.
// Good: rows of many lengths.
// Bad: rows that read the same x are no longer neighbours, and y is written out of order; long rows, whose
// segments read one entry per cache line.
// Traffic: 12 bytes per entry in double, plus the gather of x and 4 bytes per row for the permutation.
#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/tjds_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/cpu/simd_internal.hpp>
#include <nonzero/formats/tjds.hpp>

#ifndef NONZERO_CPU_TJDS_BLOCKS  // this file is included by itself, once for each target
#  define NONZERO_CPU_TJDS_BLOCKS
namespace nz::cpu {

template <class A, class V> struct tjds_functions {
  /// The sums of the places [first, last); the first has `width` entries, the others have no more.
  void (*find_sums)(const offset* diagonal_begin, offset width, const index* col, const A* val, index first,
                    index last, const V* x, V* sums);
};

}  // namespace nz::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

/// The places of the first of eight rows: entry k is at diagonal_begin[k] + place.
struct diagonal_places {
  const offset* diagonal_begin;
  offset place;
  HWY_INLINE offset operator()(offset k) const { return diagonal_begin[k] + place; }
};

/// Whether the row at `place` has an entry k.
HWY_INLINE bool reaches(const offset* diagonal_begin, offset k, index place) {
  return diagonal_begin[k + 1] - diagonal_begin[k] > place;
}

/// The sum over the entries of one place from k on; none has more than `width`.
template <class A, class V>
HWY_INLINE V sum_place(offset k, offset width, const offset* diagonal_begin, index place, const index* col,
                       const A* val, const V* x) {
  V sum = 0;
  for (; k < width && reaches(diagonal_begin, k, place); ++k) {
    const offset at = diagonal_begin[k] + place;
    sum += static_cast<V>(val[at]) * x[col[at]];
  }
  return sum;
}

template <class A, class V>
void find_sums(const offset* diagonal_begin, offset width, const index* col, const A* val, index first,
               index last, const V* x, V* sums) {
  offset full = width;  // diagonals that reach all eight places
  index p = first;
  for (; p + rows_at_once <= last; p += rows_at_once, sums += rows_at_once) {
    while (full > 0 && !reaches(diagonal_begin, full - 1, p + rows_at_once - 1)) --full;
    for (int r = 0; r < rows_at_once; ++r) sums[r] = 0;
    add_columns(full, diagonal_places{diagonal_begin, p}, col, val, x, sums);
    for (int r = 0; full < width && reaches(diagonal_begin, full, p + r); ++r)
      sums[r] += sum_place(full, width, diagonal_begin, p + r, col, val, x);
  }
  for (; p < last; ++p) *sums++ = sum_place(0, width, diagonal_begin, p, col, val, x);
}

NONZERO_ADD_FUNCTIONS(tjds_functions, find_sums);

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nz::cpu {
namespace {

/// The rows in the order in which they are stored. a.row is not needed.
template <class A, class V> class tjds_places final : public chunked_matrix<V> {
 public:
  tjds_places(tjds<A> a, std::span<const offset> place_begin, std::string_view simd)
      : chunked_matrix<V>(a.rows, a.cols, with_segments_in_rows(split_into_chunks(place_begin), place_begin)),
        functions_(compiled_functions<tjds_functions<A, V>>::find(simd)),
        a_(std::move(a)) {
    for (const index first : this->chunks().first_row)
      chunk_width_.push_back(first < a_.rows ? place_begin[first + 1] - place_begin[first] : 0);
  }
  footprint storage() const override { return footprint_of(a_); }

 private:
  void find_sums(index chunk, const V* x, V* sums) const override {
    functions_.find_sums(a_.diagonal_begin.data(), chunk_width_[chunk], a_.col.data(), a_.val.data(),
                         this->chunks().first_row[chunk], this->chunks().first_row[chunk + 1], x, sums);
  }
  V find_segment_sum(const chunking::segment& segment, const V* x) const override {
    V sum = 0;
    for (offset k = segment.begin; k < segment.end; ++k) {
      const offset at = a_.diagonal_begin[k] + segment.row;
      sum += static_cast<V>(a_.val[at]) * x[a_.col[at]];
    }
    return sum;
  }

  tjds_functions<A, V> functions_;
  tjds<A> a_;
  array<offset> chunk_width_;  // chunks+1 long: the entries of each chunk's first place, its longest
};

}  // namespace

kernel_row tjds_blocks_row() {
  return row_with<[]<class A, class V>(csr_view<A> a, const prepare_options& options) {
    tjds<A> sorted = to_tjds(a);
    array<index> row = std::move(sorted.row);
    array<offset> place_begin{0};  // as CSR's, for the sorted rows
    place_begin.reserve(row.size() + 1);
    for (const index i : row) place_begin.push_back(place_begin.back() + a.row_length(i));
    auto places = std::make_unique<tjds_places<A, V>>(std::move(sorted), place_begin, options.simd);
    return std::make_unique<permuted_matrix<V>>(std::move(places), std::move(row));
  }>({.name = "tjds_blocks",
      .format = "tjds",
      .summary = "eight sorted rows at a time, diagonal by diagonal"});
}

}  // namespace nz::cpu
#endif
