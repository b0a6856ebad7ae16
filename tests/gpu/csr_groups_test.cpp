#include <vector>

#include <gtest/gtest.h>

#include "tests/gpu/exact_rows.hpp"

// Where csr_groups cuts rows. What it does on all kinds of matrices, tests/plan/kernels_test.cpp knows.
namespace {

using nz::index;

class CsrGroups : public ExactRows {
 protected:
  static void check(const std::vector<index>& lengths) { check_rows("csr_groups", lengths); }
};

TEST_P(CsrGroups, FinishesRowsAboutAsLongAsAShortOneMayBe) {
  std::vector<index> lengths(141);
  for (index i = 0; i <= 140; ++i) lengths[i] = i * 37 % 141;
  check(lengths);
  check({64});
  check({65});
}

TEST_P(CsrGroups, FinishesRowsOfOnePartAndOfSeveral) {
  check({511, 512, 513, 0, 1023, 1024, 1025, 3, 5000, 64, 65});
  check({100000});
}

TEST_P(CsrGroups, FinishesMoreLongRowsThanABlockHasThreads) {
  std::vector<index> lengths(700);
  for (index i = 0; i < 700; ++i) lengths[i] = i % 3 == 0 ? 513 + i : i % 80;
  check(lengths);
}

TEST_P(CsrGroups, FinishesEmptyRows) {
  check(std::vector<index>(1000, 0));
  check({0, 0, 600, 0});
}

INSTANTIATE_TEST_SUITE_P(On, CsrGroups, on_emulator_and_card, name_of_device);

}  // namespace
