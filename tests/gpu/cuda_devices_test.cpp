#include <gtest/gtest.h>

#include <nonzero/gpu/cuda/device.hpp>

namespace {

TEST(CudaDevices, AreCountedTheSameTwice) { EXPECT_EQ(nz::cuda_devices().size(), nz::cuda_devices().size()); }

TEST(CudaDevices, SayWhatTheyAre) {
  for (const nz::cuda_properties& device : nz::cuda_devices()) {
    EXPECT_FALSE(device.name.empty());
    EXPECT_GT(device.memory_bytes, 0U);
    EXPECT_GE(device.compute_major, 1);
    EXPECT_GE(device.multiprocessors, 1);
  }
}

#ifndef NONZERO_HAS_CUDA
TEST(CudaDevices, AreNoneInABuildWithoutCuda) { EXPECT_TRUE(nz::cuda_devices().empty()); }
#endif

}  // namespace
