#pragma once

#include <memory>

#include <nonzero/kernel/kernel_row.hpp>

namespace nz::cpu {

// NAME_row() of each kernel, defined in NAME.cpp.
#define NONZERO_CPU_KERNEL(name) kernel_row name##_row();
#include <nonzero/cpu/kernels.def>
#undef NONZERO_CPU_KERNEL

/// A kernel's row with its prepare functions for all pairs of types. Prepare is a lambda
/// []<class A, class V>(csr_view<A>, const prepare_options&): values are held in A; x, y and the sums are in
/// V.
template <auto Prepare> kernel_row row_with(kernel_row row) {
#define NONZERO_PREPARE(A, V)                                                                    \
  static_cast<prepare_functions<A, V>&>(row.functions).host =                                    \
      [](csr_view<A> a, const prepare_options& options) -> std::unique_ptr<prepared_matrix<V>> { \
    device_for(device_kind::cpu, options, cpu_device); /* refuses another before it converts */  \
    return Prepare.template operator()<A, V>(a, options);                                        \
  };
  NONZERO_FOR_EACH_STORAGE(NONZERO_PREPARE)
#undef NONZERO_PREPARE
  return row;
}

}  // namespace nz::cpu
