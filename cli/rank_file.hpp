#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph_argument.hpp"

namespace nz::cli {

struct ranked_page {
  index page;
  double rank;
};

/// The pages of highest rank, the highest first; of equal ones, the first first.
template <class V> std::vector<ranked_page> top_pages(const std::vector<V>& rank, std::int64_t count);

/// Throws `usage_error` unless ranks can be written so: as write_ranks says, or "-" for standard output. To
/// be called before any work is done; also finds out that there is no such folder.
void require_rank_name(const std::string& name);

/// .mtx: a vector; .npz: a matrix of one column, which is what an .npz of SciPy's sparse matrices can hold;
/// .txt and .tsv: lines of a page's name (its number where it has none), a tab and its rank, the highest
/// first.
template <class V>
void write_ranks(const std::string& name, const loaded_graph<V>& graph, const std::vector<V>& rank);

}  // namespace nz::cli
