#pragma once

#include <nonzero/core/types.hpp>

namespace nz::cpu {

/// What csr_balanced.cpp compiles for each instruction set, for all formats that keep a row's entries
/// together. A: what values are held in, V: what they are multiplied and added in.
template <class A, class V> struct csr_functions {
  void (*find_sums)(const offset* row_begin, const index* col, const A* val, index rows, const V* x, V* sums);
  V (*find_sum)(const index* col, const A* val, offset entries, const V* x);
};

}  // namespace nz::cpu
