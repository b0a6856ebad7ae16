#include <array>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/queue_internal.hpp>

namespace {

class EmulatorQueue : public testing::Test {
 protected:
  nz::emulator_queue queue{*nz::emulator_device(), {}};
};

TEST_F(EmulatorQueue, SumsWhatComesBefore) {
  const std::vector<std::int64_t> in{3, 0, 4, 1};
  std::vector<std::int64_t> out(4);
  queue.exclusive_sum(in.data(), out.data(), 4);
  EXPECT_EQ(out, (std::vector<std::int64_t>{0, 3, 3, 7}));
  out = in;
  queue.exclusive_sum(out.data(), out.data(), 4);
  EXPECT_EQ(out, (std::vector<std::int64_t>{0, 3, 3, 7}));
  queue.exclusive_sum(out.data(), out.data(), 0);
}

TEST_F(EmulatorQueue, SortsPairsByTheLowestBitsAndKeepsTheOrderOfEqualOnes) {
  const std::vector<std::uint32_t> keys{0x105, 2, 0x205, 1, 2};
  const std::vector<std::int32_t> values{10, 11, 12, 13, 14};
  std::vector<std::uint32_t> sorted(5);
  std::vector<std::int32_t> moved(5);
  queue.sort_pairs(keys.data(), sorted.data(), values.data(), moved.data(), 5);
  EXPECT_EQ(sorted, (std::vector<std::uint32_t>{1, 2, 2, 0x105, 0x205}));
  EXPECT_EQ(moved, (std::vector<std::int32_t>{13, 11, 14, 10, 12}));
  queue.sort_pairs(keys.data(), sorted.data(), values.data(), moved.data(), 5, 8);
  EXPECT_EQ(sorted, (std::vector<std::uint32_t>{1, 2, 2, 0x105, 0x205}));
  EXPECT_EQ(moved, (std::vector<std::int32_t>{13, 11, 14, 10, 12}));
  queue.sort_pairs(keys.data(), sorted.data(), values.data(), moved.data(), 5, 1);
  EXPECT_EQ(moved, (std::vector<std::int32_t>{11, 14, 10, 12, 13}));
}

TEST_F(EmulatorQueue, FindsSumsAndLargestAlsoOfNone) {
  const std::vector<std::int32_t> in{3, -5, 4};
  std::int32_t out = -1;
  queue.sum(in.data(), &out, 3);
  EXPECT_EQ(queue.read(&out), 2);
  queue.sum(in.data(), &out, 0);
  EXPECT_EQ(out, 0);
  queue.largest(in.data(), &out, 3);
  EXPECT_EQ(out, 4);
  queue.largest(in.data(), &out, 0);
  EXPECT_EQ(out, std::numeric_limits<std::int32_t>::lowest());
}

TEST_F(EmulatorQueue, ReadsSeveralNumbersAtOnce) {
  const double one = 1.5;
  const std::int64_t other = 7;
  EXPECT_EQ(queue.read(&one, &other), (std::tuple<double, std::int64_t>{1.5, 7}));
}

}  // namespace
