#include <numeric>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>
// After the language that it is written in: sorted so by its name.
#include <nonzero/gpu/fused_epilogue.cuh>

// How the sums of blocks are added up. The steps themselves are tested over the table of kernels, in
// tests/plan/steps_test.cpp.
namespace {

struct test_queue {
  std::uint64_t launches = 0;

  template <class... Params, class... Args>
  void launch_dependent(const char* name, std::int64_t blocks, int threads, void (*kernel)(Params...),
                        const Args&... args) {
    nz::emulator::launch(name, nz::emulator::line_of_blocks(name, blocks, threads),
                         {.threads = 0, .order = ++launches}, kernel, args...);
  }
};

// Whole numbers, so that the sums are exact whatever their order.
TEST(StepParts, AreAddedUpWhateverTheirNumber) {
  constexpr std::int64_t full = nz::gpu::sums_per_block;
  for (const std::int64_t blocks : {std::int64_t{0}, std::int64_t{1}, std::int64_t{255}, std::int64_t{257},
                                    full - 1, full, full + 1, 2 * full, 30 * full + 7})
    for (const int sums : {1, 2}) {
      SCOPED_TRACE(testing::Message() << blocks << " blocks, " << sums << " sums");
      test_queue queue;
      nz::gpu::scratch_layout layout;
      const nz::gpu::step_scratch scratch(layout, blocks);
      std::vector<double> numbers(layout.bytes() / sizeof(double));
      auto* const set = reinterpret_cast<std::byte*>(numbers.data());
      double* const first = scratch.data(set);
      std::iota(first, first + blocks, 1.0);
      if (sums > 1) std::fill(first + blocks, first + 2 * blocks, 3.0);
      double found[2] = {-1, -1};
      scratch.add_up(queue, sums, found, set);
      EXPECT_EQ(found[0], static_cast<double>(blocks) * static_cast<double>(blocks + 1) / 2);
      EXPECT_EQ(found[1], sums > 1 ? 3.0 * static_cast<double>(blocks) : -1.0);
    }
}

TEST(StepParts, AreThoseOfBlocksAndCutRows) {
  constexpr std::int64_t full = nz::gpu::most_at_once;
  const nz::fused_step<double> step{.measure = {{nz::measured::product}}};
  double to = 0;
  nz::gpu::scratch_layout layout;
  const nz::gpu::step_scratch few(layout, full - 3, 3), many(layout, full - 3, 4);
  std::vector<double> numbers(layout.bytes() / sizeof(double));
  auto* const set = reinterpret_cast<std::byte*>(numbers.data());
  EXPECT_EQ(few.epilogue(step, &to, set).totals, &to);
  EXPECT_EQ(many.epilogue(step, &to, set).totals, nullptr);
  EXPECT_EQ(many.epilogue(step, &to, set).blocks, full - 3);

  test_queue queue;
  std::fill(few.data(set), few.data(set) + full, 2.0);
  few.end_step(queue, 1, &to, set);  // nothing is left to do
  EXPECT_EQ(to, 0);
  std::fill(many.data(set), many.data(set) + full + 1, 2.0);
  many.end_step(queue, 1, &to, set);
  EXPECT_EQ(to, 2.0 * (full + 1));
}

TEST(StepParts, TakeNextToNothing) {
  // A plain multiply of a million rows takes some 10,000 times as much.
  nz::gpu::scratch_layout layout;
  const nz::gpu::step_scratch one(layout, 4000);
  EXPECT_LT(layout.bytes(), 100'000U);
}

}  // namespace
