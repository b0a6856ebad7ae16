#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include <nonzero/algorithms/pagerank.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/io/edge_list.hpp>
#include <nonzero/io/output_file.hpp>
#include <nonzero/io/read.hpp>

#include "matrices.hpp"
#include "output.hpp"

namespace nz::cli {
namespace {

template <class V> struct loaded_graph {
  csr<V> links;                    // square
  std::vector<std::string> names;  // of the pages, or empty

  /// The name of a page, or its number.
  std::string name_of(std::size_t page) const { return names.empty() ? std::to_string(page) : names[page]; }
};

struct pagerank_command {
  std::string graph;                 // a matrix, or an edge list
  std::string names;                 // a file with the names of the pages; empty: none
  std::string precision = "double";  // or "float"
  bool is_edges = false;             // an edge list, without looking at the file
  pagerank_options rank;
  std::optional<double> tolerance;  // none: by the precision
  std::string sinks = "redistribute", method = "fused";
  std::string device;            // empty: chosen
  std::string personalize, out;  // files; empty: none
  std::size_t top = 10;
  bool as_json = false;
};

template <class V>
std::vector<double> weights_by_name(const std::string& file, const loaded_graph<V>& graph) {
  const index pages = graph.links.rows;
  std::vector<double> out(static_cast<std::size_t>(pages), 0.0);
  std::unordered_map<std::string, std::size_t> by_name;
  constexpr auto several = static_cast<std::size_t>(-1);
  for (std::size_t i = 0; i < graph.names.size(); ++i)
    if (const auto [at, is_new] = by_name.try_emplace(graph.names[i], i); !is_new) at->second = several;
  for (const auto& [name, weight] : parse_named_weights(read_text(file), file)) {
    const index page = parse_number<index>(name).value_or(-1);
    const auto found = by_name.find(name);
    if (found != by_name.end() && found->second == several)
      throw parse_error(fmt::format("{}: several pages are called '{}'", file, name));
    if (found != by_name.end())
      out[found->second] += weight;
    else if (!by_name.empty())
      throw parse_error(fmt::format("{}: the graph has no page '{}'", file, name));
    else if (page >= 0 && page < pages)
      out[static_cast<std::size_t>(page)] += weight;
    else
      throw parse_error(fmt::format("{}: the graph has no page '{}': its pages are 0 to {}, or give --names",
                                    file, name, pages - 1));
  }
  return out;
}

template <class V> bool is_weight(V value) { return std::isfinite(value) && value >= 0; }

/// Throws `shape_error` where the matrix is not square, or has another number of pages than of names.
template <class V> loaded_graph<V> load_graph(const pagerank_command& options) {
  loaded_graph<V> out;
  const std::string path = input_path(options.graph);
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(path, ignored);
  if (options.is_edges || (is_file && options.graph != "-" && is_edge_list(path))) {
    auto [links, names] = read_edge_list<V>(path);
    out = {std::move(links), std::move(names)};
  } else {
    out.links = load_matrix<V>(options.graph);
  }
  if (out.links.rows != out.links.cols)
    throw shape_error(fmt::format("{}: the matrix of a graph is square, but this one is {} × {}",
                                  options.graph, out.links.rows, out.links.cols));
  if (options.names.empty()) return out;
  out.names = parse_names(read_text(input_path(options.names)), options.names);
  if (out.names.size() != static_cast<std::size_t>(out.links.rows))
    throw shape_error(fmt::format("{}: there must be a name for each of the {}, but the file has {}",
                                  options.names, counted(out.links.rows, "page"), out.names.size()));
  return out;
}

/// Throws `unsupported` with the file and the pages where a weight is negative or not finite, or where the
/// sum of a page is too large or too small.
template <class V> void require_link_weights(const loaded_graph<V>& graph, const std::string& file) {
  const std::string_view counted = graph.names.empty() ? " (pages count from 0)" : "";
  for (index i = 0; i < graph.links.rows; ++i) {
    const auto page = static_cast<std::size_t>(i);
    double sum = 0;
    for (offset k = graph.links.row_begin[i]; k < graph.links.row_begin[i + 1]; ++k) {
      const V weight = graph.links.val[k];
      if (!is_weight(weight))
        throw unsupported(
            fmt::format("{}: the link from page {} to page {}{} has the weight {}: weights must be finite "
                        "and not negative",
                        file, graph.name_of(page),
                        graph.name_of(static_cast<std::size_t>(graph.links.col[k])), counted, weight));
      sum += static_cast<double>(weight);
    }
    const V factor = static_cast<V>(1 / sum);
    if (sum != 0 && !(std::isfinite(factor) && factor > 0))
      throw unsupported(fmt::format(
          "{}: the weights of page {}{} add up to {}, which is too large or too small to divide by", file,
          graph.name_of(page), counted, sum));
  }
}

/// A weight for each page: a vector (.mtx, .npy, .npz), or lines with the name or number of
/// a page and a weight. Throws `shape_error` for another number of pages, `unsupported` where a weight is
/// negative or not finite, or all are 0.
template <class V>
std::vector<double> load_page_weights(const std::string& name, const loaded_graph<V>& graph) {
  std::vector<double> out = is_edge_list(name) ? weights_by_name(name, graph) : read_vector<double>(name);
  if (out.size() != static_cast<std::size_t>(graph.links.rows))
    throw shape_error(fmt::format("{}: there must be a weight for each of the {}, but the file has {}", name,
                                  counted(graph.links.rows, "page"), out.size()));
  const auto bad = std::find_if_not(out.begin(), out.end(), is_weight<double>);
  if (bad != out.end())
    throw unsupported(fmt::format("{}: page {} has the weight {}: weights must be finite and not negative",
                                  name, graph.name_of(static_cast<std::size_t>(bad - out.begin())), *bad));
  if (!out.empty() && std::all_of(out.begin(), out.end(), [](double weight) { return weight == 0; }))
    throw unsupported(fmt::format("{}: no page has a weight above 0", name));
  return out;
}

/// The pages of highest rank, the highest first; pages of equal rank in their order.
template <class V> std::vector<std::uint32_t> top_pages(const std::vector<V>& rank, std::size_t count) {
  std::vector<std::uint32_t> out(rank.size());
  std::iota(out.begin(), out.end(), std::uint32_t{0});
  count = std::min(count, out.size());
  std::partial_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count), out.end(),
                    [&](auto a, auto b) { return rank[a] != rank[b] ? rank[a] > rank[b] : a < b; });
  out.resize(count);
  return out;
}

/// .mtx, .npy, .npz: a vector; .txt and .tsv: lines with the name of a page (or its
/// number), a tab and its rank, the highest first. "-" is Matrix Market on standard output.
template <class V>
void write_ranks(const std::string& name, const loaded_graph<V>& graph, const std::vector<V>& rank) {
  if (!has_extension(name, ".txt") && !has_extension(name, ".tsv")) return write_vector_file<V>(name, rank);
  std::string lines;
  for (const std::uint32_t page : top_pages(rank, rank.size()))
    fmt::format_to(std::back_inserter(lines), "{}\t{}\n", graph.name_of(page), rank[page]);
  output_file file(name);
  file.write(lines.data(), lines.size());
  file.commit();
}

template <class V> double sum_of(const std::vector<V>& rank) {
  return std::accumulate(rank.begin(), rank.end(), 0.0);
}

template <class V>
json json_of(const pagerank_command& options, const loaded_graph<V>& graph, const pagerank_result<V>& found) {
  std::vector<json> top;
  for (const std::uint32_t page : top_pages(found.rank, options.top)) {
    json row = {{"page", page}, {"rank", found.rank[page]}};
    if (!graph.names.empty()) row["name"] = graph.name_of(page);
    top.push_back(std::move(row));
  }
  return {{"graph", options.graph},
          {"precision", options.precision},
          {"pages", graph.links.rows},
          {"links", graph.links.nnz()},
          {"sinks", found.sinks},
          {"sink_rule", options.sinks},
          {"damping", options.rank.damping},
          {"tolerance", options.rank.tolerance},
          {"weighted", options.rank.is_weighted},
          {"iterations", found.iterations},
          {"converged", found.is_converged},
          {"error", found.error},
          {"sum", sum_of(found.rank)},
          {"device", name_of(found.plan.kind)},
          {"threads", thread_count()},
          {"method", options.method},
          {"kernel", found.plan.kernel},
          {"renumbered", found.is_renumbered},
          {"merged", found.merged},
          {"planning_seconds", found.plan.seconds},
          {"seconds_per_iteration", found.iteration_seconds},
          {"top", top}};
}

std::string_view where_sinks_go(const pagerank_command& options) {
  return options.personalize.empty() ? "to all" : "where jumps go";
}

std::string sinks_text(const pagerank_command& options, index sinks) {
  if (sinks == 0) return "each with links";
  return fmt::format("{} without links ({})", grouped(sinks),
                     options.rank.sinks == sink_rule::ignore
                         ? "their rank is lost"
                         : fmt::format("their rank goes {}", where_sinks_go(options)));
}

template <class V>
void print_summary(const pagerank_command& options, const loaded_graph<V>& graph,
                   const pagerank_result<V>& found) {
  print(fmt::format("{}  {}, {}; {}; {}\n", bold(options.graph), counted(graph.links.rows, "page"),
                    counted(graph.links.nnz(), "link"), sinks_text(options, found.sinks), options.precision));
  print(fmt::format("  {}{}; ranks add up to {:.7g}\n", counted(found.iterations, "iteration"),
                    found.iterations == 0 ? "" : fmt::format(", the last changed {:.3g}", found.error),
                    sum_of(found.rank)));
  print(fmt::format("  {} on {}, {:.3g} ms per iteration{}\n", found.plan.kernel, name_of(found.plan.kind),
                    1e3 * found.iteration_seconds,
                    found.merged == 0
                        ? ""
                        : fmt::format("; {} merged with a page that has the same incoming links",
                                      counted(found.merged, "page"))));
  if (options.top == 0 || found.rank.empty()) return;
  table rows({"rank", graph.names.empty() ? "page" : "name"});
  for (const std::uint32_t page : top_pages(found.rank, options.top))
    rows.add({fmt::format("{:.6e}", found.rank[page]), graph.name_of(page)});
  print(fmt::format("\n{}", rows.text()));
}

template <class V> void require_links(const pagerank_command& options, const loaded_graph<V>& graph) {
  if (options.rank.sinks != sink_rule::refuse) return;
  if (const auto sink = find_sink(trusted(graph.links), options.rank.is_weighted))
    throw failed_run(fmt::format("{}: page {} has no links{}; with --sinks redistribute its rank goes {}",
                                 options.graph, graph.name_of(static_cast<std::size_t>(*sink)),
                                 graph.names.empty() ? " (pages count from 0)" : "",
                                 where_sinks_go(options)));
}

template <class V> void run_in(pagerank_command& options) {
  const loaded_graph<V> graph = load_graph<V>(options);
  require_links(options, graph);
  if (options.rank.is_weighted) require_link_weights(graph, options.graph);
  std::vector<double> weights;
  if (!options.personalize.empty()) weights = load_page_weights(options.personalize, graph);
  options.rank.personalization = weights;
  // Rounding in float does not let the changes get smaller than 1e-6.
  options.rank.tolerance = options.tolerance.value_or(sizeof(V) == sizeof(float) ? 1e-6 : 1e-9);
  constexpr double first_change = 2;  // the most that ranks can change
  progress_bar bar("ranking " + options.graph);
  options.rank.progress = [&](std::int64_t iteration, double change) {
    bar.show(iteration, options.rank.max_iterations, first_change, change, options.rank.tolerance);
  };
  const pagerank_result<V> found = pagerank(trusted(graph.links), options.rank);
  erase_progress();
  if (!options.out.empty()) write_ranks(options.out, graph, found.rank);
  if (options.as_json)
    print_json(json_of(options, graph, found));
  else if (options.out != "-")
    print_summary(options, graph, found);
  if (found.is_converged || options.rank.tolerance == 0) return;
  throw failed_run(fmt::format("{}: not converged: {}", options.graph,
                               found.iterations == 0
                                   ? "there was no iteration; allow some with --max-iterations"
                                   : fmt::format("after {} the ranks still change by {:.3g}; allow more with "
                                                 "--max-iterations or a larger --tolerance",
                                                 counted(found.iterations, "iteration"), found.error)));
}

void require_valid(const pagerank_command& options) {
  require_output(options.out, "a rank", {".mtx", ".npy", ".npz", ".txt", ".tsv"});
  require_one_output("pagerank", options.out, options.as_json);
  if (options.graph == "-" && (options.personalize == "-" || options.names == "-"))
    throw usage_error("pagerank: only one of the graph and the files can come from standard input");
  if (options.personalize == "-") throw usage_error("pagerank: --personalize needs a file");
}

void run(pagerank_command& options) {
  require_valid(options);
  options.rank.sinks = options.sinks == "ignore"   ? sink_rule::ignore
                       : options.sinks == "refuse" ? sink_rule::refuse
                                                   : sink_rule::redistribute;
  options.rank.method = options.method == "cusparse" ? pagerank_method::cusparse : pagerank_method::fused;
  options.rank.plan.on = choose_device(options.device, options.rank.plan.kernel);
  require_kernel(options.rank.plan.kernel, options.rank.plan.on->kind(), options.method == "fused");
  with_precision(options.precision, [&](auto zero) { run_in<decltype(zero)>(options); });
}

}  // namespace

void set_up_pagerank(command& c) {
  auto& options = c.runs(run);
  c.argument("GRAPH", options.graph,
             "A matrix (entry (a, b): a links to b), an edge list (lines of two names), or - (stdin)");
  c.flag("--edges", options.is_edges, "GRAPH is an edge list (needed only on standard input)");
  c.file("--names", options.names, "File with the names of the pages, one on each line");
  c.precision(options.precision);
  c.number("--damping", options.rank.damping, "D", {0, 1},
           "Fraction of a page's rank that follows its links (0.85)");
  c.number("--tolerance", options.tolerance, "T", {0, 2},
           "Stop when the sum of the changes is at most T (1e-9; 1e-6 in float); 0: never");
  c.number("--max-iterations", options.rank.max_iterations, "N", {0, 1e15}, "Stop after N iterations (1000)");
  c.choice("--sinks", options.sinks, {"redistribute", "ignore", "refuse"},
           "Rank of pages without links: goes where jumps go, is lost, or is an error (redistribute)");
  c.flag("--weighted", options.rank.is_weighted, "Weight the links by their values");
  c.file("--personalize", options.personalize,
         "Where jumps go: .mtx, .npy, .npz, or lines with a page and a weight (all pages)");
  c.number("--top", options.top, "N", {0, 1e9}, "Show N pages (10)");
  c.file("-o,--out", options.out,
         "Write all ranks: .mtx, .npy, .npz, or .txt and .tsv (name, tab, rank); - for standard output");
  c.device(options.device);
  c.threads();
  c.kernel(options.rank.plan.kernel);
  c.choice("--method", options.method, {"fused", "cusparse"},
           "fused: one pass per iteration; cusparse: with cuSPARSE, for comparison (fused)");
  c.remember(options.rank.plan.remembered);
  c.json(options.as_json);
  c.footer(
      R"(rank' = damping * B rank + (1 - damping) / n, where B divides the rank of each page among the pages it links to.
A line 'a b' of an edge list, and an entry (a, b) of a matrix, is a link from a to b. A repeated link counts once.
Pages without names are numbered from 0.

Examples:
  nz pagerank web.mtx                                 the ten pages of highest rank
  nz pagerank web-Google.txt.gz --top 3               an edge list with names
  nz pagerank examples/data/debian-packages.mtx --names examples/data/debian-packages.names
  nz pagerank web.mtx -o rank.mtx                     all ranks
  nz pagerank web-Google.txt.gz -o rank.tsv           all ranks by name, the highest first
  nz pagerank web.mtx --personalize home.txt          jumps go to the pages in home.txt
  nz pagerank web.mtx --sinks refuse                  status 1 where a page has no links
  nz pagerank web.mtx --device cuda --json | jq .seconds_per_iteration)");
}

}  // namespace nz::cli
