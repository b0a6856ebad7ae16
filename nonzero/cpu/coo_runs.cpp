// The entries of a row are consecutive: each run is summed in a register and added to its row's sum once.
// Chunks begin at rows, so threads share nothing.
// Good: matrices of mostly empty rows: an empty row costs one written zero.
// Bad: short rows (each run ends in a branch that is hard to predict); all other matrices, for which
// csr_balanced reads less.
// Traffic: 16 bytes per entry in double, plus the gather of x.
#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/coo_runs.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/cpu/row_functions_internal.hpp>
#include <nonzero/formats/coo.hpp>

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

template <class A, class V>
void add_sums(const index* row, const index* col, const A* val, offset entries, index first_row, const V* x,
              V* sums) {
  for (offset k = 0; k < entries;) {
    const index i = row[k];
    V sum = 0;
    for (; k < entries && row[k] == i; ++k) sum += static_cast<V>(val[k]) * x[col[k]];
    sums[i - first_row] += sum;
  }
}

NONZERO_ADD_FUNCTIONS(coo_functions, add_sums);

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nz::cpu {
namespace {

template <class A, class V> class coo_runs final : public chunked_matrix<V> {
 public:
  coo_runs(csr_view<A> a, std::string_view simd)
      : chunked_matrix<V>(a.rows, a.cols, split_into_chunks(a.row_begin)),
        runs_(compiled_functions<coo_functions<A, V>>::find(simd)),
        rows_(compiled_functions<csr_functions<A, V>>::find(simd)),
        a_(to_coo(a)),
        chunk_begin_(entries_before_chunks(a_.row, this->chunks())) {}
  footprint storage() const override { return footprint_of(a_); }

 private:
  void find_sums(index chunk, const V* x, V* sums) const override {
    const index first = this->chunks().first_row[chunk];
    const offset begin = chunk_begin_[chunk];
    std::fill_n(sums, this->chunks().first_row[chunk + 1] - first, V{0});
    runs_.add_sums(a_.row.data() + begin, a_.col.data() + begin, a_.val.data() + begin,
                   chunk_begin_[chunk + 1] - begin, first, x, sums);
  }
  V find_segment_sum(const chunking::segment& segment, const V* x) const override {
    return rows_.sum(a_, segment, x);
  }

  coo_functions<A, V> runs_;
  csr_functions<A, V> rows_;  // for the segments of long rows
  coo<A> a_;
  array<offset> chunk_begin_;  // chunks+1 long
};

}  // namespace

kernel_row coo_runs_row() {
  return row_with<[]<class A, class V>(csr_view<A> a, const prepare_options& options) {
    return std::make_unique<coo_runs<A, V>>(a, options.simd);
  }>({.name = "coo_runs", .format = "coo", .summary = "each run of entries of one row summed at once"});
}

}  // namespace nz::cpu
#endif
