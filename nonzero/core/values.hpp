#pragma once

// The value types of matrices and vectors. Every explicit instantiation goes through one of these lists, so
// that a new value type is one line here and whatever is truly different about it.

/// M(V) for each type of x, y and the sums.
#define NONZERO_FOR_EACH_VALUE(M) \
  M(float)                        \
  M(double)

/// M(A, V) for each pair of two types: matrix values are held in A; x, y and the sums are in V.
#define NONZERO_FOR_EACH_MIXED(M) M(float, double)

/// M(A, V) for each pair, equal ones included.
#define NONZERO_FOR_EACH_STORAGE(M) \
  M(float, float)                   \
  M(double, double)                 \
  NONZERO_FOR_EACH_MIXED(M)
