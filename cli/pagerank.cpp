#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include <nonzero/algorithms/pagerank.hpp>
#include <nonzero/plan/kernels.hpp>

#include "commands.hpp"
#include "graph.hpp"
#include "matrices.hpp"
#include "output.hpp"
#include "terminal.hpp"

namespace nz::cli {
namespace {

struct pagerank_command {
  graph_argument graph;
  pagerank_options rank;
  std::optional<double> tolerance;  // none: by the precision
  std::string sinks = "redistribute", method = "fused", device = "cpu";
  std::string personalize, out;  // files; empty: none
  std::int64_t top = 10;
  bool as_json = false;
};

/// Rounding in float does not let the changes get smaller.
constexpr double float_tolerance = 1e-6;

template <class V> double sum_of(const std::vector<V>& rank) {
  return std::accumulate(rank.begin(), rank.end(), 0.0,
                         [](double sum, V r) { return sum + static_cast<double>(r); });
}

template <class V>
json json_of(const pagerank_command& options, const loaded_graph<V>& graph, const pagerank_result<V>& found) {
  std::vector<json> top;
  for (const auto& [page, rank] : top_pages(found.rank, options.top)) {
    json row = {{"page", page}, {"rank", rank}};
    if (!graph.names.empty()) row.set("name", graph.name_of(page));
    top.push_back(std::move(row));
  }
  return {{"graph", options.graph.name},
          {"precision", options.graph.precision},
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

std::string merged_text(index merged) {
  if (merged == 0) return "";
  return fmt::format("; {} merged with a page that has the same incoming links", counted(merged, "page"));
}

template <class V>
void print_summary(const pagerank_command& options, const loaded_graph<V>& graph,
                   const pagerank_result<V>& found) {
  print(fmt::format("{}  {}, {}; {}; {}\n", bold(options.graph.name), counted(graph.links.rows, "page"),
                    counted(graph.links.nnz(), "link"), sinks_text(options, found.sinks),
                    options.graph.precision));
  print(fmt::format("  {}{}; ranks add up to {:.7g}\n", counted(found.iterations, "iteration"),
                    found.iterations == 0 ? "" : fmt::format(", the last changed {:.3g}", found.error),
                    sum_of(found.rank)));
  print(fmt::format("  {} on {}, {:.3g} ms per iteration{}\n", found.plan.kernel, name_of(found.plan.kind),
                    1e3 * found.iteration_seconds, merged_text(found.merged)));
  if (options.top == 0 || found.rank.empty()) return;
  table rows({{"rank"}, {graph.names.empty() ? "page" : "name"}});
  for (const auto& [page, rank] : top_pages(found.rank, options.top))
    rows.add({fmt::format("{:.6e}", rank), graph.name_of(page)});
  print(fmt::format("\n{}", rows.text()));
}

template <class V> void require_links(const pagerank_command& options, const loaded_graph<V>& graph) {
  if (options.rank.sinks != sink_rule::refuse) return;
  if (const auto sink = find_sink(graph.links, options.rank.is_weighted))
    throw failed_run(fmt::format(
        "{}: page {} has no links{}; with --sinks redistribute its rank goes {}", options.graph.name,
        graph.name_of(*sink), graph.names.empty() ? " (pages count from 0)" : "", where_sinks_go(options)));
}

/// Progress from a change of 2 to the tolerance.
double fraction_done(double change, double tolerance) {
  return std::log(change / 2) / std::log(std::max(tolerance, std::numeric_limits<double>::min()) / 2);
}

template <class V> void run_in(pagerank_command& options) {
  const loaded_graph<V> graph = load_graph<V>(options.graph);
  require_links(options, graph);
  if (options.rank.is_weighted) require_link_weights(graph, options.graph.name);
  std::vector<double> weights;
  if (!options.personalize.empty()) weights = load_page_weights(options.personalize, graph);
  options.rank.personalization = weights;
  options.rank.tolerance = options.tolerance.value_or(sizeof(V) == sizeof(float) ? float_tolerance : 1e-9);
  progress_bar bar(fmt::format("ranking {}", options.graph.name));
  options.rank.progress = [&](std::int64_t iteration, double change) {
    bar.show(std::max(fraction_done(change, options.rank.tolerance),
                      static_cast<double>(iteration) / static_cast<double>(options.rank.max_iterations)));
  };
  const pagerank_result<V> found = pagerank(graph.links, options.rank);
  erase_progress();
  if (!options.out.empty()) write_ranks(options.out, graph, found.rank);
  if (options.as_json)
    print(json_of(options, graph, found).text());
  else if (options.out != "-")
    print_summary(options, graph, found);
  if (!found.is_converged && options.rank.tolerance > 0 && found.iterations == 0)
    throw failed_run(fmt::format(
        "{}: not converged: there was no iteration; allow some with --max-iterations", options.graph.name));
  if (!found.is_converged && options.rank.tolerance > 0)
    throw failed_run(
        fmt::format("{}: not converged: after {} the ranks still change by {:.3g}; allow "
                    "more with --max-iterations or a larger --tolerance",
                    options.graph.name, counted(found.iterations, "iteration"), found.error));
}

void require_valid(const pagerank_command& options) {
  if (!options.out.empty()) require_rank_name(options.out);
  if (options.out == "-" && options.as_json)
    throw usage_error("pagerank: -o - and --json both write to standard output");
  if (options.graph.name == "-" && (options.personalize == "-" || options.graph.names == "-"))
    throw usage_error("pagerank: only one of the graph and the files can come from standard input");
  if (options.personalize == "-") throw usage_error("pagerank: --personalize needs a file");
}

void run(pagerank_command& options) {
  require_valid(options);
  options.rank.sinks = options.sinks == "ignore"   ? sink_rule::ignore
                       : options.sinks == "refuse" ? sink_rule::refuse
                                                   : sink_rule::redistribute;
  options.rank.method = options.method == "cusparse" ? pagerank_method::cusparse : pagerank_method::fused;
  options.rank.plan.on = find_device(options.device);
  if (!options.rank.plan.kernel.empty())
    require_kernel(options.rank.plan.kernel, options.rank.plan.on->kind(), options.method == "fused");
  with_precision(options.graph.precision, [&](auto zero) { run_in<decltype(zero)>(options); });
}

}  // namespace

void set_up_pagerank(command& c) {
  auto options = std::make_shared<pagerank_command>();
  options->graph.add_to(c);
  c.number("--damping", options->rank.damping, "D", {0, 1},
           "Fraction of a page's rank that follows its links (0.85)");
  c.number("--tolerance", options->tolerance, "T", {0, 2},
           "Stop when the sum of the changes is at most T (1e-9; 1e-6 in float); 0: never");
  c.whole("--max-iterations", options->rank.max_iterations, "N", {0, 1e15}, "Stop after N iterations (1000)");
  c.choice("--sinks", options->sinks, {"redistribute", "ignore", "refuse"},
           "Rank of pages without links: goes where jumps go, is lost, or is an error (redistribute)");
  c.flag("--weighted", options->rank.is_weighted, "Weight the links by their values");
  c.file("--personalize", options->personalize,
         "Where jumps go: .mtx, .npz, or lines with a page and a weight (all pages)");
  c.whole("--top", options->top, "N", {0, 1e9}, "Show N pages (10)");
  c.file("-o,--out", options->out,
         "Write all ranks: .mtx, .npz, or .txt and .tsv (name, tab, rank); - for standard output");
  c.device(options->device, "Device to run on (cpu)");
  c.kernel(options->rank.plan.kernel);
  c.choice("--method", options->method, {"fused", "cusparse"},
           "fused: one pass per iteration; cusparse: with cuSPARSE, for comparison (fused)");
  c.remember(options->rank.plan.remembered);
  c.json(options->as_json);
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
  c.run([options] { run(*options); });
}

}  // namespace nz::cli
