#pragma once

#include <cstdlib>

#include <gtest/gtest.h>

#include <nonzero/gpu/cuda/device.hpp>

/// For SetUp(): skips a test where there is no card, but fails it where NONZERO_REQUIRE_CUDA says that there
/// must be one.
inline void require_card() {
  if (!nz::cuda_devices().empty()) return;
  if (std::getenv("NONZERO_REQUIRE_CUDA") != nullptr)
    FAIL() << "NONZERO_REQUIRE_CUDA is set, but there is no CUDA device";
  GTEST_SKIP() << "there is no CUDA device";
}

/// What needs a card; `on` is the first.
class OnCard : public testing::Test {
 protected:
  void SetUp() override {
    require_card();
    if (!IsSkipped() && !HasFatalFailure()) on = nz::cuda_device();
  }

  std::shared_ptr<nz::device> on;
};
