#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/plan/kernels.hpp>

#include "tests/battery/battery.hpp"
#include "tests/gpu/require_gpu.hpp"

namespace {

class VectorOnGpu : public OnGpu {};

static_assert(!std::is_copy_constructible_v<nz::vector<float>>, "copies are made where they are asked for");

TEST_F(VectorOnGpu, ComesBackAsItWasSent) {
  const auto numbers = battery::numbers<double>(1'000'003, 60);
  nz::vector<double> there(on, numbers);
  EXPECT_EQ(there.size(), numbers.size());
  EXPECT_EQ(there.to_host(), numbers);
  const auto others = battery::numbers<double>(numbers.size(), 61);
  there.copy_from(others);
  std::vector<double> back(others.size());
  there.copy_to(back);
  EXPECT_EQ(back, others);
}

TEST_F(VectorOnGpu, MovesAndLeavesNothingBehind) {
  const auto numbers = battery::numbers<float>(1000, 62);
  nz::vector<float> first(on, numbers);
  const float* const data = first.data();
  nz::vector<float> second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.size(), 0U);  // NOLINT(bugprone-use-after-move): it says what it is then
  nz::vector<float> third(on, 7);
  third = std::move(second);
  EXPECT_EQ(third.to_host(), numbers);
}

TEST_F(VectorOnGpu, OfNoLengthIsFine) {
  nz::vector<float> none(on, std::size_t{0});
  EXPECT_EQ(none.to_host(), std::vector<float>());
  none.copy_from({});
}

TEST_F(VectorOnGpu, RefusesCopiesOfAnotherLength) {
  nz::vector<float> there(on, 5);
  std::vector<float> four(4);
  EXPECT_THROW(there.copy_from(four), nz::shape_error);
  EXPECT_THROW(there.copy_to(four), nz::shape_error);
}

TEST_F(VectorOnGpu, OfAnotherDeviceOrTheSameForXAndYIsRefused) {
  const nz::csr<float> a{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {0.5F, 0.5F, 0.5F, 0.5F}};
  const std::vector<float> ones(2, 1);
  for (const nz::kernel_row& kernel : nz::cuda_kernels()) {
    if (kernel.is_peer) continue;
    SCOPED_TRACE(kernel.name);
    const auto ready = kernel.prepare(a, {.on = on});
    nz::vector<float> here(on, ones), result(on, ones);
    for (const auto& elsewhere : {nz::cpu_device(), nz::emulator_device()}) {
      nz::vector<float> there(elsewhere, ones);
      EXPECT_THROW(ready->multiply(1, there, 0, result), nz::device_error);
      EXPECT_THROW(ready->multiply(1, here, 0, there), nz::device_error);
    }
    EXPECT_THROW(ready->multiply(1, here, 0, here), nz::shape_error);
    ready->multiply(1, here, 0, result);
    EXPECT_EQ(result.to_host(), ones);
  }
}

}  // namespace
