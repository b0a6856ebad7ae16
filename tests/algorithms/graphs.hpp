#pragma once

#include <algorithm>
#include <numeric>
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

/// The links of a page stay in the order given.
template <class V> csr<V> graph_of(index pages, std::vector<link> links) {
  std::stable_sort(links.begin(), links.end(), [](const link& a, const link& b) { return a.from < b.from; });
  csr<V> out{pages, pages, nz::array<offset>(static_cast<std::size_t>(pages) + 1, 0), {}, {}};
  for (const link& l : links) {
    ++out.row_begin[l.from + 1];
    out.col.push_back(l.to);
    out.val.push_back(static_cast<V>(l.weight));
  }
  std::partial_sum(out.row_begin.begin(), out.row_begin.end(), out.row_begin.begin());
  return out;
}

/// The graph of the lecture that this PageRank is from.
template <class V> csr<V> lecture_graph() {
  return graph_of<V>(
      9, {{4, 0}, {6, 1}, {7, 2}, {1, 3}, {0, 4}, {1, 4}, {2, 4}, {3, 4}, {6, 5}, {1, 6}, {5, 7}, {8, 7}});
}

}  // namespace graphs
