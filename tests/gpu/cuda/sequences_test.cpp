#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>

#include "tests/battery/battery.hpp"
#include "tests/gpu/cuda/captured.hpp"
#include "tests/gpu/require_gpu.hpp"

// A launch may begin before the one before it has ended. What a multiply reads and writes must not show it.
namespace {

class SequencesOnGpu : public OnGpu {};

constexpr int steps = 200;
constexpr int few_steps = 8, times = 10;  // of products without a term in y, before they become too small

/// One over the largest row sum: products by it do not grow.
double scale_of(const nz::csr<double>& a) {
  double largest = 0;
  for (nz::index row = 0; row < a.rows; ++row) {
    double sum = 0;
    for (nz::offset k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k) sum += std::abs(a.val[k]);
    largest = std::max(largest, sum);
  }
  return 1 / largest;
}

/// Products of a square matrix, each of which the next begins with.
struct sequence {
  std::unique_ptr<nz::prepared_matrix<double>> ready;
  double scale;
  std::vector<double> x0;
  nz::vector<double> x, y;
  nz::cuda_stream in;

  sequence(const nz::kernel_row& kernel, const nz::csr<double>& a, const std::shared_ptr<nz::device>& on)
      : ready(kernel.prepare(a, {.budget = {1e9}, .on = on})),
        scale(scale_of(a)),
        x0(battery::numbers<double>(a.cols, 50)),
        x(on, x0),
        y(on, x0),
        in(on) {}

  void multiply(const nz::vector<double>& from, nz::vector<double>& to, double beta = 0) {
    ready->multiply(scale, from, beta, to, in);
  }
  /// The result of a body that begins with x0 in x and y, and leaves its result in x.
  std::vector<double> run(const std::function<void()>& body) {
    x.copy_from(x0, in);
    y.copy_from(x0, in);
    body();
    return x.to_host(in);
  }
  void multiply_in_turns(bool waits) {
    for (int step = 0; step < steps; ++step) {
      multiply(x, y, 0.5);
      std::swap(x, y);
      if (waits) in.synchronize();
    }
  }
  /// The same with a fused step; the sum of the last is in `sums`.
  void step_in_turns(bool waits, nz::vector<double>& sums) {
    const nz::fused_step<double> step{.alpha = scale, .measure = {{nz::measured::squared_distance}}};
    for (int i = 0; i < few_steps; ++i) {
      ready->apply(x, step, y, sums, in);
      std::swap(x, y);
      if (waits) in.synchronize();
    }
  }
  /// y is overwritten as soon as it is copied.
  void multiply_and_copy(bool waits) {
    const auto wait = [&] {
      if (waits) in.synchronize();
    };
    for (int step = 0; step < few_steps; ++step) {
      multiply(x, y);
      wait();
      ASSERT_CUDA(cudaMemcpyAsync(x.data(), y.data(), y.bytes(), cudaMemcpyDeviceToDevice, native(in)));
      wait();
      ASSERT_CUDA(cudaMemsetAsync(y.data(), 0xff, y.bytes(), native(in)));
      wait();
    }
  }
};

/// From one that leaves room for several launches at once to one that fills the GPU.
std::vector<nz::csr<double>> matrices_for(const nz::kernel_row& kernel) {
  std::vector<nz::csr<double>> out;
  if (kernel.format == "bsr") {
    out.push_back(nz::generate::fem_blocks<double>(6, 5, 4));
    out.push_back(nz::generate::fem_blocks<double>(20, 20, 20));
    return out;
  }
  out.push_back(nz::generate::uniform<double>(2000, 2000, 9));
  out.push_back(nz::generate::dense_rows<double>(6000, 5, 3));  // split by every kernel that splits rows
  out.push_back(nz::generate::rmat<double>(14, 8));
  out.push_back(nz::generate::poisson_2d<double>(400, 400));
  return out;
}

void for_each_sequence(const std::shared_ptr<nz::device>& on, const std::function<void(sequence&)>& check) {
  for (const nz::kernel_row& kernel : nz::cuda_kernels()) {
    if (kernel.is_peer || !kernel.is_repeatable) continue;
    for (const nz::csr<double>& a : matrices_for(kernel)) {
      SCOPED_TRACE(std::string(kernel.name) + ", " + std::to_string(a.rows) + " rows");
      sequence products(kernel, a, on);
      check(products);
    }
  }
}

TEST_F(SequencesOnGpu, EachMultiplySeesWhatTheOneBeforeWrote) {
  for_each_sequence(on, [](sequence& s) {
    const auto expected = s.run([&] { s.multiply_in_turns(true); });
    for (int again = 0; again < 3; ++again) EXPECT_EQ(s.run([&] { s.multiply_in_turns(false); }), expected);
    captured made;
    made.capture(s.in, [&] { s.multiply_in_turns(false); });
    for (int replay = 0; replay < 3; ++replay)
      EXPECT_EQ(s.run([&] { ASSERT_CUDA(cudaGraphLaunch(made.ready, native(s.in))); }), expected);
  });
}

TEST_F(SequencesOnGpu, MultipliesAndCopiesSeeWhatTheOthersWrote) {
  for_each_sequence(on, [](sequence& s) {
    const auto expected = s.run([&] { s.multiply_and_copy(true); });
    for (int again = 0; again < times; ++again)
      EXPECT_EQ(s.run([&] { s.multiply_and_copy(false); }), expected);
  });
}

TEST_F(SequencesOnGpu, EachStepSeesWhatTheOneBeforeWrote) {
  for_each_sequence(on, [](sequence& s) {
    nz::vector<double> sums(s.x.where(), std::vector<double>{0.0});
    const auto expected = s.run([&] { s.step_in_turns(true, sums); });
    const auto expected_sum = sums.to_host(s.in);
    for (int again = 0; again < times; ++again) {
      EXPECT_EQ(s.run([&] { s.step_in_turns(false, sums); }), expected);
      EXPECT_EQ(sums.to_host(s.in), expected_sum);
    }
  });
}

TEST_F(SequencesOnGpu, AMultiplyThatWaitsForTwoStreamsCanBeCaptured) {
  for_each_sequence(on, [](sequence& s) {
    const nz::cuda_stream other(s.x.where());
    nz::vector<double> z(s.x.where(), s.x.size());
    const auto expected = s.run([&] {
      s.multiply(s.x, s.y);
      s.multiply(s.y, s.x);
    });
    cudaEvent_t forked = nullptr, joined = nullptr;
    ASSERT_CUDA(cudaEventCreate(&forked));
    ASSERT_CUDA(cudaEventCreate(&joined));
    captured made;
    made.capture(s.in, [&] {
      ASSERT_CUDA(cudaEventRecord(forked, native(s.in)));
      ASSERT_CUDA(cudaStreamWaitEvent(native(other), forked));
      s.ready->multiply(s.scale, s.x, 0.0, s.y, other);
      ASSERT_CUDA(cudaEventRecord(joined, native(other)));
      s.multiply(s.x, z);
      ASSERT_CUDA(cudaStreamWaitEvent(native(s.in), joined));
      s.multiply(s.y, s.x);
    });
    for (int replay = 0; replay < 3; ++replay)
      EXPECT_EQ(s.run([&] { ASSERT_CUDA(cudaGraphLaunch(made.ready, native(s.in))); }), expected);
    ASSERT_CUDA(cudaEventDestroy(forked));
    ASSERT_CUDA(cudaEventDestroy(joined));
  });
}

}  // namespace
