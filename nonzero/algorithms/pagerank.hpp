#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <nonzero/formats/csr.hpp>
#include <nonzero/plan/plan.hpp>

namespace nz {

/// What becomes of the rank of sinks, pages without links.
enum class sink_rule : std::uint8_t {
  redistribute,  // it goes where jumps lead, so that ranks add up to 1
  ignore,        // it is lost: ranks add up to less
  refuse,        // a graph that has any is refused
};

/// How an iteration is made.
enum class pagerank_method : std::uint8_t {
  fused,     // one pass: product, damping, rank of sinks and change
  cusparse,  // for comparison, on a GPU: the fastest product of cuSPARSE, then a pass over the vectors
};

struct pagerank_options {
  double damping = 0.85;    // 0 to 1: the fraction of rank that follows links
  double tolerance = 1e-9;  // stop when the ranks' changes add up to no more
  std::int64_t max_iterations = 1000;
  sink_rule sinks = sink_rule::redistribute;
  bool is_weighted = false;  // links count by their values, not all alike
  /// Where jumps lead, a weight for each page; empty: to all pages alike.
  std::span<const double> personalization = {};
  pagerank_method method = pagerank_method::fused;
  /// Whether pages are renumbered inside, by their links; none: where links are many and scattered.
  std::optional<bool> is_renumbered = std::nullopt;
  /// Whether one page stands for all that have the same rank in every iteration, because the same pages link
  /// to them and they have the same number of links; none: where that saves many links. Needs links without
  /// weights, and no personalization.
  std::optional<bool> is_merged = std::nullopt;
  /// Iterations between two reads of the change by the host; 0: as suits the device. The result does not
  /// depend on it.
  int check_every = 0;
  /// Where it runs and by which kernel. The expected multiplies are replaced by those that damping and
  /// tolerance ask for.
  plan_options plan = {};
  /// Called for each iteration with the sum of the changes. May throw to stop.
  std::function<void(std::int64_t iteration, double change)> progress = nullptr;
};

template <class V> struct pagerank_result {
  std::vector<V> rank;
  std::int64_t iterations = 0;
  double error = 0;  // the sum of the ranks' changes in the last iteration
  bool is_converged = false;
  index sinks = 0;             // how many pages have no links
  bool is_renumbered = false;  // whether pages were renumbered inside
  index merged = 0;            // how many pages were represented by another
  plan_report plan;
  double iteration_seconds = 0;  // of those after the first few; planning and copies are not in it
};

/// The ranks of pages that link to each other: an entry (a, b) of `links` is a link from a to b.
///   rank' = damping * A (rank / outdegree) + (1 - damping) / n      A: the transposed links
/// starting with 1 / n for each. Repeated entries are one link, whatever their values; where links are
/// weighted, repeated ones add up. Bitwise repeatable, with a deterministic plan. Throws `shape_error` unless
/// `links` is square and the personalization fits, `unsupported` for weights that are negative or not finite,
/// for sinks that are refused, and for options that are out of range or contradict each other.
template <class V> pagerank_result<V> pagerank(csr_view<V> links, const pagerank_options& options = {});
template <class V> pagerank_result<V> pagerank(const csr<V>& links, const pagerank_options& options = {}) {
  return pagerank(csr_view<V>(links), options);
}
template <class V>
pagerank_result<V> pagerank(csr_view<V, std::int32_t> links, const pagerank_options& options = {});
/// The same for links in a device's memory, and on that device unless the options name another. They are
/// fetched to the host, which makes the transposed matrix.
template <class V>
pagerank_result<V> pagerank(const std::shared_ptr<const device_csr<V>>& links,
                            const pagerank_options& options = {});

/// The first page without links (or, weighted, without a weight above 0), if there is any.
template <class V> std::optional<index> find_sink(csr_view<V> links, bool is_weighted = false);
template <class V> std::optional<index> find_sink(const csr<V>& links, bool is_weighted = false) {
  return find_sink(csr_view<V>(links), is_weighted);
}

}  // namespace nz
