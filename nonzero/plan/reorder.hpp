#pragma once

#include <memory>
#include <span>

#include <nonzero/formats/csr.hpp>
#include <nonzero/kernel/prepared_matrix.hpp>

// Renumbers the rows and columns of a square matrix, so that rows close to each other gather elements of x
// that are close together. An order lists the old numbers: order[new] = old. Results have the same bits for
// any number of threads. Low level: matrices are trusted to be valid.
namespace nz {

/// An order of small bandwidth, by reverse Cuthill–McKee: breadth first from a peripheral node, at each node
/// its neighbours by rising degree, then reversed. Where the pattern of `a` is not symmetric, that of A + A^T
/// is used, which takes the memory of twice the columns of `a`. Connected components follow each other.
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

/// The matrix A made of `inner`, which is P A P^T (permute_symmetric) prepared for a kernel of the host. A
/// multiply permutes x, multiplies, and permutes the result into y: two passes over the vectors. Keeps the
/// order and two vectors beside `inner`, which storage() counts. Throws `shape_error` unless `inner` is
/// square and order[new] = old an order of its rows, `device_error` where it is on a GPU.
template <class V>
std::unique_ptr<prepared_matrix<V>> make_reordered(std::unique_ptr<prepared_matrix<V>> inner,
                                                   std::span<const index> order);

}  // namespace nz
