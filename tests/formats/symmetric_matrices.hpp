#pragma once

#include "tests/battery/battery.hpp"

/// A block row has blocks on the diagonal and at these distances left and right of it, where they are inside.
template <class V>
nz::csr<V> symmetric_block_matrix(nz::index size, nz::index block_rows,
                                  const std::vector<nz::index>& distances);

/// Matrices that sbsr takes, under names: of each block size, with one chunk, several and many.
template <class V> std::vector<battery::named_matrix<V>> symmetric_matrices();
