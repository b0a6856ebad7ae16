// csr_balanced over the rows sorted by length: long runs of rows that one loop without branches suits.
// Good: many short rows of a few lengths in any order.  Bad: rows that shared parts of x are no longer
// neighbours, and y is written out of order.
// Traffic: csr_balanced's, plus 4 bytes per row for the permutation.
#include <nonzero/cpu/chunked_matrix.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/cpu/row_functions_internal.hpp>
#include <nonzero/cpu/targets_internal.hpp>
#include <nonzero/formats/jds.hpp>

namespace nz::cpu {
namespace {

/// The rows in the order in which they are kept. a.row is not needed.
template <class A, class V> class jds_places final : public chunked_matrix<V> {
 public:
  jds_places(jds<A> a, std::string_view simd)
      : chunked_matrix<V>(a.rows, a.cols, cut_into_chunks(a.row_begin)),
        functions_(compiled_functions<csr_functions<A, V>>::find(simd)),
        a_(std::move(a)) {}
  footprint storage() const override { return footprint_of(a_); }

 private:
  void find_sums(index chunk, const V* x, V* sums) const override {
    const index first = this->cut().first_row[chunk], last = this->cut().first_row[chunk + 1];
    functions_.find_sums(a_.row_begin.data() + first, a_.col.data(), a_.val.data(), last - first, x, sums);
  }
  V find_segment_sum(const chunking::segment& segment, const V* x) const override {
    return functions_.find_sum(a_.col.data() + segment.begin, a_.val.data() + segment.begin,
                               segment.end - segment.begin, x);
  }

  csr_functions<A, V> functions_;
  jds<A> a_;
};

}  // namespace

kernel_row jds_balanced_row() {
  return row_with<[]<class A, class V>(csr_view<A> a, const prepare_options& options) {
    jds<A> sorted = to_jds(a);
    array<index> row = std::move(sorted.row);
    auto places = std::make_unique<jds_places<A, V>>(std::move(sorted), options.simd);
    return std::make_unique<permuted_matrix<V>>(std::move(places), std::move(row));
  }>({.name = "jds_balanced", .format = "jds", .summary = "csr_balanced over the rows sorted by length"});
}

}  // namespace nz::cpu
