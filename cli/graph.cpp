#include "graph.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include <nonzero/core/values.hpp>
#include <nonzero/io/edge_list.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/output_file.hpp>
#include <nonzero/io/read.hpp>

#include "matrices.hpp"
#include "output.hpp"

namespace nz::cli {
namespace {

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

template <class V>
std::vector<double> weights_by_name(const std::string& file, const loaded_graph<V>& graph) {
  const index pages = graph.links.rows;
  std::vector<double> out(static_cast<std::size_t>(pages), 0.0);
  std::unordered_map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < graph.names.size(); ++i) by_name.try_emplace(graph.names[i], i);
  for (const auto& [name, weight] : parse_named_weights(read_text(file), file)) {
    index page = -1;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), page);
    const bool is_number = problem == std::errc{} && end == name.data() + name.size();
    if (const auto found = by_name.find(name); found != by_name.end())
      out[found->second] += weight;
    else if (!by_name.empty())
      throw parse_error(fmt::format("{}: the graph has no page '{}'", file, name));
    else if (is_number && page >= 0 && page < pages)
      out[static_cast<std::size_t>(page)] += weight;
    else
      throw parse_error(fmt::format("{}: the graph has no page '{}': its pages are 0 to {}, or give --names",
                                    file, name, pages - 1));
  }
  return out;
}

template <class V>
std::vector<double> read_page_weights(const std::string& name, const loaded_graph<V>& graph) {
  const std::string path = input_path(name);
  if (is_npz(path)) return vector_of(read_npz<double>(path), name);
  return is_edge_list(path) ? weights_by_name(name, graph) : read_vector<double>(path);
}

template <class V> bool is_weight(V value) { return std::isfinite(value) && value >= 0; }

bool is_table(const std::string& name) { return has_extension(name, ".txt") || has_extension(name, ".tsv"); }

}  // namespace

void graph_argument::add_to(command& c) {
  c.argument("GRAPH", name,
             "A matrix (entry (a, b): a links to b), an edge list (lines of two names), or - (stdin)");
  c.flag("--edges", is_edges, "GRAPH is an edge list (needed only on standard input)");
  c.file("--names", names, "File with the names of the pages, one on each line");
  c.precision(precision);
}

template <class V> std::string loaded_graph<V>::name_of(index page) const {
  return names.empty() ? fmt::format("{}", page) : names[static_cast<std::size_t>(page)];
}

template <class V> loaded_graph<V> load_graph(const graph_argument& argument) {
  loaded_graph<V> out;
  const std::string path = input_path(argument.name);
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(path, ignored);
  if (argument.is_edges || (is_file && argument.name != "-" && is_edge_list(path))) {
    auto [links, names] = read_edge_list<V>(path);
    out = {std::move(links), std::move(names)};
  } else {
    out.links = load<V>(argument.name).matrix;
  }
  if (out.links.rows != out.links.cols)
    throw shape_error(fmt::format("{}: the matrix of a graph is square, but this one is {} × {}",
                                  argument.name, out.links.rows, out.links.cols));
  if (argument.names.empty()) return out;
  out.names = read_names(argument.names);
  if (out.names.size() != static_cast<std::size_t>(out.links.rows))
    throw shape_error(fmt::format("{}: there must be a name for each of the {} pages, but there are {}",
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
    const V part = static_cast<V>(1 / sum);
    if (sum != 0 && !(std::isfinite(part) && part > 0))
      throw unsupported(fmt::format(
          "{}: the weights of page {}{} add up to {}, which is too large or too small to divide by", file,
          graph.name_of(i), counted, sum));
  }
}

template <class V>
std::vector<double> load_page_weights(const std::string& name, const loaded_graph<V>& graph) {
  std::vector<double> out = read_page_weights(name, graph);
  if (out.size() != static_cast<std::size_t>(graph.links.rows))
    throw shape_error(fmt::format("{}: there must be a weight for each of the {} pages, but there are {}",
                                  name, graph.links.rows, out.size()));
  const auto bad = std::find_if_not(out.begin(), out.end(), is_weight<double>);
  if (bad != out.end())
    throw unsupported(fmt::format("{}: page {} has the weight {}: weights must be finite and not negative",
                                  name, graph.name_of(static_cast<index>(bad - out.begin())), *bad));
  if (!out.empty() && std::all_of(out.begin(), out.end(), [](double weight) { return weight == 0; }))
    throw unsupported(fmt::format("{}: no page has a weight above 0", name));
  return out;
}

template <class V> std::vector<ranked_page> top_pages(const std::vector<V>& rank, std::int64_t count) {
  std::vector<index> order(rank.size());
  std::iota(order.begin(), order.end(), 0);
  const auto shown = std::min(static_cast<std::size_t>(count), order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(), [&](index a, index b) {
        const V of_a = rank[static_cast<std::size_t>(a)], of_b = rank[static_cast<std::size_t>(b)];
        return of_a != of_b ? of_a > of_b : a < b;
      });
  std::vector<ranked_page> out;
  for (std::size_t i = 0; i < shown; ++i)
    out.push_back({order[i], static_cast<double>(rank[static_cast<std::size_t>(order[i])])});
  return out;
}

void require_rank_name(const std::string& name) {
  require_extension(name, "a rank", {".mtx", ".npz", ".txt", ".tsv"});
}

template <class V>
void write_ranks(const std::string& name, const loaded_graph<V>& graph, const std::vector<V>& rank) {
  if (!is_table(name)) return write_vector_file<V>(name, rank);
  std::string lines;
  for (const auto& [page, of_page] : top_pages(rank, static_cast<std::int64_t>(rank.size())))
    fmt::format_to(std::back_inserter(lines), "{}\t{}\n", graph.name_of(page), static_cast<V>(of_page));
  output_file file(name);
  file.write(lines.data(), lines.size());
  file.commit();
}

#define NZ_INSTANTIATE(V)                                                                     \
  template struct loaded_graph<V>;                                                            \
  template loaded_graph<V> load_graph(const graph_argument&);                                 \
  template void require_link_weights(const loaded_graph<V>&, const std::string&);             \
  template std::vector<double> load_page_weights(const std::string&, const loaded_graph<V>&); \
  template std::vector<ranked_page> top_pages(const std::vector<V>&, std::int64_t);           \
  template void write_ranks(const std::string&, const loaded_graph<V>&, const std::vector<V>&);
NONZERO_FOR_EACH_VALUE(NZ_INSTANTIATE)

}  // namespace nz::cli
