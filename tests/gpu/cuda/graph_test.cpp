#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"
#include "tests/gpu/cuda/captured.hpp"
#include "tests/gpu/require_gpu.hpp"

namespace {

class GraphOnGpu : public OnGpu {};

/// Captures a multiply, then replays it with another x each time.
void check_capture(const nz::kernel_row& kernel, const std::shared_ptr<nz::device>& on) {
  const auto a = kernel.format == "bsr" ? nz::generate::fem_blocks<double>(6, 5, 4)
                                        : nz::generate::dense_rows<double>(3000, 3, 4);
  const auto ready = kernel.prepare(a, {.budget = {1e9}, .on = on});
  const auto x0 = battery::numbers<double>(a.cols, 20), y0 = battery::numbers<double>(a.rows, 21);
  nz::vector<double> x(on, x0), y(on, y0);
  const nz::cuda_stream in(on);
  // The first launch loads the kernel's code, which belongs to no graph.
  ready->multiply(1.5, x, 0.0, y, in);
  in.synchronize();

  captured made;
  made.capture(in, [&] { ready->multiply(1.5, x, -0.5, y, in); });
  if (testing::Test::HasFatalFailure()) return;
  std::size_t nodes = 0;
  ASSERT_CUDA(cudaGraphGetNodes(made.graph, nullptr, &nodes));
  ASSERT_GE(nodes, 1U);
  for (unsigned replay = 0; replay < 3; ++replay) {
    const auto other_x = battery::numbers<double>(a.cols, 30 + replay);
    x.copy_from(other_x, in);
    y.copy_from(y0, in);
    ASSERT_CUDA(cudaGraphLaunch(made.ready, native(in)));
    const auto exact = nz::reference::multiply_exactly<double>(1.5, a, other_x, -0.5, y0);
    EXPECT_LE(nz::reference::largest_error<double>(exact, y.to_host(in)), 1.0L) << "replay " << replay;
  }
}

/// Captures a fused step whose sum goes into the next, and replays it.
void check_capture_of_step(const nz::kernel_row& kernel, const std::shared_ptr<nz::device>& on) {
  const auto a = kernel.format == "bsr" ? nz::generate::fem_blocks<double>(6, 5, 4)
                                        : nz::generate::dense_rows<double>(3000, 3, 4);
  const auto ready = kernel.prepare(a, {.budget = {1e9}, .on = on});
  const auto x0 = battery::numbers<double>(a.cols, 20), b0 = battery::numbers<double>(a.rows, 21);
  const nz::vector<double> x(on, x0), b(on, b0);
  nz::vector<double> y(on, b0), sums(on, std::vector<double>{0.0});
  const nz::fused_step<double> step{.alpha = 1.5,
                                    .b = b.data(),
                                    .shift_factor = 0.0,
                                    .shift_from = sums.data(),
                                    .measure = {{nz::measured::squared_distance}}};
  const nz::cuda_stream in(on);
  ready->apply(x, step, y, sums, in);
  in.synchronize();

  captured made;
  made.capture(in, [&] { ready->apply(x, step, y, sums, in); });
  if (testing::Test::HasFatalFailure()) return;
  const std::vector<double> first = sums.to_host(in);
  const auto exact = nz::reference::multiply_exactly<double>(1.5, a, x0, 1.0, b0);
  for (int replay = 0; replay < 3; ++replay) {
    y.copy_from(b0, in);
    ASSERT_CUDA(cudaGraphLaunch(made.ready, native(in)));
    EXPECT_LE(nz::reference::largest_error<double>(exact, y.to_host(in)), 1.0L) << "replay " << replay;
    if (kernel.is_repeatable) {
      EXPECT_EQ(sums.to_host(in), first) << "replay " << replay;
    }
  }
}

TEST_F(GraphOnGpu, FusedStepsOfEveryKernelCanBeCapturedAndReplayed) {
  for (const nz::kernel_row& kernel : nz::cuda_kernels()) {
    SCOPED_TRACE(kernel.name);
    check_capture_of_step(kernel, on);
  }
}

TEST_F(GraphOnGpu, MultipliesOfEveryKernelCanBeCapturedAndReplayed) {
  for (const nz::kernel_row& kernel : nz::cuda_kernels()) {
    if (kernel.is_peer) continue;
    SCOPED_TRACE(kernel.name);
    check_capture(kernel, on);
  }
}

// cusparseSpMV is documented to support capture.
TEST_F(GraphOnGpu, MultipliesOfPeersCanBeCapturedAndReplayed) {
  for (const nz::kernel_row& kernel : nz::cuda_kernels()) {
    if (!kernel.is_peer) continue;
    SCOPED_TRACE(kernel.name);
    check_capture(kernel, on);
  }
}

}  // namespace
