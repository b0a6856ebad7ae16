#include <atomic>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/cpu/kernels.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/plan/back_ends.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/plan.hpp>
#include <nonzero/plan/reorder.hpp>

#include "tests/battery/battery.hpp"

// Everything const may be called from any number of threads at once: each call finds what a call alone finds.
namespace {

/// How many of the calls that 8 threads make at once are wrong.
int wrong_calls(const std::function<bool(int thread)>& is_right) {
  constexpr int threads = 8, calls = 4;
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> all;
    all.reserve(threads);
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        for (int i = 0; i < calls; ++i) wrong += is_right(t) ? 0 : 1;
      });
  }
  return wrong;
}

bool have_same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// Products and fused steps, from an x for each thread.
void expect_right_from_many_threads(const nz::prepared_matrix<double>& ready) {
  struct work {
    std::vector<double> x, x0, y0, product, stepped;
    std::vector<double> sums = std::vector<double>(1);
  };
  const auto multiply = [&](const work& w, std::vector<double>& y) {
    y = w.y0;
    ready.multiply(2, w.x, -1, y);
  };
  const auto step = [&](const work& w, std::vector<double>& y, std::vector<double>& sums) {
    y = w.y0;
    const nz::fused_step<double> what{
        .alpha = -0.5, .b = w.x0.data(), .measure = {{.what = nz::measured::squared_distance}}};
    ready.apply(std::span<const double>(w.x), what, std::span(y), std::span(sums));
  };
  std::vector<work> all(8);
  for (unsigned t = 0; t < all.size(); ++t) {
    all[t].x = battery::numbers<double>(static_cast<std::size_t>(ready.cols()), t);
    all[t].x0 = battery::numbers<double>(static_cast<std::size_t>(ready.rows()), t + 50);
    all[t].y0 = battery::numbers<double>(static_cast<std::size_t>(ready.rows()), t + 100);
    multiply(all[t], all[t].product);
    step(all[t], all[t].stepped, all[t].sums);
  }
  EXPECT_EQ(wrong_calls([&](int thread) {
              const work& mine = all[static_cast<std::size_t>(thread)];
              std::vector<double> y, sums(1);
              multiply(mine, y);
              if (!have_same_bits(y, mine.product)) return false;
              step(mine, y, sums);
              return have_same_bits(y, mine.stepped) && have_same_bits(sums, mine.sums);
            }),
            0);
}

/// Long rows, which are split; scattered columns; blocks, and a symmetric matrix, which some kernels demand.
const std::vector<std::string> specs = {"dense_rows:20000:3:2", "rmat:13", "fem:8"};

TEST(Concurrent, ProductsAndStepsOfEveryKernelAreThoseOfACallAlone) {
  for (const std::string& spec : specs) {
    const auto a = nz::generate::from_spec<double>(spec);
    for (const nz::kernel_row& kernel : nz::cpu_kernels()) {
      SCOPED_TRACE(testing::Message() << kernel.name << " on " << spec);
      std::unique_ptr<nz::prepared_matrix<double>> ready;
      try {
        ready = kernel.prepare(a);
      } catch (const nz::unsupported&) {
        continue;  // too much padding, or not symmetric
      }
      expect_right_from_many_threads(*ready);
    }
  }
}

TEST(Concurrent, ProductsOfAReorderedMatrixAreThoseOfACallAlone) {
  const auto a = nz::generate::poisson_2d<double>(100, 90);
  const auto order = nz::reverse_cuthill_mckee(a);
  expect_right_from_many_threads(*nz::make_reordered<double>(
      nz::find_kernel("csr_balanced").prepare(nz::permute_symmetric<double>(a, order)), order));
}

TEST(Concurrent, ProductsOfOnePlanAreThoseOfACallAlone) {
  const auto a = nz::generate::from_spec<double>("rmat:13");
  const auto plan = nz::make_plan(a, {.expected_multiplies = 1'000'000});
  expect_right_from_many_threads(plan.prepared());
}

TEST(Concurrent, DotProductsAreThoseOfACallAlone) {
  constexpr std::size_t size = 40'000;
  const auto on = nz::cpu_device();
  const auto kernels = nz::functions_on<double>(*on).make_vector_kernels(on, size);
  const auto dot = [&](const nz::vector<double>& x) {
    nz::vector<double> out(on, 1);
    kernels->dot(x, x, out, 0);
    return out.to_host();
  };
  std::vector<nz::vector<double>> x;
  std::vector<std::vector<double>> expected;
  for (unsigned t = 0; t < 8; ++t) {
    x.emplace_back(on, battery::numbers<double>(size, t));
    expected.push_back(dot(x.back()));
  }
  EXPECT_EQ(wrong_calls([&](int t) {
              const auto mine = static_cast<std::size_t>(t);
              return dot(x[mine]) == expected[mine];
            }),
            0);
}

}  // namespace
