// Each thread has chunks of about the same cost: entries, plus four for each row. Rows of up to 16 entries
// are summed by an unrolled loop for their length, as long as rows of that length follow each other; longer
// rows by eight partial sums; rows of more than 8,192 entries in segments, by several threads.
// Good: any matrix; needs no conversion.
// Bad: short rows of changing length (mispredicted branches).
// Traffic: 12 bytes per entry and 8 per row in double, plus the gather of x.
// Source: Nickolls et al. 2008, the serial loop; the chunks are ours.
#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/csr_balanced.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/cpu/row_functions_internal.hpp>
#include <nonzero/cpu/simd_internal.hpp>
#include <nonzero/formats/csr.hpp>

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

/// Sums of rows of Length entries from row i on; returns the first row that is longer or shorter.
template <int Length, class A, class V>
HWY_INLINE index sum_equal_rows(const offset* row_begin, const index* col, const A* val, index i, index rows,
                                const V* x, V* sums) {
  offset k = row_begin[i];
  do {
    V sum = 0;
    for (int e = 0; e < Length; ++e) sum += static_cast<V>(val[k + e]) * x[col[k + e]];
    sums[i] = sum;
    k += Length;
    ++i;
  } while (i < rows && row_begin[i + 1] - k == Length);
  return i;
}

/// Eight partial sums, so that additions do not wait.
template <class A, class V> V find_sum(const index* col, const A* val, offset entries, const V* x) {
  eight_sums<V> sums;
  offset k = 0;
  for (; k + rows_at_once <= entries; k += rows_at_once) sums.add(val + k, eight_columns<index>(col + k), x);
  V rest = 0;
  for (; k < entries; ++k) rest += static_cast<V>(val[k]) * x[col[k]];
  return sums.total() + rest;
}

template <class A, class V>
void find_sums(const offset* row_begin, const index* col, const A* val, index rows, const V* x, V* sums) {
  for (index i = 0; i < rows;) {
    const offset begin = row_begin[i], length = row_begin[i + 1] - begin;
    switch (length) {
      case 0:
        sums[i++] = 0;
        break;
#define NONZERO_EQUAL_ROWS(L)                                     \
  case L:                                                         \
    i = sum_equal_rows<L>(row_begin, col, val, i, rows, x, sums); \
    break;
        NONZERO_EQUAL_ROWS(1)
        NONZERO_EQUAL_ROWS(2)
        NONZERO_EQUAL_ROWS(3)
        NONZERO_EQUAL_ROWS(4)
        NONZERO_EQUAL_ROWS(5)
        NONZERO_EQUAL_ROWS(6)
        NONZERO_EQUAL_ROWS(7)
        NONZERO_EQUAL_ROWS(8)
        NONZERO_EQUAL_ROWS(9)
        NONZERO_EQUAL_ROWS(10)
        NONZERO_EQUAL_ROWS(11)
        NONZERO_EQUAL_ROWS(12)
        NONZERO_EQUAL_ROWS(13)
        NONZERO_EQUAL_ROWS(14)
        NONZERO_EQUAL_ROWS(15)
        NONZERO_EQUAL_ROWS(16)
#undef NONZERO_EQUAL_ROWS
      default:
        sums[i++] = find_sum(col + begin, val + begin, length, x);
    }
  }
}

NONZERO_ADD_FUNCTIONS(csr_functions, find_sums, find_sum);

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nz::cpu {
namespace {

template <class A, class V> class csr_balanced final : public chunked_matrix<V> {
 public:
  csr_balanced(csr_view<A> a, const prepare_options& options)
      : chunked_matrix<V>(a.rows, a.cols, split_into_chunks(a.row_begin)),
        functions_(compiled_functions<csr_functions<A, V>>::find(options.simd)),
        copy_(options.may_borrow ? nullptr : std::make_unique<csr<A>>(copy_of(a))),
        a_(copy_ ? csr_view<A>(*copy_) : a) {}
  footprint storage() const override { return footprint_of(a_); }

 private:
  void find_sums(index chunk, const V* x, V* sums) const override {
    const index first = this->chunks().first_row[chunk], last = this->chunks().first_row[chunk + 1];
    functions_.find_sums(a_.row_begin.data() + first, a_.col.data(), a_.val.data(), last - first, x, sums);
  }
  V find_segment_sum(const chunking::segment& segment, const V* x) const override {
    return functions_.sum(a_, segment, x);
  }

  csr_functions<A, V> functions_;
  std::unique_ptr<const csr<A>> copy_;  // null if the matrix is borrowed
  csr_view<A> a_;
};

}  // namespace

kernel_row csr_balanced_row() {
  return row_with<[]<class A, class V>(csr_view<A> a, const prepare_options& options) {
    return std::make_unique<csr_balanced<A, V>>(a, options);
  }>({.name = "csr_balanced",
      .format = "csr",
      .summary =
          "chunks of about equal cost (entries, plus four per row); short rows by loops for their length",
      .is_candidate = true});
}

}  // namespace nz::cpu
#endif
