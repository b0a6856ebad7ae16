#pragma once

#include <memory>

#include <nonzero/kernel/kernel_row.hpp>

// The kernels of this folder, one per source of that name. A: what values are held in, V: what x, y and the
// sums are.
namespace nz::cpu {

template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_bsr_rows(const csr<A>&, const prepare_options&);
template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_csr_balanced(const csr<A>&, const prepare_options&);
template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_packed_slices(const csr<A>&, const prepare_options&);
template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_binned_one_pass(const csr<A>&, const prepare_options&);
template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_binned_two_pass(const csr<A>&, const prepare_options&);
template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_coo_runs(const csr<A>&, const prepare_options&);
template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_ell_blocks(const csr<A>&, const prepare_options&);
template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_hyb_blocks(const csr<A>&, const prepare_options&);
template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_jds_balanced(const csr<A>&, const prepare_options&);
template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_sbsr_chunks(const csr<A>&, const prepare_options&);
template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_sell_slices(const csr<A>&, const prepare_options&);
template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_tjds_blocks(const csr<A>&, const prepare_options&);

}  // namespace nz::cpu
