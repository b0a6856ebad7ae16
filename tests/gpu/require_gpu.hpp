#pragma once

#include <cstdlib>

#include <gtest/gtest.h>

#include <nonzero/gpu/cuda/device.hpp>

/// For SetUp(): skips a test where there is no GPU, but fails it where NONZERO_REQUIRE_CUDA says that there
/// must be one.
inline void require_gpu() {
  if (!nz::cuda_devices().empty()) return;
  if (std::getenv("NONZERO_REQUIRE_CUDA") != nullptr)
    FAIL() << "NONZERO_REQUIRE_CUDA is set, but there is no CUDA device";
  GTEST_SKIP() << "there is no CUDA device";
}

/// What needs a GPU; `on` is the first.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    require_gpu();
    if (!IsSkipped() && !HasFatalFailure()) on = nz::cuda_device();
  }

  std::shared_ptr<nz::device> on;
};
