#pragma once

#include <functional>
#include <vector>

#include "tests/battery/battery.hpp"

/// Row i has the columns i + diagonals[k] that are in the matrix, in that order, with value(i, k).
template <class V>
nz::csr<V> band(nz::index rows, nz::index cols, const std::vector<nz::index>& diagonals,
                const std::function<V(nz::index row, nz::index k)>& value);

/// The same matrix with its rows `which` replaced by `columns`, all 0.5.
template <class V>
nz::csr<V> with_strangers(const nz::csr<V>& a, const std::vector<nz::index>& which,
                          const std::vector<nz::index>& columns);

/// The same matrix without its entries in every thirteenth column, from the sixth on.
template <class V> nz::csr<V> with_holes(const nz::csr<V>& a);

/// Matrices at the edges of what packing looks for: runs, their ends and strangers in them, and the kinds of
/// columns and values.
template <class V> std::vector<battery::named_matrix<V>> packing_matrices();
