//   rank' = damping * A (rank / outdegree) + (1 - damping + damping * rank of sinks) * jumps
//
// A is the transposed graph: each page adds up what the pages that link to it give. The step before leaves
// rank / outdegree as `given`, so that an iteration is one pass over the matrix.
// Source: Page, Brin, Motwani, Winograd 1999; O. Meister, CUDA kernels for SpMV, 2013.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <nonzero/algorithms/link_matrix_internal.hpp>
#include <nonzero/algorithms/pagerank.hpp>
#include <nonzero/algorithms/ready_matrix_internal.hpp>
#include <nonzero/algorithms/steps_until_internal.hpp>
#include <nonzero/core/counted.hpp>
#include <nonzero/core/values.hpp>

namespace nz {
namespace {

void require_sense(const pagerank_options& options) {
  if (!(options.damping >= 0 && options.damping <= 1))
    throw unsupported(fmt::format("PageRank's damping must be from 0 to 1, and is {:g}", options.damping));
  if (!(options.tolerance >= 0) || !std::isfinite(options.tolerance))
    throw unsupported(fmt::format("PageRank's tolerance must be 0 or more, and is {:g}", options.tolerance));
  if (options.max_iterations < 0)
    throw unsupported(
        fmt::format("PageRank's most iterations must be 0 or more, and are {}", options.max_iterations));
  require_batch(options.check_every);
  if (options.is_merged.value_or(false) && (options.is_weighted || !options.personalization.empty()))
    throw unsupported("pages that weights of links or a personalization may tell apart cannot be merged");
  if (options.is_merged.value_or(false) && options.method == pagerank_method::cusparse)
    throw unsupported("the method cusparse takes the graph as it is given: no pages are merged");
}

/// cuSPARSE, for comparison, takes the graph as it is given.
template <class V> link_matrix_options links_for(csr_view<V> links, const pagerank_options& options) {
  const bool is_ours = options.method != pagerank_method::cusparse;
  const bool is_renumbered = options.is_renumbered.value_or(is_ours && is_better_renumbered(links));
  const device_kind where = options.plan.on ? options.plan.on->kind() : device_kind::cpu;
  const bool may_merge = is_ours && options.personalization.empty();
  return {.is_weighted = options.is_weighted,
          .numbers = is_renumbered ? new_numbers_for(where) : page_order::given,
          .is_merged = may_merge ? options.is_merged : false};
}

/// The most iterations until the change, 2 at first, falls to the tolerance.
std::int64_t expected_iterations(const pagerank_options& options) {
  const double needed = options.damping == 0 ? 2
                        : options.tolerance == 0 || options.damping == 1
                            ? std::numeric_limits<double>::infinity()
                            : std::log(options.tolerance / 2) / std::log(options.damping);
  constexpr std::int64_t plenty = 1'000'000'000;
  const auto most = static_cast<double>(std::clamp<std::int64_t>(options.max_iterations, 1, plenty));
  return static_cast<std::int64_t>(std::clamp(std::isnan(needed) ? most : needed, 1.0, most));
}

/// Where jumps lead: weights that add up to 1. Empty: to all pages alike.
template <class V> std::vector<V> jumps_of(std::span<const double> weights, index pages) {
  if (weights.empty()) return {};
  require_there("a personalization", weights);
  if (weights.size() != static_cast<std::size_t>(pages))
    throw shape_error(fmt::format("a personalization has a weight for each of the {}, and this has {}",
                                  counted(pages, "page"), weights.size()));
  double sum = 0;
  for (const double weight : weights) {
    if (!std::isfinite(weight) || weight < 0)
      throw unsupported(
          fmt::format("a personalization of weight {}: weights must be finite and not negative", weight));
    sum += weight;
  }
  if (!(sum > 0) || !std::isfinite(sum))
    throw unsupported(
        fmt::format("the weights of a personalization must add up to a number above 0, not {}", sum));
  std::vector<V> out(weights.size());
  std::transform(weights.begin(), weights.end(), out.begin(),
                 [sum](double weight) { return static_cast<V>(weight / sum); });
  return out;
}

/// By a plan, or by the fastest kernel of cuSPARSE.
template <class V> ready_matrix<V> make_ready(csr<V>&& links, const pagerank_options& options) {
  plan_options planning = options.plan;
  if (options.method == pagerank_method::cusparse) {
    const auto on = planning.on ? planning.on : cpu_device();
    if (on->kind() != device_kind::cuda)
      throw unsupported("there is no cuSPARSE here: it needs the device cuda");
    return prepare_fastest_peer(place_csr(trusted(links), on), planning.kernel);
  }
  planning.expected_multiplies = expected_iterations(options);
  planning.are_steps = true;
  planning.is_trusted = true;
  planning.may_reorder = false;  // a reordered plan makes a step in two passes
  return ready_by_plan(make_plan(std::move(links), planning));
}

/// The ranks and all that steps need, on the device.
template <class V> class rank_loop {
 public:
  rank_loop(const prepared_matrix<V>& links, const link_matrix<V>& graph, const pagerank_options& options)
      : links_(links),
        pages_(graph.pages()),
        damping_(static_cast<double>(static_cast<V>(options.damping))),
        is_spreading_(options.sinks == sink_rule::redistribute && graph.sinks > 0),
        loop_{.most_steps = options.max_iterations,
              .sums = is_spreading_ ? 2 : 1,
              .batch = options.check_every > 0 ? options.check_every : steps_per_batch(*links.where())} {
    const auto& on = links.where();
    std::vector<V> jumps = jumps_of<V>(options.personalization, pages_);
    if (!jumps.empty()) jumps = graph.template renumbered<V>(jumps);
    const std::vector<V> start(graph.per_link.size(), static_cast<V>(1 / static_cast<double>(pages_)));
    std::vector<V> given(start.size());
    std::transform(start.begin(), start.end(), graph.per_link.begin(), given.begin(), std::multiplies<>());
    rank_[0] = vector<V>(on, start);
    given_[0] = vector<V>(on, given);
    for (int s = 1; s < loop_.states(); ++s) {
      rank_[static_cast<std::size_t>(s)] = vector<V>(on, start.size());
      given_[static_cast<std::size_t>(s)] = vector<V>(on, start.size());
    }
    per_link_ = vector<V>(on, graph.per_link);
    if (!graph.count.empty()) count_ = vector<V>(on, std::vector<V>(graph.count.begin(), graph.count.end()));
    if (!jumps.empty()) jumps_ = vector<V>(on, jumps);
    std::vector<double> sums(loop_.sums_size(), 0.0);
    if (is_spreading_)
      sums[loop_.before_first() + 1] = static_cast<double>(graph.sinks) / static_cast<double>(pages_);
    sums_ = vector<double>(on, sums);
  }

  steps_result run(const auto& is_last) {
    return steps_until(
        loop_, sums_, [this](const step_place& place) { step(place); }, is_last);
  }
  std::vector<V> rank(int state) const { return rank_[static_cast<std::size_t>(state)].to_host(); }

 private:
  /// rank' = damping * A given + (1 - damping + damping * rank of sinks) * jumps;  given' = rank' / outdegree
  void step(const step_place& place) {
    const auto from = static_cast<std::size_t>(place.from), to = static_cast<std::size_t>(place.to);
    const double each = jumps_.size() > 0 ? 1 : 1 / static_cast<double>(pages_);
    fused_step<V> next{.alpha = static_cast<V>(damping_),
                       .c = jumps_.data(),
                       .shift = static_cast<V>((1 - damping_) * each),
                       .scale = per_link_.data(),
                       .scaled = given_[to].data(),
                       .count = count_.data(),
                       .measure = {{measured::distance, rank_[from].data()}}};
    if (is_spreading_) {
      next.shift_factor = damping_ * each;
      next.shift_from = sums_.data() + place.before + 1;
      next.measure[1] = {measured::where_zero, per_link_.data()};
    }
    links_.apply(given_[from], next, rank_[to], sums_, loop_.in, place.at);
  }

  const prepared_matrix<V>& links_;
  index pages_;
  double damping_;  // rounded to V, so that it and 1 - damping_ add up to 1
  bool is_spreading_;
  step_loop loop_;
  std::array<vector<V>, 3> rank_, given_;
  vector<V> per_link_, count_, jumps_;
  vector<double> sums_;
};

}  // namespace

template <class V> std::optional<index> find_sink(csr_view<V> links, bool is_weighted) {
  links = validated(links);
  for (index i = 0; i < links.rows; ++i) {
    const auto begin = links.val.begin() + links.row_begin[i],
               end = links.val.begin() + links.row_begin[i + 1];
    const bool has_links =
        is_weighted ? std::any_of(begin, end, [](V value) { return value > 0; }) : begin != end;
    if (!has_links) return i;
  }
  return std::nullopt;
}

template <class V> pagerank_result<V> pagerank(csr_view<V> links, const pagerank_options& options) {
  require_sense(options);
  const auto valid = validate_for(links, options.plan);
  links = valid.matrix;
  const link_matrix_options how = links_for(links, options);
  link_matrix<V> graph = make_link_matrix(links, how);
  if (options.sinks == sink_rule::refuse)
    if (const auto sink = find_sink(links, options.is_weighted))
      throw unsupported(fmt::format("page {} (counted from 1) has no links", *sink + 1));
  pagerank_result<V> out{.rank = {},
                         .is_converged = links.rows == 0,
                         .sinks = graph.sinks,
                         .is_renumbered = how.numbers != page_order::given,
                         .merged = links.rows - graph.to.rows,
                         .plan = {}};
  ready_matrix<V> ready = make_ready(std::move(graph.to), options);
  out.plan = std::move(ready.report);
  valid.report_in(out.plan);
  if (links.rows == 0) return out;
  rank_loop<V> loop(*ready.prepared, graph, options);
  const steps_result ran = loop.run([&](std::int64_t number, std::span<const double> sums) {
    out.error = sums[0];
    if (options.progress) options.progress(number + 1, sums[0]);
    return sums[0] <= options.tolerance;
  });
  out.rank = graph.template numbered_back<V>(loop.rank(ran.state));
  out.iterations = ran.steps;
  out.is_converged = ran.is_done;
  out.iteration_seconds = ran.step_seconds;
  return out;
}

template <class V>
pagerank_result<V> pagerank(csr_view<V, std::int32_t> links, const pagerank_options& options) {
  const auto valid = validate_for(links, options.plan);
  pagerank_result<V> out = pagerank(widened_csr<V>(valid.matrix).view, options);
  valid.report_in(out.plan);
  return out;
}
template <class V>
pagerank_result<V> pagerank(const std::shared_ptr<const device_csr<V>>& links,
                            const pagerank_options& options) {
  const auto valid = validate_for(links, options.plan);
  pagerank_options there = options;
  if (!there.plan.on) there.plan.on = valid.matrix->where();
  pagerank_result<V> out = pagerank(trusted(to_host(*valid.matrix)), there);
  valid.report_in(out.plan);
  return out;
}

#define NONZERO_INSTANTIATE(V)                                                              \
  template pagerank_result<V> pagerank(csr_view<V>, const pagerank_options&);               \
  template pagerank_result<V> pagerank(csr_view<V, std::int32_t>, const pagerank_options&); \
  template pagerank_result<V> pagerank(const std::shared_ptr<const device_csr<V>>&,         \
                                       const pagerank_options&);                            \
  template std::optional<index> find_sink(csr_view<V>, bool);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
