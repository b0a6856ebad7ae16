#pragma once

#include <vector>

#include <nonzero/formats/csr.hpp>

// Graphs for the tests of PageRank.
namespace graphs {

using nz::csr;
using nz::index;
using nz::offset;

struct link {
  index from, to;
  double weight = 1;
};

template <class V> csr<V> graph_of(index pages, const std::vector<link>& links) {
  csr<V> out{pages, pages, {0}, {}, {}};
  for (index i = 0; i < pages; ++i) {
    for (const link& l : links)
      if (l.from == i) {
        out.col.push_back(l.to);
        out.val.push_back(static_cast<V>(l.weight));
      }
    out.row_begin.push_back(static_cast<offset>(out.col.size()));
  }
  return out;
}

/// The graph of the lecture that this PageRank is from.
template <class V> csr<V> lecture_graph() {
  return graph_of<V>(
      9, {{4, 0}, {6, 1}, {7, 2}, {1, 3}, {0, 4}, {1, 4}, {2, 4}, {3, 4}, {6, 5}, {1, 6}, {5, 7}, {8, 7}});
}

}  // namespace graphs
