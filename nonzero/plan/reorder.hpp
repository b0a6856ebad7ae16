#pragma once

#include <span>

#include <nonzero/formats/csr.hpp>

// New numbers for the rows and columns of a square matrix, so that what rows close to each other gather from
// x lies close together too. An order lists the old numbers: order[new] = old. All of it is the same bit by
// bit for any number of threads.
namespace nz {

/// An order of small bandwidth, by reverse Cuthill–McKee: breadth first from a node far out, at each node its
/// neighbours by rising degree, all of it read backwards. Where the pattern of `a` is not symmetric, that of
/// A + A^T is walked, which takes the memory of twice the columns of `a`. Connected parts follow each other.
/// Throws `shape_error` unless `a` is square.
template <class V> array<index> reverse_cuthill_mckee(csr_view<V> a);
template <class V> array<index> reverse_cuthill_mckee(const csr<V>& a) {
  return reverse_cuthill_mckee(csr_view<V>(a));
}

/// Where each old number went: position[order[i]] = i. Throws `shape_error` unless `order` holds each of
/// 0 … its length - 1 once.
array<index> invert_order(std::span<const index> order);

/// Row and column i of the result are row and column order[i] of `a`: P A P^T. Rows are sorted by column, and
/// entries of the same column keep their order. Throws `shape_error` unless `a` is square and `order` an
/// order of its rows.
template <class V> csr<V> permute_symmetric(csr_view<V> a, std::span<const index> order);
template <class V> csr<V> permute_symmetric(const csr<V>& a, std::span<const index> order) {
  return permute_symmetric(csr_view<V>(a), order);
}

}  // namespace nz
