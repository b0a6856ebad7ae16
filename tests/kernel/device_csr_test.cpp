#include <gtest/gtest.h>

#include <nonzero/kernel/device_csr.hpp>
#include <nonzero/plan/kernels.hpp>

#include "tests/battery/battery.hpp"
#include "tests/formats/identical.hpp"

namespace {

template <class V> class DeviceCsr : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(DeviceCsr, precisions);

TYPED_TEST(DeviceCsr, ComesBackAsItWasFromEveryDevice) {
  for (const auto& on : nz::devices())
    for (const auto& [name, a] : battery::matrices<TypeParam>())
      for (const bool wide : {false, true}) {
        SCOPED_TRACE(name + (wide ? ", wide offsets, on " : ", on ") + on->description());
        const auto there = nz::place_csr(a, on, wide);
        EXPECT_EQ(there->is_wide(), wide);
        EXPECT_EQ(there->where(), on);
        EXPECT_EQ(there->nnz, a.nnz());
        expect_identical(to_host(*there), a);
      }
}

TYPED_TEST(DeviceCsr, TakesFourBytesForAnOffsetUnlessAskedForEight) {
  const nz::csr<TypeParam> a{3, 4, {0, 2, 2, 3}, {1, 3, 0}, {1, 2, 3}};
  const auto on = nz::cpu_device();
  const std::uint64_t entries = 3 * (4 + sizeof(TypeParam));
  EXPECT_EQ(nz::place_csr(a, on)->storage(), (nz::footprint{4 * 4 + entries, 0}));
  EXPECT_EQ(nz::place_csr(a, on, true)->storage(), (nz::footprint{4 * 8 + entries, 0}));
}

TYPED_TEST(DeviceCsr, NeedsADevice) {
  EXPECT_THROW(nz::place_csr(nz::csr<TypeParam>{}, nullptr), nz::device_error);
}

TEST(WideOffsets, AreNeededWhereALaneCouldStepPastTheLast) {
  EXPECT_FALSE(nz::needs_wide_offsets(0));
  EXPECT_FALSE(nz::needs_wide_offsets((nz::offset{1} << 31) - 257));
  EXPECT_TRUE(nz::needs_wide_offsets((nz::offset{1} << 31) - 256));
  EXPECT_TRUE(nz::needs_wide_offsets(nz::offset{1} << 40));
}

}  // namespace
