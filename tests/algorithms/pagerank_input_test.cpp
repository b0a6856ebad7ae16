#include <cmath>

#include <gtest/gtest.h>

#include <nonzero/algorithms/pagerank.hpp>

#include "tests/algorithms/graphs.hpp"

namespace {

using graphs::graph_of;
using graphs::lecture_graph;
using nz::csr;
using nz::pagerank_options;
using nz::sink_rule;

/// What is said of a call that is refused.
template <class Error> std::string refusal(const csr<double>& links, const pagerank_options& options) {
  try {
    nz::pagerank(links, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "not refused";
}

TEST(PageRankRefuses, SinksWhereAskedToAndNamesTheFirst) {
  const auto links = graph_of<double>(3, {{0, 1}, {2, 0, 0}});
  EXPECT_EQ(refusal<nz::unsupported>(links, {.sinks = sink_rule::refuse}),
            "page 2 (counted from 1) has no links");
  EXPECT_EQ(nz::find_sink(links), 1);
  EXPECT_EQ(nz::find_sink(graph_of<double>(2, {{0, 1}, {1, 1, 0}})), std::nullopt);
  EXPECT_EQ(nz::find_sink(graph_of<double>(2, {{0, 1}, {1, 1, 0}}), true), 1);
  EXPECT_NO_THROW(nz::pagerank(lecture_graph<double>(), {.sinks = sink_rule::refuse}));
}

TEST(PageRankRefuses, WhatIsNoGraphOrNoWeight) {
  const csr<double> wide{1, 2, {0, 1}, {1}, {1}};
  EXPECT_NE(refusal<nz::shape_error>(wide, {}).find("1 × 2"), std::string::npos);
  for (const double weight : {-1.0, std::nan(""), HUGE_VAL}) {
    const auto links = graph_of<double>(2, {{0, 1}, {1, 0, weight}});
    EXPECT_NE(refusal<nz::unsupported>(links, {.is_weighted = true}).find("from page 2 to page 1"),
              std::string::npos);
    EXPECT_NO_THROW(nz::pagerank(links));
  }
  for (const double weight : {1e308, 5e-324}) {
    const auto links = graph_of<double>(2, {{0, 1, weight}, {0, 0, weight}});
    EXPECT_NE(refusal<nz::unsupported>(links, {.is_weighted = true}).find("the weights of page 1"),
              std::string::npos);
  }
}

TEST(PageRankRefuses, OptionsOutOfTheirRange) {
  const auto links = lecture_graph<double>();
  for (const double damping : {-0.1, 1.1, std::nan("")})
    EXPECT_NE(refusal<nz::unsupported>(links, {.damping = damping}).find("damping"), std::string::npos);
  EXPECT_NE(refusal<nz::unsupported>(links, {.max_iterations = -1}).find("iterations"), std::string::npos);
  for (const int check_every : {-1, 2'000'000'000})
    EXPECT_NE(refusal<nz::unsupported>(links, {.check_every = check_every}).find("check_every"),
              std::string::npos);
  for (const double tolerance : {-1.0, std::nan(""), HUGE_VAL})
    EXPECT_NE(refusal<nz::unsupported>(links, {.tolerance = tolerance}).find("tolerance"), std::string::npos);
  const std::vector<double> few(8, 1.0), nothing(9, 0.0), negative(9, -1.0), huge(9, 1e308);
  EXPECT_NE(refusal<nz::shape_error>(links, {.personalization = few}).find("each of the 9 pages"),
            std::string::npos);
  for (const auto& wrong : {nothing, negative, huge})
    EXPECT_NE(refusal<nz::unsupported>(links, {.personalization = wrong}).find("personalization"),
              std::string::npos);
  EXPECT_NE(refusal<nz::unsupported>(links, {.method = nz::pagerank_method::cusparse}).find("cuda"),
            std::string::npos);
}

}  // namespace
