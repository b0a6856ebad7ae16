#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"
#include "tests/gpu/cuda/cuda_call.hpp"
#include "tests/gpu/require_gpu.hpp"

namespace {

class StreamsOnGpu : public OnGpu {};

/// A matrix with its vectors on the GPU, and what their product is.
struct problem {
  nz::csr<float> a;
  std::unique_ptr<nz::prepared_matrix<float>> ready;
  std::vector<float> host_x;
  nz::vector<float> x, y;

  problem(const nz::kernel_row& kernel, const std::shared_ptr<nz::device>& on, nz::csr<float> matrix,
          unsigned salt)
      : a(std::move(matrix)),
        ready(kernel.prepare(a, {.budget = {1e9}, .on = on})),
        host_x(battery::numbers<float>(a.cols, salt)),
        x(on, host_x),
        y(on, static_cast<std::size_t>(a.rows)) {}

  void multiply(nz::stream in) { ready->multiply(2.0F, x, 0.0F, y, in); }
  long double error(nz::stream in) const {
    const std::vector<float> unread(a.rows);
    const auto exact = nz::reference::multiply_exactly<float>(2.0F, a, host_x, 0.0F, unread);
    return nz::reference::largest_error<float>(exact, y.to_host(in));
  }
};

TEST_F(StreamsOnGpu, TwoPreparedMatricesMultiplyInTwoStreamsAtOnce) {
  const nz::cuda_stream one(on), other(on);
  for (const nz::kernel_row& kernel : nz::cuda_kernels()) {
    if (kernel.is_peer) continue;
    SCOPED_TRACE(kernel.name);
    const bool is_blocked = kernel.format == "bsr";
    problem first(kernel, on,
                  is_blocked ? nz::generate::fem_blocks<float>(15, 15, 15) : nz::generate::rmat<float>(13, 8),
                  40);
    problem second(kernel, on,
                   is_blocked ? nz::generate::fem_blocks<float>(12, 14, 16)
                              : nz::generate::uniform<float>(9000, 4000, 20),
                   41);
    for (int i = 0; i < 50; ++i) {
      first.multiply(one);
      second.multiply(other);
    }
    EXPECT_LE(first.error(one), 1.0L);
    EXPECT_LE(second.error(other), 1.0L);
  }
}

TEST_F(StreamsOnGpu, AStreamThatAProgramMadeItselfWorks) {
  cudaStream_t own = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&own));
  problem only(nz::find_kernel("csr_vector", nz::device_kind::cuda), on,
               nz::generate::uniform<float>(500, 500, 9), 42);
  only.multiply(nz::stream{own});
  EXPECT_LE(only.error(nz::stream{own}), 1.0L);
  ASSERT_CUDA(cudaStreamDestroy(own));
}

TEST_F(StreamsOnGpu, AStreamOfAnotherDeviceIsRefused) {
  EXPECT_THROW(nz::cuda_stream{nz::cpu_device()}, nz::device_error);
}

}  // namespace
