#pragma once

#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz {

/// A graph as PageRank walks it: along the links that lead to a page.
template <class V> struct link_matrix {
  csr<V> to;                // entry (b, a): a links to b; all ones, or the weight
  std::vector<V> per_link;  // of each page, 1 / the weight of its links; 0 for sinks
  index sinks = 0;
};

/// Throws `shape_error` unless `links` is square, `unsupported` for weights that are negative, not finite, or
/// that add up to what V cannot divide by.
template <class V> link_matrix<V> make_link_matrix(const csr<V>& links, bool is_weighted);

}  // namespace nz
