#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/algorithms/link_matrix_internal.hpp>
#include <nonzero/formats/hubs.hpp>
#include <nonzero/io/generate.hpp>

// The numbers that PageRank gives to pages.
namespace {

using nz::index;
using nz::page_order;

TEST(PageOrder, HasEachPageOnce) {
  for (const page_order how : {page_order::by_use, page_order::by_work})
    for (const char* spec : {"rmat:9:3", "dense_rows:500:2:2", "tridiagonal:1"}) {
      nz::array<index> order = nz::order_pages<double>(nz::generate::from_spec<double>(spec), how);
      std::sort(order.begin(), order.end());
      for (index i = 0; i < static_cast<index>(order.size()); ++i) ASSERT_EQ(order[i], i) << spec;
    }
}

TEST(PageOrder, OfNoPagesIsEmpty) {
  for (const page_order how : {page_order::given, page_order::by_use, page_order::by_work})
    EXPECT_TRUE(nz::order_pages<double>(nz::csr<double>{}, how).empty());
}

TEST(PageOrder, ByUseHasThoseWithTheMostLinksFirst) {
  const auto links = nz::generate::rmat<double>(10, 6);
  const nz::array<index> order = nz::order_pages<double>(links, page_order::by_use);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end(), [&](index i, index j) {
    return std::pair(links.row_length(j), i) < std::pair(links.row_length(i), j);
  }));
}

TEST(PageOrder, ByWorkIsTheOneThatHubsHave) {
  // More pages than there are hubs, and rows that are cut.
  const auto links = nz::generate::rmat<double>(16, 16);
  const auto matrix = nz::make_link_matrix<double>(links, {.numbers = page_order::by_work});
  const auto made = nz::to_hubs(matrix.to);
  ASSERT_GT(made.split_row.size(), 0U);
  std::vector<index> rows;
  std::copy_if(made.target.begin(), made.target.end(), std::back_inserter(rows),
               [](index i) { return i >= 0; });
  const auto out_of_order =
      std::count_if(rows.begin() + 1, rows.end(), [](const index& row) { return row < *(&row - 1); });
  // But for pages that are as often met as the last of the hubs, which may be one here and not there.
  EXPECT_LT(out_of_order, static_cast<std::ptrdiff_t>(rows.size() / 50));
}

}  // namespace
