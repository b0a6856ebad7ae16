#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gpu/exact_rows.hpp"

// sell_slices at the edges of its classes of rows, in the emulator and on a GPU.
namespace {

using nz::index;

class SellSlices : public ExactRows {};

/// Short rows of about this length, to which others are added.
std::vector<index> short_rows(index count, index length) {
  std::vector<index> out(static_cast<std::size_t>(count));
  for (index i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = i % (2 * length + 1);
  return out;
}

TEST_P(SellSlices, FinishesRowsOfEveryLengthThatAWarpTakes) {
  // One to 32 lanes each; few of each length, so that slices are cut off, and too many for one window.
  for (const index first : {0, 120}) {
    std::vector<index> lengths;
    for (index length = first; length < first + 145; ++length)
      lengths.insert(lengths.end(), static_cast<std::size_t>(length % 7 + 1), length);
    check_rows("sell_slices", lengths);
    std::reverse(lengths.begin(), lengths.end());
    check_rows("sell_slices", lengths);
  }
}

TEST_P(SellSlices, FinishesLongRowsOfOnePartAndOfSeveral) {
  std::vector<index> lengths = short_rows(3000, 3);
  for (const index length :
       {127, 128, 129, 255, 256, 257, 511, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 4097, 20000, 3, 0, 70})
    lengths.insert(lengths.begin() + 37 * length % 2000, length);
  check_rows("sell_slices", lengths);
}

TEST_P(SellSlices, FinishesLongRowsThatFillAWindow) {
  std::vector<index> lengths = short_rows(200'000, 1);
  std::fill(lengths.begin() + 1024, lengths.begin() + 2 * 1024, 600);
  check_rows("sell_slices", lengths);
}

TEST_P(SellSlices, FinishesNothingButLongRows) {
  check_rows("sell_slices", {5000, 5000, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_P(SellSlices, FinishesEmptyRows) {
  check_rows("sell_slices", std::vector<index>(2500, 0));
  check_rows("sell_slices", {0});
  check_rows("sell_slices", {});
}

INSTANTIATE_TEST_SUITE_P(On, SellSlices, on_emulator_and_card, name_of_device);

constexpr const char* kernels[] = {"csr_merge", "csr_groups", "sell_slices"};

/// Kernels that read no values where all are the same.
class OneValue : public ExactRows {
 protected:
  static void check_all(const nz::csr<double>& a) {
    for (const char* kernel : kernels) {
      SCOPED_TRACE(kernel);
      check(kernel, a);
    }
  }
  static nz::csr<double> matrix() {
    std::vector<index> lengths = short_rows(6000, 4);
    lengths[17] = 3000;
    return rows_of(lengths);
  }
};

TEST_P(OneValue, IsTakenForAllEntries) {
  nz::csr<double> a = matrix();
  a.val.assign(a.val.size(), 3);
  check_all(a);
}

TEST_P(OneValue, IsNotTakenWhereTheLastDiffers) {
  nz::csr<double> a = matrix();
  a.val.assign(a.val.size(), 3);
  a.val.back() = 2;
  check_all(a);
}

TEST_P(OneValue, IsNotTakenForZerosOfBothSigns) {
  nz::csr<double> a = matrix();
  a.val.assign(a.val.size(), 0.0);
  a.val[a.val.size() / 2] = -0.0;
  for (const char* kernel : kernels)
    EXPECT_EQ(nz::find_kernel(kernel, GetParam()).prepare(a)->encodings().find("one value"),
              std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(On, OneValue, on_emulator_and_card, name_of_device);

}  // namespace
