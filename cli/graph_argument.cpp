#include "graph_argument.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include <nonzero/io/edge_list.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/read.hpp>

#include "failures.hpp"
#include "matrix_argument.hpp"
#include "vector_file.hpp"

namespace nz::cli {
namespace {

bool is_stdin(const std::string& name) { return name == "-"; }

/// One name on each line.
std::vector<std::string> read_names(const std::string& file) {
  const std::string text = read_text(input_path(file));
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    out.push_back(std::move(line));
    at = end + 1;
  }
  return out;
}

/// Pages by their names, or by their numbers where they have none.
template <class V> class page_finder {
 public:
  explicit page_finder(const loaded_graph<V>& graph) : pages_(graph.links.rows) {
    for (std::size_t i = 0; i < graph.names.size(); ++i) by_name_.try_emplace(graph.names[i], i);
  }
  std::size_t find(const std::string& name, const std::string& file) const {
    if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
    if (!by_name_.empty()) throw parse_error(fmt::format("{}: the graph has no page '{}'", file, name));
    index page = -1;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), page);
    if (problem != std::errc{} || end != name.data() + name.size() || page < 0 || page >= pages_)
      throw parse_error(fmt::format("{}: the graph has no page '{}': its pages are 0 to {}, or give --names",
                                    file, name, pages_ - 1));
    return static_cast<std::size_t>(page);
  }

 private:
  index pages_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

template <class V>
std::vector<double> weights_by_name(const std::string& file, const loaded_graph<V>& graph) {
  const page_finder<V> pages(graph);
  std::vector<double> out(static_cast<std::size_t>(graph.links.rows), 0.0);
  for (const named_weight& line : parse_named_weights(read_text(file), file))
    out[pages.find(line.name, file)] += line.weight;
  return out;
}

template <class V>
std::vector<double> read_page_weights(const std::string& name, const loaded_graph<V>& graph) {
  const std::string path = input_path(name);
  if (is_npz(path)) return vector_of(read_npz<double>(path), name);
  return is_edge_list(path) ? weights_by_name(name, graph) : read_vector<double>(path);
}

template <class V> bool is_weight(V value) { return std::isfinite(value) && value >= 0; }

}  // namespace

void graph_argument::add_to(CLI::App& command) {
  command
      .add_option(
          "GRAPH", name,
          "A matrix (entry (a, b): a links to b) or an edge list (lines of two names); - for standard "
          "input")
      ->required()
      ->option_text(" ");
  command.add_flag("--edges", is_edges, "GRAPH is an edge list: needed on standard input only");
  command.add_option("--names", names, "The pages' names, one on each line")->type_name("FILE");
  add_precision_option(command, precision);
}

template <class V> std::string loaded_graph<V>::name_of(index page) const {
  return names.empty() ? fmt::format("{}", page) : names[static_cast<std::size_t>(page)];
}

template <class V> loaded_graph<V> load_graph(const graph_argument& argument) {
  loaded_graph<V> out;
  const std::string path = input_path(argument.name);
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(path, ignored);
  if (argument.is_edges || (is_file && !is_stdin(argument.name) && is_edge_list(path))) {
    auto [links, names] = read_edge_list<V>(path);
    out = {std::move(links), std::move(names)};
  } else {
    out.links = load<V>(argument.name).matrix;
  }
  if (out.links.rows != out.links.cols)
    throw shape_error(fmt::format("{}: a graph has as many rows as columns, and this matrix is {} × {}",
                                  argument.name, out.links.rows, out.links.cols));
  if (argument.names.empty()) return out;
  out.names = read_names(argument.names);
  if (out.names.size() != static_cast<std::size_t>(out.links.rows))
    throw shape_error(fmt::format("{}: there must be a name for each of the {} pages, and there are {}",
                                  argument.names, out.links.rows, out.names.size()));
  return out;
}

template <class V> void require_link_weights(const loaded_graph<V>& graph, const std::string& file) {
  const std::string_view counted = graph.names.empty() ? " (pages count from 0)" : "";
  for (index i = 0; i < graph.links.rows; ++i) {
    double sum = 0;
    for (offset k = graph.links.row_begin[i]; k < graph.links.row_begin[i + 1]; ++k) {
      const V weight = graph.links.val[k];
      if (!is_weight(weight))
        throw unsupported(
            fmt::format("{}: the link from page {} to page {}{} has the weight {}: weights must be finite "
                        "and not negative",
                        file, graph.name_of(i), graph.name_of(graph.links.col[k]), counted, weight));
      sum += static_cast<double>(weight);
    }
    const V share = static_cast<V>(1 / sum);
    if (sum != 0 && !(std::isfinite(share) && share > 0))
      throw unsupported(
          fmt::format("{}: the weights of page {}{} add up to {}: too much or too little to share rank by",
                      file, graph.name_of(i), counted, sum));
  }
}

template <class V>
std::vector<double> load_page_weights(const std::string& name, const loaded_graph<V>& graph) {
  std::vector<double> out = read_page_weights(name, graph);
  if (out.size() != static_cast<std::size_t>(graph.links.rows))
    throw shape_error(fmt::format("{}: there must be a weight for each of the {} pages, and there are {}",
                                  name, graph.links.rows, out.size()));
  const auto bad = std::find_if_not(out.begin(), out.end(), is_weight<double>);
  if (bad != out.end())
    throw unsupported(fmt::format("{}: page {} has the weight {}: weights must be finite and not negative",
                                  name, graph.name_of(static_cast<index>(bad - out.begin())), *bad));
  if (!out.empty() && std::all_of(out.begin(), out.end(), [](double weight) { return weight == 0; }))
    throw unsupported(fmt::format("{}: no page has a weight above 0", name));
  return out;
}

template struct loaded_graph<float>;
template struct loaded_graph<double>;
template loaded_graph<float> load_graph(const graph_argument&);
template loaded_graph<double> load_graph(const graph_argument&);
template void require_link_weights(const loaded_graph<float>&, const std::string&);
template void require_link_weights(const loaded_graph<double>&, const std::string&);
template std::vector<double> load_page_weights(const std::string&, const loaded_graph<float>&);
template std::vector<double> load_page_weights(const std::string&, const loaded_graph<double>&);

}  // namespace nz::cli
