// Eight rows at a time, column by column, with their sums in registers; if one of them ends early, the rest
// row by row.
// Good: rows of equal length.
// Bad: few long rows among short ones: mostly padding, which is not read but takes memory.
// Traffic: 12 bytes per entry in double, almost no padding, plus the gather of x.
#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/ell_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/cpu/row_functions_internal.hpp>
#include <nonzero/cpu/simd_internal.hpp>

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

/// Columns that are added at once: with more, the hardware prefetcher has too many streams; with fewer, sums
/// are loaded and stored more often.
constexpr offset columns_at_once = 16;

/// The number of columns without padding in any of eight rows. Padding is at the ends of rows only.
HWY_INLINE offset full_columns(offset width, strided_places at, const index* col) {
  offset low = 0, high = width;
  for (offset k = width - 1; low < high; k = low + (high - low) / 2) {  // usually all of them
    index any = 0;
    for (int r = 0; r < rows_at_once; ++r) any |= col[at(k) + r];
    if (any >= 0)
      low = k + 1;
    else
      high = k;
  }
  return low;
}

template <class A, class V>
HWY_NOINLINE void add_some_columns(offset width, strided_places at, const index* col, const A* val,
                                   index rows, const V* x, V* sums) {
  index i = 0;
  for (; i + rows_at_once <= rows; i += rows_at_once, at.begin += rows_at_once) {
    const offset full = full_columns(width, at, col);
    add_columns(full, at, col, val, x, sums + i);
    for (int r = 0; full < width && r < rows_at_once; ++r)
      sums[i + r] += sum_row(full, width, strided_places{at.begin + r, at.stride}, col, val, x);
  }
  for (; i < rows; ++i, ++at.begin) sums[i] += sum_row(0, width, at, col, val, x);
}

template <class A, class V>
void find_sums(const index* col, const A* val, offset stride, offset width, index first, index rows,
               const V* x, V* sums) {
  for (index i = 0; i < rows; ++i) sums[i] = 0;
  for (offset k = 0; k < width; k += columns_at_once)
    add_some_columns(width - k < columns_at_once ? width - k : columns_at_once,
                     strided_places{k * stride + first, stride}, col, val, rows, x, sums);
}

NONZERO_ADD_FUNCTIONS(ell_functions, find_sums);

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nz::cpu {
namespace {

template <class A, class V> class ell_blocks final : public chunked_matrix<V> {
 public:
  ell_blocks(csr_view<A> a, const prepare_options& options)
      : chunked_matrix<V>(a.rows, a.cols, with_segments_in_rows(split_into_chunks(a.row_begin), a.row_begin)),
        blocks_(compiled_functions<ell_functions<A, V>>::find(options.simd)),
        a_(to_ell(a, options.budget)) {}
  footprint storage() const override { return footprint_of(a_); }

 private:
  void find_sums(index chunk, const V* x, V* sums) const override {
    const index first = this->chunks().first_row[chunk], last = this->chunks().first_row[chunk + 1];
    blocks_.find_sums(a_.col.data(), a_.val.data(), a_.rows, a_.width, first, last - first, x, sums);
  }
  V find_segment_sum(const chunking::segment& segment, const V* x) const override {
    return find_ell_sum(a_, segment.row, segment.begin, segment.end, x);
  }

  ell_functions<A, V> blocks_;
  ell<A> a_;
};

}  // namespace

kernel_row ell_blocks_row() {
  return row_with<[]<class A, class V>(csr_view<A> a, const prepare_options& options) {
    return std::make_unique<ell_blocks<A, V>>(a, options);
  }>({.name = "ell_blocks", .format = "ell", .summary = "eight rows at a time, column by column"});
}

}  // namespace nz::cpu
#endif
