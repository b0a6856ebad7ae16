// csr_balanced over the rows sorted by length: long runs of rows of equal length.
// Good: many short rows of a few lengths in any order.
// Bad: rows that read the same x are no longer neighbours, and y is written out of order.
// Traffic: that of csr_balanced, plus 4 bytes per row for the permutation.
#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/formats/jds.hpp>

namespace nz::cpu {

kernel_row jds_balanced_row() {
  return row_with<[]<class A, class V>(csr_view<A> a, const prepare_options& options) {
    jds<A> sorted = to_jds(a);
    auto places = std::make_shared<const csr<A>>(csr<A>{sorted.rows, sorted.cols, std::move(sorted.row_begin),
                                                        std::move(sorted.col), std::move(sorted.val)});
    auto prepared = csr_balanced_row().template prepare<V>(csr_view<A>(*places), options);
    prepared->keep(std::move(places));
    return std::make_unique<permuted_matrix<V>>(std::move(prepared), std::move(sorted.row));
  }>({.name = "jds_balanced", .format = "jds", .summary = "csr_balanced over the rows sorted by length"});
}

}  // namespace nz::cpu
