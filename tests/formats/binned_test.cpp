#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include <nonzero/formats/binned.hpp>
#include <nonzero/io/generate.hpp>

#include "tests/formats/hostile.hpp"
#include "tests/formats/identical.hpp"
#include "tests/formats/packing_matrices.hpp"

namespace {

using nz::array;
using nz::binned;
using nz::csr;
using nz::index;
using nz::offset;
using nz::packed_values;

constexpr index block = binned<double>::most_block_cols;

/// What is left of the order in a row: by blocks of columns.
template <class V> csr<V> by_blocks(const csr<V>& a) {
  csr<V> out = a;
  std::vector<offset> order(a.col.size());
  std::iota(order.begin(), order.end(), 0);
  for (index i = 0; i < a.rows; ++i)
    std::stable_sort(order.begin() + a.row_begin[i], order.begin() + a.row_begin[i + 1],
                     [&](offset k, offset l) { return a.col[k] / block < a.col[l] / block; });
  for (std::size_t k = 0; k < order.size(); ++k) {
    out.col[k] = a.col[order[k]];
    out.val[k] = a.val[order[k]];
  }
  return out;
}

// Four rows in three bins of two panels, two blocks of columns; row 2 is kept apart.
//   bin 0: row 0: columns 3 and block + 1; row 1: columns block + 2, 4, 4
//   bin 1: row 2: columns 0, block          (long)
//   bin 2: row 3: column 7
const csr<double> small{
    4, block + 3, {0, 2, 5, 7, 8}, {3, block + 1, block + 2, 4, 4, 0, block, 7}, {1, 2, 3, 4, 5, 6, 7, 0.1}};
binned<double> small_binned() {
  return to_binned(small, {block, {0, 2, 3, 4}, {0, 2, 3}, {2}}, nz::run_in_order);
}

TEST(Binned, HoldsAPanelBlockByBlockAndEachBinByBin) {
  const auto a = small_binned();
  validate(a);
  EXPECT_EQ(a.blocks(), 2);
  EXPECT_EQ(a.bins(), 3);
  EXPECT_EQ(a.panels(), 2);
  // Panel 0: block 0 of bins 0 and 1, block 1 of both; panel 1: block 0 and 1 of bin 2.
  EXPECT_EQ(a.cell_begin, (array<offset>{0, 3, 3, 5, 5, 6, 6}));
  EXPECT_EQ(a.cell_row, (array<offset>{0, 5, 3, 5, 5, 6}));  // of bin 0 first, then of bin 1
  EXPECT_EQ(a.col, (array<std::uint16_t>{3, 4, 4, 1, 2, 7}));
  EXPECT_EQ(a.row, (array<std::uint16_t>{0, 1, 1, 0, 1, 0}));
  EXPECT_EQ(a.values, packed_values::full);
  EXPECT_EQ(a.val, (array<double>{1, 4, 5, 2, 3, 0.1}));
  expect_identical(a.long_rows, csr<double>{1, block + 3, {0, 2}, {0, block}, {6, 7}});
  expect_identical(to_csr(a), by_blocks(small));
}

TEST(Binned, InterleavesTheEntriesOfASegmentSoThatNeighboursAreOfDifferentRows) {
  const auto places_of = [](offset entries) {
    nz::interleaved_places places(entries);
    std::vector<offset> out(static_cast<std::size_t>(entries));
    for (offset& place : out) place = places.next();
    return out;
  };
  EXPECT_EQ(places_of(9), (std::vector<offset>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(places_of(19),
            (std::vector<offset>{0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15, 16, 17, 18}));
  for (offset entries = 0; entries < 200; ++entries) {
    auto places = places_of(entries);
    std::sort(places.begin(), places.end());
    for (offset i = 0; i < entries; ++i) EXPECT_EQ(places[static_cast<std::size_t>(i)], i);
  }
  // Eight rows of three entries in one cell: each round has one of every row.
  const auto a = nz::generate::uniform<double>(8, 3, 3);
  const auto b = to_binned(a);
  validate(b);
  for (std::size_t k = 0; k < 24; ++k) EXPECT_EQ(b.row[k], k % 8);
  expect_identical(to_csr(b), a);
}

template <class V> class BinnedConversions : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(BinnedConversions, precisions);

template <class V> std::vector<battery::named_matrix<V>> matrices() {
  auto out = battery::matrices<V>();
  for (auto& m : packing_matrices<V>()) out.push_back(std::move(m));
  return out;
}

TYPED_TEST(BinnedConversions, ThereAndBackLoseNothingButTheOrderWithinARow) {
  for (const auto& [name, a] : matrices<TypeParam>()) {
    SCOPED_TRACE(name);
    const auto there = to_binned(a);
    validate(there);
    EXPECT_EQ(footprint_of(there), binned_footprint(a));
    expect_identical(to_csr(there), by_blocks(a));
  }
}

TYPED_TEST(BinnedConversions, DoNotDependOnTheBinsNorOnTheOrderTheyAreDoneIn) {
  for (const auto& [name, a] : matrices<TypeParam>()) {
    if (a.rows == 0) continue;
    SCOPED_TRACE(name);
    std::vector<index> bin_row{0}, panel_bin{0}, long_row;
    for (index row = 1; row < a.rows; row += 1 + row / 2) bin_row.push_back(row);
    bin_row.push_back(a.rows);
    for (index bin = 1; bin < static_cast<index>(bin_row.size()); bin += 3) panel_bin.push_back(bin);
    if (panel_bin.back() + 1 < static_cast<index>(bin_row.size()))
      panel_bin.push_back(static_cast<index>(bin_row.size()) - 1);
    const offset longest = longest_row(a);
    for (index i = 0; i < a.rows; ++i)
      if (a.row_length(i) == longest) long_row.push_back(i);
    const auto there =
        to_binned(a, {block, bin_row, panel_bin, long_row}, [](offset count, const auto& body) {
          for (offset i = count; i > 0; --i) body(i - 1);
        });
    validate(there);
    EXPECT_EQ(there.long_rows.nnz(), longest * static_cast<offset>(long_row.size()));
    auto wanted = by_blocks(a);
    for (const index i : long_row)  // these keep their order
      for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
        wanted.col[k] = a.col[k];
        wanted.val[k] = a.val[k];
      }
    expect_identical(to_csr(there), wanted);
  }
}

TEST(Binned, ChoosesTheShortestKindOfValuesThatIsExact) {
  // Ten thousand rows of one entry are three bins; `value` says what those at 0, 5,000 and elsewhere hold.
  const auto kind_of = [](double first, double middle, double others) {
    auto a = nz::generate::diagonal<double>(10000);
    a.val.assign(a.val.size(), others);
    a.val[0] = first;
    a.val[5000] = middle;
    const auto b = to_binned(a);
    validate(b);
    expect_identical(to_csr(b), a);
    EXPECT_EQ(footprint_of(b), binned_footprint(a));
    return b.values;
  };
  const double nan_of_double = std::bit_cast<double>(std::uint64_t{0x7ff8000000000001});
  constexpr double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(kind_of(0.1, 0.1, 0.1), packed_values::one);
  EXPECT_EQ(kind_of(nan_of_double, nan_of_double, nan_of_double), packed_values::one);
  EXPECT_EQ(kind_of(-0.0, 0.0, -0.0), packed_values::single);
  EXPECT_EQ(kind_of(1, -inf, 2), packed_values::single);
  EXPECT_EQ(kind_of(1, 0.1, 1), packed_values::full);
  EXPECT_EQ(kind_of(0.1, 1, 1), packed_values::full);
  EXPECT_EQ(kind_of(0.1, 1, 0.1), packed_values::full);
  EXPECT_EQ(kind_of(1, nan_of_double, 1), packed_values::full);
}

TEST(Binned, RefusesAMatrixWithTooManySegments) {
  const csr<float> a{1, std::numeric_limits<index>::max(), {0, 1}, {7}, {1}};
  try {
    to_binned(a);
    FAIL();
  } catch (const nz::unsupported& e) {
    EXPECT_NE(std::string(e.what()).find("binned: 1 entries would lie in 32768 cells"), std::string::npos)
        << e.what();
  }
  EXPECT_GE(binned_footprint(a).bytes, 32768U * 8);  // what it would take can be asked for
}

TEST(Binned, ValidateNamesTheInvariantThatIsBroken) {
  using matrix = binned<double>;
  const auto break_it = [](const auto& how, const std::string& reason) {
    matrix a = small_binned();
    how(a);
    expect_refused(a, "binned: " + reason);
  };
  break_it([](matrix& a) { a.rows = -1; }, "a size of -1 x 65539 is negative");
  break_it([](matrix& a) { a.bin_row.clear(); }, "bin_row does not go from 0 to 4");
  break_it([](matrix& a) { a.bin_row[0] = 1; }, "bin_row does not go from 0 to 4");
  break_it([](matrix& a) { a.rows = 5; }, "bin_row does not go from 0 to 5");
  break_it([](matrix& a) { a.bin_row[1] = 3; }, "bin_row goes from 3 to 3 at position 2");
  break_it([](matrix& a) { a.bin_row[1] = -7; }, "bin_row goes from 0 to -7 at position 1");
  break_it([](matrix& a) { a.rows = a.bin_row[3] = 70000; }, "bin_row goes from 3 to 70000 at position 3");
  break_it([](matrix& a) { a.panel_bin[2] = 2; }, "panel_bin does not go from 0 to 3");
  break_it([](matrix& a) { a.panel_bin[1] = 0; }, "panel_bin goes from 0 to 0 at position 1");
  break_it([](matrix& a) { a.cell_begin.pop_back(); }, "cell_begin is 6 long instead of 7");
  break_it([](matrix& a) { a.cell_begin[0] = 1; }, "cell_begin does not start at 0");
  break_it([](matrix& a) { a.cell_begin[1] = 9; }, "cell_begin falls from 9 to 3");
  break_it([](matrix& a) { a.cell_begin[6] = 7; }, "cell_begin ends at 7 instead of the 6 entries");
  break_it([](matrix& a) { a.row.pop_back(); }, "row is 5 long instead of 6");
  break_it([](matrix& a) { a.values = packed_values{3}; }, "values have an unknown kind");
  break_it([](matrix& a) { a.values = packed_values::one; }, "val is 6 long instead of 1");
  break_it([](matrix& a) { a.val.pop_back(); }, "val is 5 long instead of 6");
  break_it([](matrix& a) { a.single_val.push_back(1); }, "single_val is 1 long instead of 0");
  break_it(
      [](matrix& a) {
        a.values = packed_values::single;
        a.val.clear();
      },
      "single_val is 0 long instead of 6");
  break_it([](matrix& a) { a.long_row.push_back(3); }, "long_row is 2 long instead of 1");
  break_it([](matrix& a) { a.long_rows.cols = 70000; }, "has 65539 columns, but its long rows 70000");
  break_it([](matrix& a) { a.long_row[0] = 4; },
           "long_row is 4 at position 1 (counted from 1), outside 0 to 3");
  break_it(
      [](matrix& a) {
        a.long_row = {2, 2};
        a.long_rows.rows = 2;
        a.long_rows.row_begin = {0, 1, 2};
      },
      "long_row does not rise from 2 to 2 at position 2 (counted from 1)");
  break_it([](matrix& a) { a.long_row[0] = 3; }, "row 3 is a long row, but has an entry at 5");
  break_it([](matrix& a) { a.col[4] = 3; }, "col[4] is 3, outside 0 to 2");
  break_it([](matrix& a) { a.cell_row.pop_back(); }, "cell_row is 5 long instead of 6");
  break_it([](matrix& a) { a.cell_row[1] = 3; }, "cell_row[1] is 3, not 5");
  break_it([](matrix& a) { a.block_cols = 3; }, "block_cols is 3: no power of two from 1 to 65536");
  break_it([](matrix& a) { a.row[1] = 2; }, "row[1] is 2, outside 0 to 1");
  break_it([](matrix& a) { a.row[2] = 0; }, "row falls from 1 to 0 at position 2");
  matrix broken = small_binned();
  broken.long_rows.col[1] = -1;
  expect_refused(broken, "csr: col is -1 at position 2");
}

TEST(Binned, IsRefusedOrHarmlessWhateverItsNumbersAre) {
  binned<double> a = small_binned();
  const auto is_harmless = [&] {
    try {
      validate(a);
    } catch (const nz::shape_error&) {
      return;
    }
    validate(to_csr(a));
  };
  try_hostile(a.rows, is_harmless);
  try_hostile(a.cols, is_harmless);
  for (auto& row : a.bin_row) try_hostile(row, is_harmless);
  for (auto& bin : a.panel_bin) try_hostile(bin, is_harmless);
  try_hostile(a.block_cols, is_harmless);
  for (auto& begin : a.cell_begin) try_hostile(begin, is_harmless);
  for (auto& begin : a.cell_row) try_hostile(begin, is_harmless);
  for (auto& col : a.col) try_hostile(col, is_harmless);
  for (auto& row : a.row) try_hostile(row, is_harmless);
  for (auto& row : a.long_row) try_hostile(row, is_harmless);
  for (auto& begin : a.long_rows.row_begin) try_hostile(begin, is_harmless);
  for (auto& col : a.long_rows.col) try_hostile(col, is_harmless);
}

}  // namespace
