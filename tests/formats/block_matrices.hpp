#pragma once

#include "tests/battery/battery.hpp"

struct block_matrix_options {
  nz::index size = 3, block_rows = 100, per_row = 5;
  nz::index more_rows = 0, more_cols = 0;  // past the last whole block, with an entry here and there
  nz::index one_in_is_broken = 0;          // of so many blocks one misses an entry; 0: none
  nz::index loose_entries = 0;             // per row, between the blocks
  bool is_disordered = false;              // some rows are unsorted, some repeat a column
};

/// Random full blocks and what else the options say; the same matrix every time.
template <class V> nz::csr<V> block_matrix(const block_matrix_options& options);

/// One of each kind, under names.
template <class V> std::vector<battery::named_matrix<V>> block_matrices();
