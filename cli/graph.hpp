#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nonzero/formats/csr.hpp>

#include "options.hpp"

// The graphs that nz pagerank reads, and the ranks that it writes.
namespace nz::cli {

/// The graph that a command works on, as the command line names it.
struct graph_argument {
  std::string name;                  // a matrix, or an edge list
  std::string names;                 // a file with the names of the pages; empty: none
  std::string precision = "double";  // or "float"
  bool is_edges = false;             // an edge list, without looking at the file

  /// Adds GRAPH, --edges, --names and --precision to a command.
  void add_to(command& c);
};

template <class V> struct loaded_graph {
  csr<V> links;                    // square
  std::vector<std::string> names;  // of the pages, or empty

  /// The name of a page, or its number.
  std::string name_of(index page) const;
};

/// Throws `shape_error` where the matrix is not square or the names do not fit; otherwise as `load`.
template <class V> loaded_graph<V> load_graph(const graph_argument& argument);

/// Throws `unsupported`, naming the file and the pages, where the values cannot be weights of links: one is
/// negative or not finite, or the sum of a page is too large or too small.
template <class V> void require_link_weights(const loaded_graph<V>& graph, const std::string& file);

/// Reads a weight for each page: a vector (.mtx, or .npz of one row or column), or lines with the name or
/// number of a page and a weight. Throws `shape_error` where it does not fit, `unsupported` where a weight is
/// negative or not finite, or all are 0.
template <class V>
std::vector<double> load_page_weights(const std::string& name, const loaded_graph<V>& graph);

struct ranked_page {
  index page;
  double rank;
};

/// The pages of highest rank, the highest first; pages of equal rank in their order.
template <class V> std::vector<ranked_page> top_pages(const std::vector<V>& rank, std::int64_t count);

/// Throws `usage_error` or `nz::error` where ranks cannot be written to that file. Call it before the work.
void require_rank_name(const std::string& name);

/// .mtx: a vector; .npz: a sparse matrix of one column; .txt and .tsv: lines with the name of a page (or its
/// number), a tab and its rank, the highest first. "-" is Matrix Market on standard output.
template <class V>
void write_ranks(const std::string& name, const loaded_graph<V>& graph, const std::vector<V>& rank);

}  // namespace nz::cli
