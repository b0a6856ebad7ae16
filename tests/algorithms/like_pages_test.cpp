#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/algorithms/link_matrix_internal.hpp>
#include <nonzero/io/generate.hpp>

#include "tests/algorithms/graphs.hpp"

// Pages that one stands for in PageRank.
namespace {

using graphs::graph_of;
using graphs::link;
using nz::csr;
using nz::index;

/// Sites of a page that links to all of its others, which all link to the site's first two and to the next
/// site's first; every third has a link to nowhere else besides.
csr<double> sites(index count, index pages_each) {
  std::vector<link> links;
  for (index s = 0; s < count; ++s) {
    const index home = s * pages_each, next = (s + 1) % count * pages_each;
    for (index p = 1; p < pages_each; ++p) {
      links.push_back({home, home + p});
      links.push_back({home + p, home});
      if (p > 2) links.push_back({home + p, next});
      if (p % 3 == 0) links.push_back({home + p, home + p});
    }
  }
  return graph_of<double>(count * pages_each, links);
}

/// What makes two pages alike, by the book.
std::tuple<std::multiset<index>, double> as_seen(const nz::link_matrix<double>& graph, index i) {
  const auto begin = graph.to.col.begin() + graph.to.row_begin[i],
             end = graph.to.col.begin() + graph.to.row_begin[i + 1];
  return {{begin, end}, graph.per_link[static_cast<std::size_t>(i)]};
}

TEST(LikePages, AreGroupedWithAllThatAreAlikeAndNoOther) {
  for (const auto& links : {sites(5, 9), nz::generate::rmat<double>(7, 2), graph_of<double>(40, {})}) {
    const auto graph = nz::make_link_matrix<double>(links);
    const auto pages = nz::group_like_pages<double>(graph.to, graph.per_link);
    ASSERT_EQ(pages.group.size(), static_cast<std::size_t>(links.rows));
    EXPECT_LT(pages.first.size(), pages.group.size());
    EXPECT_TRUE(std::is_sorted(pages.first.begin(), pages.first.end()));
    for (index i = 0; i < links.rows; ++i)
      for (index j = 0; j < i; ++j)
        ASSERT_EQ(pages.group[i] == pages.group[j], as_seen(graph, i) == as_seen(graph, j)) << i << " " << j;
    for (index g = 0; g < static_cast<index>(pages.first.size()); ++g)
      EXPECT_EQ(std::find(pages.group.begin(), pages.group.end(), g) - pages.group.begin(), pages.first[g]);
  }
}

TEST(LikePages, AreOnePageAndSoAreThoseThatBecomeAlike) {
  // 1 and 2 are alike, and only then 3 and 4, which 1 and 2 link to.
  const auto links = graph_of<double>(
      8, {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}, {5, 0}, {6, 0}, {6, 5}, {7, 0}, {7, 5}});
  const auto once = nz::make_link_matrix<double>(links);
  EXPECT_EQ(nz::group_like_pages<double>(once.to, once.per_link).first.size(), 6U);
  const auto merged = nz::make_link_matrix<double>(links, {.is_merged = true});
  EXPECT_EQ(merged.pages(), 8);
  EXPECT_EQ(merged.to.rows, 5);
  EXPECT_EQ(merged.number, (nz::array<index>{0, 1, 1, 2, 2, 3, 4, 4}));
  EXPECT_EQ(merged.count, (std::vector<index>{1, 2, 2, 1, 2}));
  // 5 has links from 3 and 4, one page, and from 6 and 7, another: two from each.
  EXPECT_EQ(merged.to.col, (nz::array<index>{3, 4, 4, 0, 1, 2, 2, 4, 4}));
  EXPECT_EQ(merged.to.row_begin, (nz::array<nz::offset>{0, 3, 4, 5, 9, 9}));
  EXPECT_EQ(merged.per_link, (std::vector<double>{0.5, 1, 1, 1, 0.5}));
}

TEST(LikePages, CountAsManyAsTheyAre) {
  for (const nz::page_order numbers :
       {nz::page_order::given, nz::page_order::by_use, nz::page_order::by_work}) {
    const auto links = sites(30, 12);
    const auto merged = nz::make_link_matrix<double>(links, {.numbers = numbers, .is_merged = true});
    ASSERT_LT(merged.to.rows, links.rows);
    nz::validate(merged.to);
    const auto plain = nz::make_link_matrix<double>(links);
    std::vector<index> count(merged.count.size(), 0);
    for (index i = 0; i < links.rows; ++i) {
      const index now = merged.number[i];
      ++count[static_cast<std::size_t>(now)];
      EXPECT_EQ(merged.to.row_length(now), plain.to.row_length(i));
      EXPECT_EQ(merged.per_link[static_cast<std::size_t>(now)], plain.per_link[static_cast<std::size_t>(i)]);
    }
    EXPECT_EQ(merged.count, count);
    EXPECT_EQ(merged.sinks, plain.sinks);
  }
}

TEST(LikePages, AreLookedForWhereLinksAreManyAndSaved) {
  const auto rows_of = [](const csr<double>& links, const nz::link_matrix_options& options) {
    return nz::make_link_matrix<double>(links, options).to.rows;
  };
  const nz::link_matrix_options by_itself{.is_merged = std::nullopt};
  const auto many = sites(400, 150), few = sites(40, 150);
  EXPECT_LT(rows_of(many, by_itself), many.rows / 2);
  EXPECT_EQ(rows_of(few, by_itself), few.rows);
  EXPECT_EQ(rows_of(many, {.is_weighted = true, .is_merged = std::nullopt}), many.rows);
  EXPECT_EQ(rows_of(many, {.numbers = nz::page_order::by_use, .is_merged = std::nullopt}), many.rows);
  const auto scattered = nz::generate::rmat<double>(14, 12);
  EXPECT_EQ(rows_of(scattered, by_itself), scattered.rows);
}

}  // namespace
