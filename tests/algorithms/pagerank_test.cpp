#include <cmath>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include <nonzero/algorithms/pagerank.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>

#include "tests/algorithms/graphs.hpp"
#include "tests/gpu/require_gpu.hpp"

namespace {

using graphs::graph_of;
using graphs::lecture_graph;
using graphs::link;
using nz::csr;
using nz::index;
using nz::offset;
using nz::pagerank_options;
using nz::sink_rule;

/// Sinks, self links, isolated pages, stars in and out, and a pair that only links to itself.
template <class V> csr<V> crowded_graph() {
  std::vector<link> links{{0, 0, 2}, {1, 0}, {2, 0, 0.5}, {3, 0},  {4, 5, 3},   {4, 6},  {4, 7, 0.25},
                          {4, 4},    {8, 9}, {9, 8},      {10, 4}, {11, 10, 7}, {11, 3}, {12, 11}};
  for (index i = 20; i < 60; ++i) links.push_back({i, (i * 7) % 64, 1.0 + i % 3});
  for (index i = 20; i < 60; i += 2) links.push_back({i, 15, 0.125});
  return graph_of<V>(64, links);
}

/// The ranks as the solution of (I - damping * B) rank = jumps, by elimination in long double.
template <class V>
std::vector<long double> solve_exactly(const csr<V>& links, const pagerank_options& options) {
  const auto n = static_cast<std::size_t>(links.rows);
  std::vector<long double> jumps(n, 1.0L / static_cast<long double>(n));
  if (!options.personalization.empty()) {
    const long double sum =
        std::accumulate(options.personalization.begin(), options.personalization.end(), 0.0L);
    for (std::size_t i = 0; i < n; ++i) jumps[i] = options.personalization[i] / sum;
  }
  const long double damping = static_cast<V>(options.damping);
  std::vector<std::vector<long double>> m(n, std::vector<long double>(n + 1, 0));
  for (std::size_t a = 0; a < n; ++a) {
    std::vector<long double> weights(n, 0);
    const auto page = static_cast<index>(a);
    for (offset k = links.row_begin[page]; k < links.row_begin[page + 1]; ++k) {
      long double& weight = weights[static_cast<std::size_t>(links.col[k])];
      weight = options.is_weighted ? weight + links.val[k] : 1;
    }
    const long double sum = std::accumulate(weights.begin(), weights.end(), 0.0L);
    const bool is_spread = sum == 0 && options.sinks == sink_rule::redistribute;
    for (std::size_t b = 0; b < n; ++b)
      m[b][a] = (a == b ? 1 : 0) - damping * (sum > 0 ? weights[b] / sum : is_spread ? jumps[b] : 0);
    m[a][n] = (1 - damping) * jumps[a];
  }
  // I - damping * B is diagonally dominant by columns: no pivots are needed.
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      const long double factor = m[j][i] / m[i][i];
      for (std::size_t k = i; k <= n; ++k) m[j][k] -= factor * m[i][k];
    }
  std::vector<long double> rank(n);
  for (std::size_t i = n; i-- > 0;) {
    rank[i] = m[i][n];
    for (std::size_t k = i + 1; k < n; ++k) rank[i] -= m[i][k] * rank[k];
    rank[i] /= m[i][i];
  }
  return rank;
}

template <class V> constexpr double reachable = sizeof(V) == 4 ? 1e-6 : 1e-14;

/// The ranks, converged, are those of the solution.
template <class V> void expect_solution(const csr<V>& links, pagerank_options options) {
  options.tolerance = reachable<V>;
  const auto found = nz::pagerank(links, options);
  EXPECT_TRUE(found.is_converged);
  const auto exact = solve_exactly(links, options);
  ASSERT_EQ(found.rank.size(), exact.size());
  long double apart = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) apart += std::abs(found.rank[i] - exact[i]);
  // A change of t in the last step is t * damping / (1 - damping) from the end, and rounding adds to it.
  EXPECT_LE(apart, 20 * static_cast<long double>(reachable<V>));
}

struct place {
  const char* device;
  const char* kernel;  // empty: as the plan has it
};

std::vector<place> places() {
  std::vector<place> out{{"cpu", ""},           {"cpu", "csr_balanced"},    {"cpu", "binned_one_pass"},
                         {"cpu", "csr_serial"}, {"emulator", "csr_vector"}, {"emulator", "csr_merge"},
                         {"emulator", ""},      {"emulator", "hubs_slices"}};
  if (!nz::cuda_devices().empty())
    out.insert(out.end(), {{"cuda", ""}, {"cuda", "csr_merge"}, {"cuda", "hubs_slices"}});
  return out;
}

nz::plan_options plan_at(const place& where) {
  return {.on = nz::find_device(where.device), .kernel = where.kernel};
}

template <class V> class PageRank : public testing::Test {};
struct names {
  template <class V> static std::string GetName(int) { return sizeof(V) == 4 ? "float" : "double"; }
};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(PageRank, precisions, names);

TYPED_TEST(PageRank, SolvesItsEquationWhateverBecomesOfSinks) {
  for (const place& where : places())
    for (const sink_rule sinks : {sink_rule::redistribute, sink_rule::ignore})
      for (const bool is_weighted : {false, true}) {
        SCOPED_TRACE(testing::Message() << where.kernel << " on " << where.device << ", sinks "
                                        << static_cast<int>(sinks) << ", weighted " << is_weighted);
        expect_solution(crowded_graph<TypeParam>(),
                        {.sinks = sinks,
                         .is_weighted = is_weighted,
                         .is_renumbered = is_weighted == (sinks == sink_rule::ignore),
                         .is_merged = !is_weighted,
                         .plan = plan_at(where)});
      }
}

TYPED_TEST(PageRank, SolvesItsEquationForAnyDampingAndPersonalization) {
  const auto links = crowded_graph<TypeParam>();
  std::vector<double> jumps(static_cast<std::size_t>(links.rows), 0.0);
  jumps[3] = 2;
  jumps[63] = 0.5;
  for (const place& where : {place{"cpu", ""}, place{"emulator", "csr_scalar"}})
    for (const double damping : {0.0, 0.3, 0.85}) {
      SCOPED_TRACE(testing::Message() << damping << " on " << where.device);
      for (const bool is_renumbered : {false, true})
        expect_solution(links, {.damping = damping,
                                .personalization = jumps,
                                .is_renumbered = is_renumbered,
                                .plan = plan_at(where)});
      expect_solution(
          links,
          {.damping = damping, .sinks = sink_rule::ignore, .personalization = jumps, .plan = plan_at(where)});
      expect_solution(links, {.damping = damping, .plan = plan_at(where)});
    }
}

TEST(PageRankOfTheLecture, TakesItsIterationsAndFindsItsRank) {
  for (const place& where : places()) {
    SCOPED_TRACE(testing::Message() << where.kernel << " on " << where.device);
    const auto found = nz::pagerank(lecture_graph<float>(),
                                    {.tolerance = 1e-4, .sinks = sink_rule::ignore, .plan = plan_at(where)});
    EXPECT_EQ(found.iterations, 54);
    EXPECT_EQ(std::max_element(found.rank.begin(), found.rank.end()) - found.rank.begin(), 4);
    EXPECT_NEAR(found.rank[4], 4.042290e-01, 1.5e-7);
    const auto converged =
        nz::pagerank(lecture_graph<double>(), {.tolerance = 1e-12, .plan = plan_at(where)});
    EXPECT_NEAR(converged.rank[4], 4.042495e-01, 5e-8);
  }
}

TYPED_TEST(PageRank, HasTheSameBitsForAnyThreadsAndHoweverSeldomItLooks) {
  const auto links = nz::generate::rmat<TypeParam>(10, 12, 5);
  for (const place& where :
       {place{"cpu", "csr_balanced"}, place{"cpu", "binned_one_pass"}, place{"emulator", "csr_merge"}}) {
    SCOPED_TRACE(testing::Message() << where.kernel << " on " << where.device);
    std::optional<nz::pagerank_result<TypeParam>> first;
    for (const int threads : {1, 2, 5})
      for (const int every : {1, 2, 7, 16}) {
        const nz::thread_limit scope(threads);
        const auto found =
            nz::pagerank(links, {.tolerance = 1e-3, .check_every = every, .plan = plan_at(where)});
        if (!first) first = found;
        EXPECT_EQ(found.iterations, first->iterations);
        EXPECT_EQ(found.error, first->error);
        EXPECT_EQ(std::memcmp(found.rank.data(), first->rank.data(), found.rank.size() * sizeof(TypeParam)),
                  0)
            << threads << " threads, a look every " << every;
      }
  }
}

TYPED_TEST(PageRank, AddsUpToOneUnlessSinksAreIgnored) {
  const auto links = crowded_graph<TypeParam>();
  const auto sum = [&](sink_rule sinks) {
    const auto found = nz::pagerank(links, {.tolerance = reachable<TypeParam>, .sinks = sinks});
    EXPECT_EQ(found.sinks, 14);
    return std::accumulate(found.rank.begin(), found.rank.end(), 0.0);
  };
  EXPECT_NEAR(sum(sink_rule::redistribute), 1, 10 * reachable<TypeParam>);
  EXPECT_LT(sum(sink_rule::ignore), 0.9);
}

TYPED_TEST(PageRank, OfACycleIsTheSameForAllAtOnce) {
  const auto found =
      nz::pagerank(graph_of<TypeParam>(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}), {.tolerance = 1e-6});
  EXPECT_EQ(found.iterations, 1);
  for (const TypeParam rank : found.rank) EXPECT_NEAR(rank, 0.25, 1e-7);
}

TYPED_TEST(PageRank, OfAStarIsWhatItsFormulaSays) {
  // Four pages link to the first, which links to none. c: the centre, l: each of the others, d: damping.
  // l = (1 - d + d c) / 5 and c = l + 4 d l
  const auto star = graph_of<TypeParam>(5, {{1, 0}, {2, 0}, {3, 0}, {4, 0}});
  const auto found = nz::pagerank(star, {.tolerance = reachable<TypeParam>});
  const double d = 0.85, l = (1 - d) / (5 - d * (1 + 4 * d));
  EXPECT_NEAR(found.rank[0], l * (1 + 4 * d), 1e-6);
  EXPECT_NEAR(found.rank[3], l, 1e-6);
}

TYPED_TEST(PageRank, CountsALinkOnceHoweverOftenItIsThere) {
  const auto once = graph_of<TypeParam>(3, {{0, 1}, {0, 2}, {1, 0}, {2, 2}});
  const auto often = graph_of<TypeParam>(3, {{0, 2, -3}, {0, 1}, {0, 1}, {0, 2}, {1, 0, 0}, {1, 0}, {2, 2}});
  EXPECT_EQ(nz::pagerank(once, {.tolerance = 1e-6}).rank, nz::pagerank(often, {.tolerance = 1e-6}).rank);
  const auto doubled = graph_of<TypeParam>(3, {{0, 1, 0.5}, {0, 2}, {0, 1, 0.5}, {1, 0, 4}, {2, 2, 2}});
  const auto weighted = nz::pagerank(doubled, {.tolerance = 1e-6, .is_weighted = true});
  EXPECT_EQ(weighted.rank, nz::pagerank(once, {.tolerance = 1e-6}).rank);
}

TYPED_TEST(PageRank, OfNoPagesAndOfPagesWithoutLinksIsDefined) {
  for (const char* device : {"cpu", "emulator"}) {
    const nz::plan_options plan{.on = nz::find_device(device)};
    const auto none = nz::pagerank(csr<TypeParam>{}, {.plan = plan});
    EXPECT_TRUE(none.is_converged);
    EXPECT_TRUE(none.rank.empty());
    EXPECT_EQ(none.iterations, 0);
    const auto lonely = nz::pagerank(graph_of<TypeParam>(2, {}), {.tolerance = 1e-6, .plan = plan});
    EXPECT_NEAR(lonely.rank[1], 0.5, 1e-6);
    const auto lost = nz::pagerank(graph_of<TypeParam>(2, {}),
                                   {.tolerance = 1e-6, .sinks = sink_rule::ignore, .plan = plan});
    EXPECT_NEAR(lost.rank[1], 0.075, 1e-6);
  }
}

TYPED_TEST(PageRank, StopsWhereIterationsEnd) {
  const auto links = lecture_graph<TypeParam>();
  const auto none = nz::pagerank(links, {.max_iterations = 0});
  EXPECT_FALSE(none.is_converged);
  EXPECT_NEAR(none.rank[0], 1.0 / 9, 1e-7);
  std::vector<double> changes;
  const auto few =
      nz::pagerank(links, {.max_iterations = 3, .progress = [&](std::int64_t iteration, double change) {
                             changes.push_back(change);
                             EXPECT_EQ(iteration, static_cast<std::int64_t>(changes.size()));
                           }});
  EXPECT_FALSE(few.is_converged);
  EXPECT_EQ(few.iterations, 3);
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(few.error, changes.back());
}

TYPED_TEST(PageRank, IsTheSameWhetherPagesThatAreAlikeAreMerged) {
  const auto links = nz::generate::rmat<TypeParam>(9, 3);
  for (const place& where : places())
    for (const sink_rule sinks : {sink_rule::redistribute, sink_rule::ignore}) {
      SCOPED_TRACE(testing::Message() << where.kernel << " on " << where.device);
      const auto ranked = [&](bool is_merged) {
        return nz::pagerank(links, {.tolerance = 1e-4,
                                    .sinks = sinks,
                                    .is_renumbered = sinks == sink_rule::ignore,
                                    .is_merged = is_merged,
                                    .plan = plan_at(where)});
      };
      const auto merged = ranked(true), apart = ranked(false);
      EXPECT_GT(merged.merged, links.rows / 4);
      EXPECT_EQ(apart.merged, 0);
      EXPECT_EQ(merged.iterations, apart.iterations);
      EXPECT_EQ(merged.sinks, apart.sinks);
      EXPECT_NEAR(merged.error, apart.error, 1e-6);
      for (std::size_t i = 0; i < merged.rank.size(); ++i)
        ASSERT_NEAR(merged.rank[i], apart.rank[i], 4 * reachable<TypeParam> * apart.rank[i]);
    }
}

TYPED_TEST(PageRank, RefusesToMergePagesThatAreNotAlike) {
  const auto links = lecture_graph<TypeParam>();
  const std::vector<double> jumps(9, 1.0);
  EXPECT_THROW(nz::pagerank(links, {.is_weighted = true, .is_merged = true}), nz::unsupported);
  EXPECT_THROW(nz::pagerank(links, {.personalization = jumps, .is_merged = true}), nz::unsupported);
  EXPECT_THROW(nz::pagerank(links, {.method = nz::pagerank_method::cusparse, .is_merged = true}),
               nz::unsupported);
}

TYPED_TEST(PageRank, RenumbersPagesWhereLinksAreManyAndScattered) {
  const auto is_renumbered = [](const csr<TypeParam>& links) {
    return nz::pagerank(links, {.max_iterations = 0, .plan = {.kernel = "csr_balanced"}}).is_renumbered;
  };
  EXPECT_TRUE(is_renumbered(nz::generate::rmat<TypeParam>(16, 12)));
  EXPECT_FALSE(is_renumbered(nz::generate::rmat<TypeParam>(10, 12)));
  EXPECT_FALSE(is_renumbered(nz::generate::banded<TypeParam>(100'000, 4)));
}

TYPED_TEST(PageRank, TakesViewsAndMatricesOnADevice) {
  using V = TypeParam;
  const csr<V> links = crowded_graph<V>();
  const std::vector<std::int32_t> narrow(links.row_begin.begin(), links.row_begin.end());
  const auto owned = nz::pagerank(links);
  EXPECT_EQ(nz::pagerank(nz::csr_view<V>(links)).rank, owned.rank);
  const nz::csr_view<V, std::int32_t> slim(links.rows, links.cols, narrow, links.col, links.val);
  EXPECT_EQ(nz::pagerank(slim).rank, owned.rank);
  const auto emulator = nz::find_device("emulator");
  const auto there = nz::pagerank(nz::place_csr(links, emulator));
  EXPECT_EQ(there.plan.kind, nz::device_kind::emulator);
  pagerank_options options;
  options.plan.on = emulator;
  EXPECT_EQ(there.rank, nz::pagerank(links, options).rank);
}

}  // namespace
