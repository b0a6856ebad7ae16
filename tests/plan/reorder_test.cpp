#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/plan/features.hpp>
#include <nonzero/plan/reorder.hpp>

#include "tests/battery/battery.hpp"

namespace {

using nz::array;
using nz::csr;
using nz::index;

array<index> shuffled(index n, unsigned seed = 7) {
  array<index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

bool is_permutation(const array<index>& order, index n) {
  array<index> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  array<index> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return sorted == all;
}

/// All entries as (row, column) and their values in turn, row and column numbered by `number`.
template <class V>
std::map<std::pair<index, index>, std::vector<V>> entries_of(const csr<V>& a, const auto& number) {
  std::map<std::pair<index, index>, std::vector<V>> out;
  for (index i = 0; i < a.rows; ++i)
    for (nz::offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
      out[{number(i), number(a.col[k])}].push_back(a.val[k]);
  return out;
}

index bandwidth_after(const csr<double>& a) {
  return nz::find_features(nz::permute_symmetric<double>(a, nz::reverse_cuthill_mckee(a))).bandwidth();
}

csr<double> shuffle(const csr<double>& a) { return nz::permute_symmetric<double>(a, shuffled(a.rows)); }

/// Runs body with each number of threads.
void for_each_thread_count(const auto& body) {
  for (const int threads : {1, 2, 3, 8}) {
    const nz::thread_limit scope(threads);
    body(threads);
  }
}

TEST(ReverseCuthillMckee, OrdersEverySquareMatrixOfTheBatteryAndRefusesTheOthers) {
  for (const auto& [name, a] : battery::matrices<double>()) {
    SCOPED_TRACE(name);
    if (a.rows == a.cols) {
      EXPECT_TRUE(is_permutation(nz::reverse_cuthill_mckee(a), a.rows));
    } else {
      EXPECT_THROW(nz::reverse_cuthill_mckee(a), nz::shape_error);
    }
  }
}

TEST(ReverseCuthillMckee, FindsThePathInAShuffledPath) {
  EXPECT_EQ(bandwidth_after(shuffle(nz::generate::tridiagonal<double>(5000))), 1);
}

TEST(ReverseCuthillMckee, BringsAShuffledGridBackToItsWidth) {
  EXPECT_LE(bandwidth_after(shuffle(nz::generate::poisson_2d<double>(30, 200))), 32);
  EXPECT_LE(bandwidth_after(shuffle(nz::generate::poisson_2d<double>(100, 100))), 102);
  EXPECT_LE(bandwidth_after(shuffle(nz::generate::poisson_3d<double>(10, 10, 60))), 110);
}

TEST(ReverseCuthillMckee, SeesThroughAPatternThatIsNotSymmetric) {
  // The grid's upper triangle without diagonal: as a directed graph, most nodes cannot be reached.
  const csr<double> grid = nz::generate::poisson_2d<double>(20, 150);
  csr<double> upper{grid.rows, grid.cols, {0}, {}, {}};
  for (index i = 0; i < grid.rows; ++i) {
    for (nz::offset k = grid.row_begin[i]; k < grid.row_begin[i + 1]; ++k)
      if (grid.col[k] > i) {
        upper.col.push_back(grid.col[k]);
        upper.val.push_back(1);
      }
    upper.row_begin.push_back(static_cast<nz::offset>(upper.col.size()));
  }
  EXPECT_LE(bandwidth_after(shuffle(upper)), 22);
}

TEST(ReverseCuthillMckee, TakesSelfLoopsDuplicatesAndDisorder) {
  // The path 2 - 0 - 1, node 3 with only itself, node 4 with nothing.
  const csr<double> a{5, 5, {0, 4, 6, 8, 10, 10}, {2, 1, 2, 0, 0, 0, 0, 0, 3, 3}, array<double>(10, 1.0)};
  const array<index> order = nz::reverse_cuthill_mckee(a);
  ASSERT_TRUE(is_permutation(order, 5));
  EXPECT_EQ(bandwidth_after(a), 1);
}

TEST(ReverseCuthillMckee, KeepsConnectedPartsTogether) {
  const csr<double> path = nz::generate::tridiagonal<double>(100);
  csr<double> two = path;  // and a second one
  two.rows = two.cols = 200;
  for (index i = 0; i < 100; ++i) two.row_begin.push_back(path.nnz() + path.row_begin[i + 1]);
  for (const index j : path.col) two.col.push_back(100 + j);
  two.val.insert(two.val.end(), path.val.begin(), path.val.end());
  const csr<double> mixed = shuffle(two);
  EXPECT_EQ(bandwidth_after(mixed), 1);
}

TEST(ReverseCuthillMckee, GivesTheSameOrderForAnyNumberOfThreads) {
  const csr<double> a = shuffle(nz::generate::poisson_2d<double>(400, 390));
  const array<index> expected = nz::reverse_cuthill_mckee(a);
  for_each_thread_count([&](int threads) { EXPECT_EQ(nz::reverse_cuthill_mckee(a), expected) << threads; });
}

TEST(InvertOrder, UndoesAnOrder) {
  EXPECT_EQ(nz::invert_order(array<index>{2, 0, 1}), (array<index>{1, 2, 0}));
  EXPECT_TRUE(nz::invert_order({}).empty());
}

TEST(InvertOrder, RefusesWhatIsNoOrder) {
  for (const array<index>& wrong : {array<index>{0, 0}, array<index>{0, 2}, array<index>{-1, 0}})
    EXPECT_THROW(nz::invert_order(wrong), nz::shape_error);
}

TEST(PermuteSymmetric, MovesEveryEntryOfTheBattery) {
  for (const auto& [name, a] : battery::matrices<float>()) {
    if (a.rows != a.cols || a.nnz() > 100'000) continue;
    SCOPED_TRACE(name);
    const array<index> order = shuffled(a.rows);
    const csr<float> b = nz::permute_symmetric<float>(a, order);
    EXPECT_NO_THROW(nz::validate(b));
    EXPECT_EQ(entries_of(a, [](index i) { return i; }), entries_of(b, [&](index i) { return order[i]; }));
    for (index i = 0; i < b.rows; ++i)
      EXPECT_TRUE(std::is_sorted(b.col.begin() + b.row_begin[i], b.col.begin() + b.row_begin[i + 1]));
  }
}

TEST(PermuteSymmetric, RefusesAnOrderThatDoesNotFit) {
  const csr<double> a = nz::generate::tridiagonal<double>(3);
  EXPECT_THROW(nz::permute_symmetric<double>(a, array<index>{0, 1}), nz::shape_error);
  EXPECT_THROW(nz::permute_symmetric<double>(a, array<index>{0, 1, 3}), nz::shape_error);
  EXPECT_THROW(nz::permute_symmetric<double>(nz::generate::uniform<double>(3, 4, 2), array<index>{0, 1, 2}),
               nz::shape_error);
}

TEST(PermuteSymmetric, GivesTheSameMatrixForAnyNumberOfThreads) {
  const csr<double> a = nz::generate::poisson_2d<double>(400, 390);
  const array<index> order = shuffled(a.rows);
  const csr<double> expected = nz::permute_symmetric<double>(a, order);
  for_each_thread_count(
      [&](int threads) { EXPECT_TRUE(nz::permute_symmetric<double>(a, order) == expected) << threads; });
}

}  // namespace
