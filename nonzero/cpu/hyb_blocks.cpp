// ell_blocks over the first entries of a chunk's rows, then coo_runs over the rest while the sums are in L1.
// Good: rows of about equal length, and a few much longer.
// Bad: rows of many lengths (padding in ELL, 16 bytes per entry in COO).
// Traffic: that of ell for the regular entries, 16 bytes per entry in double for the rest.
#include <algorithm>

#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/cpu/row_functions_internal.hpp>
#include <nonzero/cpu/targets_internal.hpp>
#include <nonzero/formats/hyb.hpp>

namespace nz::cpu {
namespace {

template <class A, class V> class hyb_blocks final : public chunked_matrix<V> {
 public:
  hyb_blocks(csr_view<A> a, const prepare_options& options)
      : chunked_matrix<V>(a.rows, a.cols, with_segments_in_rows(split_into_chunks(a.row_begin), a.row_begin)),
        blocks_(compiled_functions<ell_functions<A, V>>::find(options.simd)),
        runs_(compiled_functions<coo_functions<A, V>>::find(options.simd)),
        rows_(compiled_functions<csr_functions<A, V>>::find(options.simd)),
        a_(to_hyb(a, -1, options.budget)),
        rest_begin_(entries_before_chunks(a_.rest.row, this->chunks())) {}
  footprint storage() const override { return footprint_of(a_); }

 private:
  void find_sums(index chunk, const V* x, V* sums) const override {
    const index first = this->chunks().first_row[chunk], last = this->chunks().first_row[chunk + 1];
    const ell<A>& regular = a_.regular;
    blocks_.find_sums(regular.col.data(), regular.val.data(), regular.rows, regular.width, first,
                      last - first, x, sums);
    const offset begin = rest_begin_[chunk];
    runs_.add_sums(a_.rest.row.data() + begin, a_.rest.col.data() + begin, a_.rest.val.data() + begin,
                   rest_begin_[chunk + 1] - begin, first, x, sums);
  }

  V find_segment_sum(const chunking::segment& segment, const V* x) const override {
    const offset width = a_.regular.width;
    V sum = find_ell_sum(a_.regular, segment.row, segment.begin, std::min(segment.end, width), x);
    if (segment.end > width) {
      const auto& rows = a_.rest.row;
      const offset rest = std::lower_bound(rows.begin(), rows.end(), segment.row) - rows.begin();
      const offset begin = rest + std::max(segment.begin, width) - width, end = rest + segment.end - width;
      sum += rows_.sum(a_.rest, {segment.row, begin, end}, x);
    }
    return sum;
  }

  ell_functions<A, V> blocks_;
  coo_functions<A, V> runs_;
  csr_functions<A, V> rows_;  // for the segments of long rows
  hyb<A> a_;
  array<offset> rest_begin_;  // chunks+1 long: entries of the rest before each
};

}  // namespace

kernel_row hyb_blocks_row() {
  return row_with<[]<class A, class V>(csr_view<A> a, const prepare_options& options) {
    return std::make_unique<hyb_blocks<A, V>>(a, options);
  }>({.name = "hyb_blocks", .format = "hyb", .summary = "ell_blocks, then coo_runs, chunk by chunk"});
}

}  // namespace nz::cpu
