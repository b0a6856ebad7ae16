#include <vector>

#include <gtest/gtest.h>

#include "tests/gpu/exact_rows.hpp"

// How many lanes csr_groups gives a row, and where it cuts rows. What it does on all kinds of matrices,
// tests/plan/kernels_test.cpp knows.
namespace {

using nz::index;

class CsrGroups : public ExactRows {
 protected:
  static void check(const std::vector<index>& lengths) { check_rows("csr_groups", lengths); }
};

// In the mean 3, 6, 20 and 60 entries, which 2, 4, 8 and 32 lanes share: 0 to twice as many in each row, and
// with them rows about as long as so many lanes are left with, none of them, one or several longer.
TEST_P(CsrGroups, FinishesRowsWhateverLanesShareThem) {
  for (const index mean : {3, 6, 20, 60})
    for (const index longest : {0, 32, 33, 64, 65, 255, 256, 257, 512, 513, 700}) {
      SCOPED_TRACE(testing::Message() << mean << " in the mean, " << longest << " at the most");
      // So many that no GPU has threads to spare for them.
      const index rows = GetParam() == nz::device_kind::cuda ? 40'000 : 1500;
      std::vector<index> lengths(static_cast<std::size_t>(rows));
      for (index i = 0; i < rows; ++i) lengths[i] = i * 37 % (2 * mean + 1);
      if (longest > 0) lengths[7] = lengths[rows - 1] = longest;
      check(lengths);
    }
}

// So few that a warp shares each row, whatever the mean.
TEST_P(CsrGroups, FinishesFewRows) {
  for (const index length : {1, 31, 32, 33, 127, 128, 129, 512, 513}) check({length, 0, 2, length, 1});
}

TEST_P(CsrGroups, FinishesRowsOfOnePartAndOfSeveral) {
  check({255, 256, 257, 511, 512, 513, 0, 767, 768, 769, 3, 5000, 64, 65});
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
