#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <nonzero/formats/csr.hpp>

namespace nz::cli {

/// Which graph a command works on, as its command line says it.
struct graph_argument {
  std::string name;                  // a matrix as elsewhere, or an edge list
  std::string names;                 // a file of the pages' names; empty: none given
  std::string precision = "double";  // or "float"
  bool is_edges = false;             // an edge list, whatever it looks like

  /// Adds GRAPH, --edges, --names and --precision to a command.
  void add_to(CLI::App& command);
};

template <class V> struct loaded_graph {
  csr<V> links;                    // square
  std::vector<std::string> names;  // of the pages, or empty

  /// A page's name, or its number.
  std::string name_of(index page) const;
};

/// Throws `shape_error` where it is no graph or the names do not fit; otherwise as `load`.
template <class V> loaded_graph<V> load_graph(const graph_argument& argument);

/// Throws `unsupported`, naming the file and the pages, where links cannot count by their values: one that is
/// negative or not finite, or ones that add up to too much or too little.
template <class V> void require_link_weights(const loaded_graph<V>& graph, const std::string& file);

/// A weight for each page from a file: a vector (.mtx, or .npz of one row or column), or lines of a page's
/// name or number and a weight. Throws `shape_error` where it does not fit, `unsupported` where a weight is
/// negative or not finite, or all are 0.
template <class V>
std::vector<double> load_page_weights(const std::string& name, const loaded_graph<V>& graph);

}  // namespace nz::cli
