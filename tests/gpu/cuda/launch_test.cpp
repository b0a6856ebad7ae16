#include <gtest/gtest.h>

#include <nonzero/gpu/cuda/gpu.cuh>

#include "tests/gpu/require_gpu.hpp"

namespace {

class LaunchOnGpu : public OnGpu {};

void no_kernel(int) {}

template <class Error> std::string message_of(const auto& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST_F(LaunchOnGpu, ThatFailsNamesTheKernelAndCudasReason) {
  nz::cuda_queue queue(*on, {});
  const std::string message =
      message_of<nz::device_error>([&] { queue.launch("no_kernel", 1, 32, no_kernel, 1); });
  EXPECT_EQ(message.find("CUDA: launching no_kernel: invalid"), 0U) << message;
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "a later call would find it";
}

TEST_F(LaunchOnGpu, OfMoreBlocksThanAGpuCanHaveIsRefused) {
  nz::cuda_queue queue(*on, {});
  EXPECT_EQ(message_of<nz::unsupported>(
                [&] { queue.launch("no_kernel", std::int64_t{1} << 31, 32, no_kernel, 1); }),
            "no_kernel needs a grid of 2147483648 blocks, more than a GPU can have");
}

TEST_F(LaunchOnGpu, OfNoBlocksDoesNothing) {
  nz::cuda_queue queue(*on, {});
  EXPECT_NO_THROW(queue.launch("no_kernel", 0, 32, no_kernel, 1));
}

}  // namespace
