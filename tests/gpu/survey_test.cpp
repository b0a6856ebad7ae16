#include <cstdint>

#include <gtest/gtest.h>

#include <nonzero/formats/fingerprint.hpp>
#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/kernel/prediction.hpp>

#include "tests/battery/battery.hpp"
#include "tests/gpu/warp_slices.hpp"

// What plans ask of a matrix on a device, in the emulator.
namespace {

template <class V> const nz::device_surveys<V>& surveys_of() {
  return nz::emulator_back_end().functions_for<V>().surveys;
}

template <class V> class Survey : public testing::Test {
 protected:
  static nz::slice_survey slices_of(const nz::csr<V>& a) {
    return surveys_of<V>().slices(*nz::place_csr(a, nz::emulator_device()));
  }
  static nz::slice_survey slices_of(const char* spec) { return slices_of(nz::generate::from_spec<V>(spec)); }
};
struct names {
  template <class V> static std::string GetName(int) { return sizeof(V) == 4 ? "float" : "double"; }
};
using values = testing::Types<float, double>;
TYPED_TEST_SUITE(Survey, values, names);

TYPED_TEST(Survey, OfRowsHasTheLongestAndWhatLongOnesHave) {
  using V = TypeParam;
  for (const auto& [name, a] : battery::matrices<V>())
    for (const bool wide : {false, true}) {
      SCOPED_TRACE(name + (wide ? ", wide" : ""));
      const auto found = surveys_of<V>().rows(*nz::place_csr(a, nz::emulator_device(), wide));
      nz::offset longest = 0, in_long_rows = 0;
      for (nz::index i = 0; i < a.rows; ++i) {
        longest = std::max(longest, a.row_length(i));
        if (a.row_length(i) > 64) in_long_rows += a.row_length(i);
      }
      EXPECT_EQ(found.longest, longest);
      EXPECT_EQ(found.in_long_rows, in_long_rows);
    }
}

TYPED_TEST(Survey, OfRowsTakesSeveralRowsInAThread) {
  using V = TypeParam;
  // More rows than there are threads: the last ones are long.
  const nz::index rows = 300 * 1024;
  nz::csr<V> a{rows, 90, {}, {}, {}};
  a.row_begin.assign(static_cast<std::size_t>(rows) + 1, 0);
  a.row_begin[rows - 1] = 70;
  a.row_begin.back() = 70 + 80;
  for (nz::index j = 0; j < 150; ++j) a.col.push_back(j % 70);
  for (nz::index j = 0; j < 80; ++j) a.col[70 + j] = j;
  a.val.assign(150, V{1});
  const auto found = surveys_of<V>().rows(*nz::place_csr(a, nz::emulator_device()));
  EXPECT_EQ(found.longest, 80);
  EXPECT_EQ(found.in_long_rows, 150);
}

TYPED_TEST(Survey, OfSlicesCountsPlaces) {
  // A slice of rows of 1 to 32, cut off after 31 of them.
  nz::csr<TypeParam> a{31, 31, {0}, {}, {}};
  for (nz::index i = 0; i < a.rows; ++i) {
    for (nz::index j = 0; j <= i; ++j) a.col.push_back(j);
    a.row_begin.push_back(static_cast<nz::offset>(a.col.size()));
  }
  a.val.assign(a.col.size(), TypeParam{1});
  EXPECT_EQ(this->slices_of(a).places, 32 * 31);
}

TYPED_TEST(Survey, OfSlicesKnowsStencils) {
  const auto constant = this->slices_of("poisson2d:60");
  EXPECT_EQ(constant.in_diagonals, constant.entries);
  EXPECT_EQ(constant.in_constants, constant.entries);
  EXPECT_EQ(constant.exact, constant.entries);
  EXPECT_EQ(constant.twin_rows, 0);
  auto a = nz::generate::from_spec<TypeParam>("poisson2d:60");
  for (std::size_t k = 0; k < a.val.size(); ++k) a.val[k] = TypeParam{1} / static_cast<TypeParam>(k + 3);
  const auto varied = this->slices_of(a);
  EXPECT_EQ(varied.in_diagonals, varied.entries);
  EXPECT_EQ(varied.in_constants, 0);
  EXPECT_EQ(varied.exact, sizeof(TypeParam) == 4 ? varied.entries : 0);
}

TYPED_TEST(Survey, OfSlicesDoesNotTakeEmptyRowsForDiagonals) {
  const auto scattered = this->slices_of("empty_rows:100000");
  EXPECT_GT(scattered.entries, 0);
  EXPECT_LT(scattered.in_diagonals, scattered.entries / 10);
}

TYPED_TEST(Survey, OfSlicesKnowsBlocksAndScatter) {
  const auto blocks = this->slices_of("fem:9");
  EXPECT_NEAR(blocks.twin_rows, 2.0 / 3, 0.03);
  EXPECT_LT(blocks.in_diagonals, blocks.entries / 10);
  const auto scattered = this->slices_of("uniform:200000:4");
  EXPECT_EQ(scattered.within_16_bits, 0);
  EXPECT_EQ(scattered.in_diagonals, 0);
  EXPECT_LT(scattered.twin_rows, 0.1);
  const auto near = this->slices_of("uniform:200:4");
  EXPECT_EQ(near.within_8_bits, near.entries);
  EXPECT_EQ(near.within_16_bits, near.entries);
}

TYPED_TEST(Survey, OfSlicesCountsAllEntriesOfASmallMatrix) {
  using V = TypeParam;
  for (const auto& [name, a] : battery::matrices<V>())
    if (a.rows <= 1024 * 32) {
      EXPECT_EQ(this->slices_of(a).entries, a.nnz()) << name;
    }
}

TYPED_TEST(Survey, HubFractionTellsPowerLawsFromEvenUse) {
  using V = TypeParam;
  const auto fraction_of = [](const char* spec) {
    const auto a = nz::generate::from_spec<V>(spec);
    return surveys_of<V>().hub_fraction(*nz::place_csr(a, nz::emulator_device()));
  };
  EXPECT_EQ(fraction_of("rows:0,0,0"), 0);
  EXPECT_GT(fraction_of("uniform:300:8"), 0.99);  // all columns are known by then
  EXPECT_LT(fraction_of("uniform:400000:1"), 0.2);
  EXPECT_GT(fraction_of("rmat:15"), 2 * fraction_of("uniform:32768:16"));
}

TYPED_TEST(Survey, FingerprintIsTheHostsWord) {
  using V = TypeParam;
  for (const auto& [name, a] : battery::matrices<V>())
    for (const bool wide : {false, true})
      EXPECT_EQ(surveys_of<V>().fingerprint(*nz::place_csr(a, nz::emulator_device(), wide)),
                nz::fingerprint(a))
          << name;
}

}  // namespace
