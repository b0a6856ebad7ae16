#include <functional>
#include <new>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
// After the language that it is written in.
#include <nonzero/gpu/merge_tiles.cuh>
#include <nonzero/io/generate.hpp>
#include <nonzero/plan/measuring_internal.hpp>
#include <nonzero/plan/plan.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"

// What the planner does where memory does not suffice for all that it tries.
namespace {

/// An emulated GPU that has no memory where `refuses` says so.
class device_with_little_memory final : public nz::emulated_gpu {
 public:
  std::function<bool(std::size_t bytes)> refuses = [](std::size_t) { return false; };
  std::uint64_t used = 0;

  void* allocate(std::size_t bytes) override {
    if (refuses(bytes)) throw std::bad_alloc();
    void* const memory = emulated_gpu::allocate(bytes);
    used += bytes;
    return memory;
  }
  void release(void* memory, std::size_t bytes) noexcept override {
    emulated_gpu::release(memory, bytes);
    used -= bytes;
  }
};

void expect_right(const nz::plan<double>& made, const nz::csr<double>& a) {
  const auto x = battery::numbers<double>(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  const auto exact = nz::reference::multiply_exactly<double>(1, a, x, 0, y);
  made.multiply(x, y);
  EXPECT_LE(nz::reference::largest_error<double>(exact, y), 1.0L);
}

TEST(LittleMemory, DropsTheCandidateThatItIsTooLittleFor) {
  const auto on = std::make_shared<device_with_little_memory>();
  const auto a = nz::generate::from_spec<double>("poisson2d:180");
  {
    const auto placed = nz::place_csr(a, on);
    const std::size_t tiles = nz::gpu::tiles_for(a.rows + a.nnz());
    on->refuses = [=](std::size_t bytes) { return bytes == (tiles + 1) * sizeof(nz::index); };
    const auto made = nz::make_plan(placed, {.expected_multiplies = 100});
    expect_right(made, a);
    EXPECT_NE(made.kernel(), "csr_merge");
    for (const nz::plan_candidate& c : made.report().candidates) {
      if (c.kernel == "csr_merge") {
        EXPECT_EQ(c.verdict, "there is too little memory for it");
      }
    }
  }
  EXPECT_EQ(on->used, 0U);
}

TEST(LittleMemory, KeepsAKernelOfCsrThatItSufficesFor) {
  const auto on = std::make_shared<device_with_little_memory>();
  const auto a = nz::generate::dense_rows<double>(3000, 3, 4);
  int failed = 0, made_anyway = 0;
  for (int refused = 0; failed + made_anyway == refused; ++refused) {
    const auto placed = nz::place_csr(a, on);
    int number = 0;
    bool was_refused = false;
    on->refuses = [&](std::size_t) {
      const bool is_it = number++ == refused;
      was_refused = was_refused || is_it;
      return is_it;
    };
    try {
      const auto made = nz::make_plan(placed, {.expected_multiplies = 1});
      if (!was_refused) break;
      ++made_anyway;
      expect_right(made, a);
    } catch (const std::bad_alloc&) {
      ++failed;
    }
    on->refuses = [](std::size_t) { return false; };
  }
  EXPECT_GT(made_anyway, 0);
  EXPECT_EQ(on->used, 0U);
}

/// A matrix of one number. Its text may take more memory than there is.
class one_number final : public nz::prepared_matrix<double> {
 public:
  explicit one_number(bool is_out_of_memory)
      : prepared_matrix(1, 1, nz::cpu_device()), is_out_of_memory_(is_out_of_memory) {}
  nz::footprint storage() const override { return {8, 0}; }
  std::string encodings() const override {
    if (is_out_of_memory_) throw std::bad_alloc();
    return {};
  }

 private:
  void run(double alpha, const double* x, double beta, double* y, nz::stream) const override {
    *y = alpha * *x + beta * *y;
  }
  bool is_out_of_memory_;
};

/// A matrix that is twice as fast in another order, for which there is too little memory in the end.
class fast_in_another_order final : public nz::measuring<double> {
 public:
  explicit fast_in_another_order(bool is_ordered = false) : measuring(begin()), is_ordered_(is_ordered) {}
  std::string why_not_measured() const override { return {}; }
  std::vector<const nz::kernel_row*> unmeasured_kernels(nz::plan_report&) override { return {}; }
  std::string find_choice_key() const override { return "key"; }
  bool has(const nz::kernel_row&) const override { return false; }
  std::unique_ptr<nz::prepared_matrix<double>> prepare(const nz::kernel_row&, nz::padding_budget) override {
    return take_baseline();
  }
  void survey(nz::plan_report&) override {}
  std::vector<nz::plan_candidate> measure_base() override {
    return {nz::baseline_candidate("csr_balanced", time_baseline(), 8)};
  }
  std::unique_ptr<nz::prepared_matrix<double>> take_baseline() override {
    return std::make_unique<one_number>(is_ordered_);
  }
  void predict(const nz::kernel_row&, nz::plan_candidate&) override {}
  double time(const nz::prepared_matrix<double>&) override { return time_baseline(); }
  double time_baseline() override { return is_ordered_ ? 0.5 : 1.0; }
  std::unique_ptr<measuring> reorder() override { return std::make_unique<fast_in_another_order>(true); }
  bool could_reorder(const nz::plan_report&) const override { return true; }

 private:
  static nz::plan_report begin() {
    nz::plan_report out;
    out.csr_bytes = 8;
    out.memory_budget = 1000;
    return out;
  }
  bool is_ordered_;
};

TEST(LittleMemory, LeavesNoTraceOfAnOrderThatItWasTooLittleFor) {
  fast_in_another_order m;
  const auto made = nz::make_plan_by<double>(m, {.expected_multiplies = 1000});
  EXPECT_FALSE(made.report().is_reordered);
  EXPECT_EQ(made.report().chosen_seconds, 1.0);
  EXPECT_EQ(made.report().reason.find("old order"), std::string::npos) << made.report().reason;
}

}  // namespace
