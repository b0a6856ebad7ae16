#pragma once

#include <memory>

#include <nonzero/formats/kernel_row.hpp>

// The kernels of this folder, one per source of that name. A: what values are held in, V: what x, y and the
// sums are.
namespace nz::cpu {

template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_bsr_rows(const csr<A>&, const prepare_options&);
template <class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_csr_balanced(const csr<A>&, const prepare_options&);

}  // namespace nz::cpu
