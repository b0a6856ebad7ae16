#include <map>
#include <random>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/io/assemble.hpp>

namespace {

using nz::index;
using nz::offset;

/// The matrix of all these lists.
template <class V>
nz::csr<V> assemble(index rows, index cols, std::vector<nz::entry_list<V>> lists, int threads = 0,
                    offset* duplicates = nullptr) {
  offset expected = 0;
  for (const auto& list : lists) expected += static_cast<offset>(list.row.size());
  nz::assembler<V> assembly(rows, cols, expected);
  nz::parallel_tasks(static_cast<std::int64_t>(lists.size()), threads,
                     [&](std::int64_t p) { assembly.add(p, std::move(lists[p])); });
  auto [matrix, summed] = assembly.finish(threads);
  if (duplicates) *duplicates = summed;
  return std::move(matrix);
}

TEST(Assemble, SumsDuplicatesInTheOrderOfTheLists) {
  // 1e16 + 1 - 1e16 is 0 in this order and 1 in any order that takes the large ones first.
  std::vector<nz::entry_list<double>> lists(3);
  lists[0] = {{1, 0}, {2, 1}, {1e16, 5}};
  lists[1] = {{1}, {2}, {1}};
  lists[2] = {{1, 1}, {2, 0}, {-1e16, 7}};
  nz::offset duplicates = -1;
  const auto a = assemble(3, 3, std::move(lists), 2, &duplicates);
  EXPECT_EQ(duplicates, 2);
  EXPECT_EQ(a.row_begin, (nz::array<nz::offset>{0, 1, 3, 3}));
  EXPECT_EQ(a.col, (nz::array<index>{1, 0, 2}));
  EXPECT_EQ(a.val, (nz::array<double>{5, 7, 0}));
}

TEST(Assemble, AnEmptyValueListStandsForOnes) {
  std::vector<nz::entry_list<float>> lists(2);
  lists[0] = {{0, 0}, {1, 1}, {}};
  lists[1] = {{1}, {0}, {3.5F}};
  const auto a = assemble(2, 2, std::move(lists));
  EXPECT_EQ(a.val, (nz::array<float>{2, 3.5F}));
}

TEST(Assemble, WorksWithoutRowsColumnsOrLists) {
  for (const auto& [rows, cols] : {std::pair{0, 0}, {0, 5}, {5, 0}, {70000, 3}}) {
    const auto a = assemble<double>(rows, cols, {});
    validate(a);
    EXPECT_EQ(a.rows, rows);
    EXPECT_EQ(a.cols, cols);
    EXPECT_EQ(a.nnz(), 0);
  }
}

TEST(Assemble, AgreesWithAMapForAnyNumberOfThreads) {
  // More rows than a bucket holds, more entries than a bucket wants, many duplicates, one giant row.
  const index rows = 200000, cols = 1000;
  std::mt19937 random(7);
  std::vector<nz::entry_list<double>> lists(20);
  std::map<std::pair<index, index>, double> wanted;
  for (auto& list : lists)
    for (int k = 0; k < 10000; ++k) {
      const index i = k % 4 == 0 ? 131072 : static_cast<index>(random() % rows);
      const auto j = static_cast<index>(random() % cols);
      const double v = random() % 1000;
      list.row.push_back(i);
      list.col.push_back(j);
      list.val.push_back(v);
      wanted[{i, j}] += v;
    }
  for (const int threads : {1, 2, 5}) {
    const auto a = assemble(rows, cols, lists, threads);
    validate(a);
    ASSERT_EQ(a.nnz(), static_cast<nz::offset>(wanted.size()));
    auto want = wanted.begin();
    for (index i = 0; i < rows; ++i)
      for (auto k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k, ++want) {
        ASSERT_EQ((std::pair{i, a.col[k]}), want->first);
        ASSERT_EQ(a.val[k], want->second);
      }
  }
}

TEST(Assemble, RefusesARowTableOfGigabytesForAFewEntries) {
  std::vector<nz::entry_list<double>> lists(1);
  lists[0] = {{2000000000}, {0}, {1}};
  EXPECT_THROW(assemble(2147483647, 1, std::move(lists)), nz::unsupported);
}

}  // namespace
