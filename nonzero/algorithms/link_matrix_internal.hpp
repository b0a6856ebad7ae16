#pragma once

#include <span>
#include <vector>

#include <nonzero/algorithms/page_order_internal.hpp>
#include <nonzero/formats/csr.hpp>

namespace nz {

/// A graph as PageRank walks it: along the links that lead to a page. Pages may have new numbers.
template <class V> struct link_matrix {
  csr<V> to;                // entry (b, a): a links to b; all ones, or the weight
  std::vector<V> per_link;  // of each page, 1 / the weight of its links; 0 for sinks
  index sinks = 0;
  array<index> order;  // of each page, its old number; empty: they are the same

  /// What is given for each page, by the old numbers, by the new ones, and back.
  template <class T> std::vector<T> renumbered(std::span<const T> old) const {
    std::vector<T> out(old.begin(), old.end());
    for (std::size_t i = 0; i < order.size(); ++i) out[i] = old[static_cast<std::size_t>(order[i])];
    return out;
  }
  template <class T> std::vector<T> numbered_back(std::span<const T> now) const {
    std::vector<T> out(now.begin(), now.end());
    for (std::size_t i = 0; i < order.size(); ++i) out[static_cast<std::size_t>(order[i])] = now[i];
    return out;
  }
};

/// Throws `shape_error` unless `links` is square, `unsupported` for weights that are negative, not finite, or
/// that add up to what V cannot divide by.
template <class V> link_matrix<V> make_link_matrix(const csr<V>& links, bool is_weighted, page_order numbers);

}  // namespace nz
