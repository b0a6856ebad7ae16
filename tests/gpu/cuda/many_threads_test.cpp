#include "tests/gpu/many_threads.hpp"

#include <array>
#include <chrono>
#include <memory>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <nonzero/gpu/cuda/gpu.cuh>

#include "tests/gpu/cuda/captured.hpp"
#include "tests/gpu/require_gpu.hpp"

// One prepared matrix, and several threads, streams and graphs that multiply by it at once.
namespace {

class ManyThreadsOnGpu : public OnGpu {
 protected:
  static constexpr int times = 20;

  std::vector<std::unique_ptr<nz::cuda_stream>> make_streams(int count) {
    std::vector<std::unique_ptr<nz::cuda_stream>> out;
    for (int i = 0; i < count; ++i) out.push_back(std::make_unique<nz::cuda_stream>(on));
    return out;
  }
  void check_all(const std::vector<nz::stream>& streams) {
    for (const nz::kernel_row& kernel : nz::cuda_kernels()) {
      SCOPED_TRACE(kernel.name);
      many_threads::check(kernel, on, streams, times);
    }
  }
};

TEST_F(ManyThreadsOnGpu, MultiplyAndStepByEveryKernelInStreamsOfTheirOwn) {
  const auto made = make_streams(many_threads::threads);
  std::vector<nz::stream> streams;
  for (const auto& each : made) streams.push_back(*each);
  check_all(streams);
}

TEST_F(ManyThreadsOnGpu, MultiplyAndStepByEveryKernelInOneStream) {
  const nz::cuda_stream shared(on);
  check_all({shared});
}

TEST_F(ManyThreadsOnGpu, MultiplyAndStepInTheirDefaultStreams) {
  check_all({nz::stream{cudaStreamPerThread}});
}

/// Captured in one stream one after the other, replayed in streams of their own at once; more of them than
/// there are scratch sets to begin with.
void check_graphs(const nz::kernel_row& kernel, const std::shared_ptr<nz::device>& on, bool is_step) {
  constexpr std::size_t graphs = 6;
  const nz::csr<double> a = many_threads::matrix_for(kernel);
  const auto ready = kernel.prepare(a, {.budget = {1e9}, .on = on});
  const nz::cuda_stream in(on);
  std::vector<many_threads::work> alone, together;
  for (unsigned g = 0; g < graphs; ++g) {
    alone.emplace_back(*ready, 40 + g, 1).run(*ready, 0, is_step, in);
    together.emplace_back(*ready, 40 + g, 1);
  }
  in.synchronize();
  std::vector<std::unique_ptr<captured>> made;
  std::vector<std::unique_ptr<nz::cuda_stream>> streams;
  for (std::size_t g = 0; g < graphs; ++g) {
    made.push_back(std::make_unique<captured>());
    made[g]->capture(in, [&] { together[g].run(*ready, 0, is_step, in); });
    if (testing::Test::HasFatalFailure()) return;
    streams.push_back(std::make_unique<nz::cuda_stream>(on));
  }
  for (int replay = 0; replay < 50; ++replay)
    for (std::size_t g = 0; g < graphs; ++g)
      ASSERT_CUDA(cudaGraphLaunch(made[g]->ready, native(*streams[g])));
  for (std::size_t g = 0; g < graphs; ++g) {
    streams[g]->synchronize();
    if (!kernel.is_repeatable) continue;
    EXPECT_TRUE(many_threads::same_bits(together[g].y[0].to_host(), alone[g].y[0].to_host()))
        << "graph " << g;
    EXPECT_TRUE(many_threads::same_bits(together[g].sums.to_host(), alone[g].sums.to_host()))
        << "graph " << g;
  }
}

TEST_F(ManyThreadsOnGpu, ReplayGraphsCapturedInOneStreamAtOnce) {
  for (const nz::kernel_row& kernel : nz::cuda_kernels())
    for (const bool is_step : {false, true}) {
      if (kernel.is_peer) continue;
      SCOPED_TRACE(std::string(kernel.name) + (is_step ? ", fused step" : ""));
      check_graphs(kernel, on, is_step);
    }
}

// What they find no descriptors left for is prepared while they are captured.
TEST_F(ManyThreadsOnGpu, ReplayGraphsOfPeersCapturedInOneStreamAtOnce) {
  for (const nz::kernel_row& kernel : nz::cuda_kernels()) {
    if (!kernel.is_peer) continue;
    SCOPED_TRACE(kernel.name);
    check_graphs(kernel, on, false);
  }
}

TEST_F(ManyThreadsOnGpu, GraphsThatEndGiveTheirScratchBack) {
  constexpr int at_once = 20;
  const nz::kernel_row& kernel = nz::find_kernel("csr_merge", nz::device_kind::cuda);
  const auto matrix = many_threads::matrix_for(kernel);
  const nz::cuda_stream in(on);
  const auto use = [&](const nz::prepared_matrix<double>& ready, captured& made) {
    many_threads::work some(ready, 1, 1);
    some.run(ready, 0, false, in);
    made.capture(in, [&] { some.run(ready, 0, false, in); });
    ASSERT_CUDA(cudaGraphLaunch(made.ready, native(in)));
    in.synchronize();
  };
  const auto kept = kernel.prepare(matrix, {.on = on}), ended = kernel.prepare(matrix, {.on = on});
  std::array<captured, at_once> graphs;
  for (captured& each : graphs) use(*kept, each);
  for (int i = 0; i < 4 * at_once; ++i) {
    captured each;
    use(*ended, each);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // CUDA tells of a graph's end a little later
  }
  EXPECT_LT(ended->storage().bytes, kept->storage().bytes);
}

TEST_F(ManyThreadsOnGpu, StreamsThatComeAndGoTakeNoMoreScratch) {
  const nz::kernel_row& kernel = nz::find_kernel("csr_merge", nz::device_kind::cuda);
  const auto ready = kernel.prepare(many_threads::matrix_for(kernel), {.on = on});
  many_threads::work some(*ready, 1, 1);
  const auto use_a_stream = [&] {
    const nz::cuda_stream in(on);
    some.run(*ready, 0, false, in);
    in.synchronize();
  };
  for (int i = 0; i < 8; ++i) use_a_stream();
  const nz::footprint before = ready->storage();
  for (int i = 0; i < 30; ++i) use_a_stream();
  EXPECT_EQ(ready->storage(), before);
}

TEST_F(ManyThreadsOnGpu, MultiplyByTwoMatricesThatTakeDifferentAmountsOfSharedMemory) {
  const nz::kernel_row& kernel = nz::find_kernel("hubs_slices", nz::device_kind::cuda);
  const auto small = kernel.prepare(nz::generate::rmat<double>(17, 16), {.budget = {1e9}, .on = on}),
             large = kernel.prepare(nz::generate::rmat<double>(18, 16), {.budget = {1e9}, .on = on});
  std::array<std::string, 2> failure;
  std::barrier begin(2);
  const auto multiply = [&](const nz::prepared_matrix<double>& a, std::string& why) {
    begin.arrive_and_wait();
    try {
      many_threads::work some(a, 3, 1);
      const nz::cuda_stream in(on);
      for (int i = 0; i < 500; ++i) some.run(a, 0, false, in);
      in.synchronize();
    } catch (const std::exception& e) {
      why = e.what();
    }
  };
  std::thread other([&] { multiply(*small, failure[0]); });
  multiply(*large, failure[1]);
  other.join();
  EXPECT_EQ(failure[0], "");
  EXPECT_EQ(failure[1], "");
}

// The wait for the GPU ends the capture; what matters is that nothing is freed that may be in use.
TEST_F(ManyThreadsOnGpu, MemoryReleasedWhileAGraphIsCapturedIsFreedLater) {
  const auto& gpu = static_cast<const nz::cuda_gpu&>(*on);
  const nz::cuda_stream in(on);
  { const nz::vector<char> some(on, std::size_t{1} << 20); }
  ASSERT_CUDA(cudaDeviceSynchronize());
  const std::uint64_t used = gpu.used_bytes();
  ASSERT_CUDA(cudaStreamBeginCapture(native(in), cudaStreamCaptureModeThreadLocal));
  { const nz::vector<char> some(on, std::size_t{1} << 20); }
  std::thread([&] { const nz::vector<char> other(on, std::size_t{1} << 20); }).join();
  EXPECT_GT(gpu.used_bytes(), used);
  cudaGraph_t graph = nullptr;
  EXPECT_NE(cudaStreamEndCapture(native(in), &graph), cudaSuccess);
  cudaGetLastError();
  { const nz::vector<char> some(on, std::size_t{1} << 20); }
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(gpu.used_bytes(), used);
}

TEST_F(ManyThreadsOnGpu, ARecordedBodyThatRunsOutOfMemoryLeavesNoCaptureBehind) {
  EXPECT_THROW(on->measure(
                   64, [](nz::stream) { throw std::bad_alloc(); }, true),
               std::bad_alloc);
  ASSERT_CUDA(cudaDeviceSynchronize());
  const nz::vector<double> x(on, std::vector<double>(10, 1.0));
  nz::vector<double> y(on, std::size_t{10});
  EXPECT_GT(on->measure(
                64, [&](nz::stream in) { on->copy(y.data(), x.data(), x.bytes(), in); }, true),
            0);
  EXPECT_EQ(y.to_host(), x.to_host());
}

}  // namespace
