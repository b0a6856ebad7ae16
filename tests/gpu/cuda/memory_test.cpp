#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"
#include "tests/gpu/cuda/cuda_call.hpp"
#include "tests/gpu/require_gpu.hpp"

namespace {

/// Counts the free memory of the GPU, and fills it: only where nobody else uses the GPU.
class MemoryOnGpu : public OnGpu {
 protected:
  void SetUp() override {
    if (std::getenv("NONZERO_REQUIRE_CUDA") == nullptr) GTEST_SKIP() << "run by make gpu-test";
    OnGpu::SetUp();
  }

  static std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    cudaDeviceSynchronize();
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  }

  /// Of those, what is handed out: a pool keeps what it has been given back.
  std::uint64_t used_bytes() {
    cudaDeviceSynchronize();
    return static_cast<const nz::cuda_gpu&>(*on).used_bytes();
  }

  /// Everything still works: what a program that goes on after a failure counts on.
  void expect_right_product() {
    const auto a = nz::generate::uniform<double>(300, 200, 7);
    const auto x = battery::numbers<double>(a.cols, 50);
    std::vector<double> y(a.rows);
    const auto exact = nz::reference::multiply_exactly<double>(1, a, x, 0, y);
    nz::find_kernel("csr_vector", nz::device_kind::cuda).prepare(a, {.on = on})->multiply(1, x, 0, y);
    EXPECT_LE(nz::reference::largest_error<double>(exact, y), 1.0L);
  }
};

TEST_F(MemoryOnGpu, AskingForFarTooMuchSaysHowMuchThereIsAndTheProgramGoesOn) {
  try {
    const nz::vector<float> too_large(on, std::size_t{1} << 41);
    FAIL();
  } catch (const nz::device_error& e) {
    const std::string message = e.what();
    EXPECT_NE(message.find(" of 8.0 TiB with "), std::string::npos) << message;
    EXPECT_NE(message.find(" free: out of memory"), std::string::npos) << message;
  }
  expect_right_product();
}

/// All of the GPU's memory but about `room` bytes. Nothing where the driver hands out none of it.
nz::vector<char> fill_but(const std::shared_ptr<nz::device>& on, std::size_t free, std::size_t room) {
  constexpr std::size_t step = std::size_t{64} << 20;
  for (std::size_t left = room; left < free; left += step) {
    try {
      return {on, free - left};
    } catch (const nz::device_error&) {  // no segment is so large: leave more
    }
  }
  return {};
}

TEST_F(MemoryOnGpu, APrepareThatRunsOutHalfwayGivesBackWhatItHad) {
  expect_right_product();  // loads what stays loaded
  const nz::vector<char> filler = fill_but(on, free_bytes(), std::size_t{256} << 20);
  ASSERT_GT(filler.size(), 0U);
  const std::size_t room = free_bytes();
  ASSERT_GE(room, std::size_t{64} << 20);
  // The columns take half of the room; the values need all of it.
  const auto nnz = static_cast<nz::offset>(room / 8);
  nz::csr<double> a{1000, 1000, nz::array<nz::offset>(1001, nnz), nz::array<nz::index>(nnz, 0),
                    nz::array<double>(nnz, 1)};
  a.row_begin[0] = 0;
  const std::uint64_t used = used_bytes();
  for (const nz::kernel_row& kernel : nz::cuda_kernels()) {
    if (kernel.format != "csr" || kernel.is_peer) continue;
    SCOPED_TRACE(kernel.name);
    try {
      kernel.prepare(a, {.on = on});
      ADD_FAILURE() << "there was room";
    } catch (const nz::device_error& e) {
      EXPECT_NE(std::string(e.what()).find("cudaMalloc"), std::string::npos) << e.what();
    }
    EXPECT_EQ(used_bytes(), used);
  }
  // But for what the driver keeps for itself: the filler alone is more than the pool keeps.
  EXPECT_GE(free_bytes() + (std::size_t{64} << 20), room);
  expect_right_product();
}

TEST_F(MemoryOnGpu, PreparingMultiplyingAndDestroyingLosesNothing) {
  const auto graph = nz::generate::rmat<double>(12, 8), blocks = nz::generate::fem_blocks<double>(6, 5, 4);
  for (const nz::kernel_row& kernel : nz::cuda_kernels()) {
    SCOPED_TRACE(kernel.name);
    const auto& a = kernel.format == "bsr" ? blocks : graph;
    const auto x = battery::numbers<double>(a.cols, 51);
    std::vector<double> y(a.rows);
    const auto round = [&] { kernel.prepare(a, {.budget = {1e9}, .on = on})->multiply(1, x, 0, y); };
    for (int i = 0; i < 3; ++i) round();  // loads what stays loaded
    const std::size_t before = free_bytes();
    const std::uint64_t used = used_bytes();
    for (int i = 0; i < 20; ++i) round();
    EXPECT_EQ(free_bytes(), before);
    EXPECT_EQ(used_bytes(), used);
  }
}

}  // namespace
