#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/plan/locality.hpp>
#include <nonzero/plan/reorder.hpp>

#include "tests/battery/battery.hpp"

namespace {

using nz::csr;
using nz::find_locality;

csr<double> shuffle(const csr<double>& a) {
  nz::array<nz::index> order(static_cast<std::size_t>(a.rows));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(7);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return nz::permute_symmetric<double>(a, order);
}

TEST(Locality, OfADiagonalIsALineForEightDoubles) {
  const nz::locality found = find_locality(nz::generate::diagonal<double>(1024));
  EXPECT_DOUBLE_EQ(found.lines_per_entry, 1.0 / 8);
  EXPECT_DOUBLE_EQ(find_locality(nz::generate::diagonal<float>(1024)).lines_per_entry, 1.0 / 16);
  EXPECT_EQ(found.far_fraction, 0);
  EXPECT_DOUBLE_EQ(found.nearby_columns_per_entry,
                   1);  // a row reaches only itself, which no other row does
}

TEST(Locality, TellsAShuffledMeshFromAnOrderedOne) {
  const csr<double> mesh = nz::generate::poisson_3d<double>(60, 60, 60);
  const csr<double> mixed = shuffle(mesh);
  const nz::locality good = find_locality(mesh), bad = find_locality(mixed);
  EXPECT_LT(good.lines_per_entry, 0.15);
  EXPECT_GT(bad.lines_per_entry, 0.7);
  EXPECT_EQ(good.far_fraction, 0);
  EXPECT_GT(bad.far_fraction, 0.5);
  const auto again = nz::permute_symmetric<double>(mixed, nz::reverse_cuthill_mckee(mixed));
  EXPECT_LT(find_locality(again).lines_per_entry, 0.15);
}

TEST(Locality, TellsAShuffledMeshFromARandomGraph) {
  EXPECT_LT(find_locality(shuffle(nz::generate::poisson_3d<double>(60, 60, 60))).nearby_columns_per_entry,
            0.4);
  EXPECT_GT(find_locality(nz::generate::uniform<double>(200'000, 200'000, 7)).nearby_columns_per_entry, 0.9);
}

TEST(Locality, IsBetweenNothingAndOneOnTheWholeBattery) {
  for (const auto& [name, a] : battery::matrices<float>()) {
    SCOPED_TRACE(name);
    const nz::locality found = find_locality(a);
    for (const double fraction :
         {found.lines_per_entry, found.far_fraction, found.nearby_columns_per_entry}) {
      EXPECT_GE(fraction, 0);
      EXPECT_LE(fraction, 1);
    }
    EXPECT_EQ(found.lines_per_entry > 0, a.nnz() > 0);
  }
}

}  // namespace
