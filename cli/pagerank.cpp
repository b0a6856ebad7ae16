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
#include "device_option.hpp"
#include "failures.hpp"
#include "graph_argument.hpp"
#include "kernel_option.hpp"
#include "matrix_argument.hpp"
#include "number_option.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "rank_file.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace nz::cli {
namespace {

using nlohmann::ordered_json;

struct command_options {
  graph_argument graph;
  pagerank_options rank;
  std::optional<double> tolerance;  // none: by the precision
  std::string sinks = "redistribute", method = "fused", device = "cpu";
  std::string personalize, out;  // files; empty: none
  std::int64_t top = 10;
  bool json = false;
};

/// What a float's rounding lets the changes fall to.
constexpr double float_tolerance = 1e-6;

template <class V> double sum_of(const std::vector<V>& rank) {
  return std::accumulate(rank.begin(), rank.end(), 0.0,
                         [](double sum, V r) { return sum + static_cast<double>(r); });
}

template <class V>
ordered_json as_json(const command_options& options, const loaded_graph<V>& graph,
                     const pagerank_result<V>& found) {
  ordered_json out = {{"graph", options.graph.name},
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
                      {"top", ordered_json::array()}};
  for (const auto& [page, rank] : top_pages(found.rank, options.top)) {
    ordered_json row = {{"page", page}, {"rank", rank}};
    if (!graph.names.empty()) row["name"] = graph.name_of(page);
    out["top"].push_back(row);
  }
  return out;
}

std::string_view where_sinks_lead(const command_options& options) {
  return options.personalize.empty() ? "to all" : "where jumps lead";
}

std::string sinks_text(const command_options& options, index sinks) {
  if (sinks == 0) return "each with links";
  return fmt::format("{} without links ({})", grouped(sinks),
                     options.rank.sinks == sink_rule::ignore
                         ? "their rank is lost"
                         : fmt::format("their rank goes {}", where_sinks_lead(options)));
}

std::string merged_text(index merged) {
  if (merged == 0) return "";
  return fmt::format("; {} ranked with another that the same pages link to", counted(merged, "page"));
}

template <class V>
void print_summary(const command_options& options, const loaded_graph<V>& graph,
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

template <class V> void require_links(const command_options& options, const loaded_graph<V>& graph) {
  if (options.rank.sinks != sink_rule::refuse) return;
  if (const auto sink = find_sink(graph.links, options.rank.is_weighted))
    throw failed_run(fmt::format(
        "{}: page {} has no links{}; --sinks redistribute lets its rank go {}", options.graph.name,
        graph.name_of(*sink), graph.names.empty() ? " (pages count from 0)" : "", where_sinks_lead(options)));
}

/// What of the way is gone from a change of 2 to the tolerance.
double part_done(double change, double tolerance) {
  return std::log(change / 2) / std::log(std::max(tolerance, std::numeric_limits<double>::min()) / 2);
}

template <class V> void run_in(command_options& options) {
  const loaded_graph<V> graph = load_graph<V>(options.graph);
  require_links(options, graph);
  if (options.rank.is_weighted) require_link_weights(graph, options.graph.name);
  std::vector<double> weights;
  if (!options.personalize.empty()) weights = load_page_weights(options.personalize, graph);
  options.rank.personalization = weights;
  options.rank.tolerance = options.tolerance.value_or(sizeof(V) == sizeof(float) ? float_tolerance : 1e-9);
  progress_bar bar(fmt::format("ranking {}", options.graph.name));
  options.rank.progress = [&](std::int64_t iteration, double change) {
    bar.show(std::max(part_done(change, options.rank.tolerance),
                      static_cast<double>(iteration) / static_cast<double>(options.rank.max_iterations)));
  };
  const pagerank_result<V> found = pagerank(graph.links, options.rank);
  erase_progress();
  if (!options.out.empty()) write_ranks(options.out, graph, found.rank);
  if (options.json)
    print_json(as_json(options, graph, found));
  else if (options.out != "-")
    print_summary(options, graph, found);
  if (!found.is_converged && options.rank.tolerance > 0 && found.iterations == 0)
    throw failed_run(fmt::format("{}: not converged: no iteration was made; allow some with --max-iterations",
                                 options.graph.name));
  if (!found.is_converged && options.rank.tolerance > 0)
    throw failed_run(
        fmt::format("{}: not converged: after {} the ranks still change by {:.3g}; allow "
                    "more with --max-iterations or a larger --tolerance",
                    options.graph.name, counted(found.iterations, "iteration"), found.error));
}

void require_sense(const command_options& options) {
  if (!options.out.empty()) require_rank_name(options.out);
  if (options.out == "-" && options.json)
    throw usage_error("pagerank: -o - and --json both write to standard output");
  if (options.graph.name == "-" && (options.personalize == "-" || options.graph.names == "-"))
    throw usage_error("pagerank: only one of the graph and the files can come from standard input");
  if (options.personalize == "-") throw usage_error("pagerank: --personalize takes a file");
}

void run(command_options& options) {
  require_sense(options);
  options.rank.sinks = options.sinks == "ignore"   ? sink_rule::ignore
                       : options.sinks == "refuse" ? sink_rule::refuse
                                                   : sink_rule::redistribute;
  options.rank.method = options.method == "cusparse" ? pagerank_method::cusparse : pagerank_method::fused;
  options.rank.plan.on = find_device(options.device);
  if (!options.rank.plan.kernel.empty())
    require_kernel(options.rank.plan.kernel, options.rank.plan.on->kind(), options.method == "fused");
  with_precision(options.graph.precision, [&](auto zero) { run_in<decltype(zero)>(options); });
}

void add_iteration_options(CLI::App& command, command_options& options) {
  command.add_option("--damping", options.rank.damping, "The part of a page's rank that follows its links")
      ->type_name("D")
      ->check(number_between(0, 1))
      ->capture_default_str();
  command
      .add_option("--tolerance", options.tolerance,
                  "Stop when the ranks' changes add up to no more (1e-9, in float 1e-6); 0: go on to the end")
      ->type_name("T")
      ->check(number_between(0, 2));
  command.add_option("--max-iterations", options.rank.max_iterations, "Stop there in any case")
      ->type_name("N")
      ->check(number_between(0, 1e15))
      ->capture_default_str();
  command
      .add_option(
          "--sinks", options.sinks,
          "The rank of pages without links: it goes where jumps lead, it is lost, or they are refused")
      ->check(CLI::IsMember({"redistribute", "ignore", "refuse"}))
      ->option_text("redistribute|ignore|refuse");
  command.add_flag("--weighted", options.rank.is_weighted, "Links count by their values");
  command
      .add_option("--personalize", options.personalize,
                  "Where jumps lead: a vector (.mtx, .npz), or lines of a page and a weight")
      ->type_name("FILE");
}

void add_running_options(CLI::App& command, command_options& options) {
  add_device_option(command, options.device, "Where it runs (cpu)");
  command.add_option("--kernel", options.rank.plan.kernel, "This kernel and no other; nz list shows them")
      ->type_name("NAME");
  command
      .add_option(
          "--method", options.method,
          "One pass per iteration, or, to compare with on a GPU, cuSPARSE's product and passes over vectors")
      ->check(CLI::IsMember({"fused", "cusparse"}))
      ->option_text("fused|cusparse");
  command
      .add_option("--remember", options.rank.plan.remembered,
                  "JSON file of choices of kernels: look there first, and add what is found")
      ->type_name("FILE");
}

}  // namespace

void add_pagerank(CLI::App& app) {
  CLI::App* command = app.add_subcommand("pagerank", "The pages of a graph that links lead to most");
  auto options = std::make_shared<command_options>();
  options->graph.add_to(*command);
  add_iteration_options(*command, *options);
  command->add_option("--top", options->top, "Show so many pages")
      ->type_name("N")
      ->check(number_between(0, 1e9))
      ->capture_default_str();
  command
      ->add_option("-o,--out", options->out,
                   "Write all ranks there: .mtx or .npz; .txt or .tsv for lines of name, tab and rank, the "
                   "highest first; - for standard output")
      ->type_name("FILE");
  add_running_options(*command, *options);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      R"(rank' = damping * B rank + (1 - damping) / n, where B shares each page's rank among the pages it links to.
A line 'a b' of an edge list, and an entry (a, b) of a matrix, is a link from a to b; it counts once however
often it is there. Pages without names are counted from 0.

Examples:
  nz pagerank web.mtx                                 the ten pages of highest rank
  nz pagerank web-Google.txt.gz --top 3               an edge list, with its own names
  nz pagerank examples/data/debian-packages.mtx --names examples/data/debian-packages.names
  nz pagerank web.mtx -o rank.mtx                     all ranks
  nz pagerank web-Google.txt.gz -o rank.tsv           all ranks by name, the highest first
  nz pagerank web.mtx --personalize home.txt          jumps lead to the pages of home.txt
  nz pagerank web.mtx --sinks refuse                  status 1 where a page has no links
  nz pagerank web.mtx --device cuda --json | jq .seconds_per_iteration)");
  command->callback([options] { run(*options); });
}

}  // namespace nz::cli
