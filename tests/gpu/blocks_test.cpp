#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
// After the language that it is written in.
#include <nonzero/gpu/convert/blocks.cuh>

namespace {

using nz::index;

/// Columns of 2^31 entries, of which only the pages that are written take memory.
class two_billion_columns {
 public:
  two_billion_columns()
      : memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                     0)) {}
  two_billion_columns(const two_billion_columns&) = delete;
  two_billion_columns& operator=(const two_billion_columns&) = delete;
  ~two_billion_columns() {
    if (are_there()) munmap(memory_, bytes);
  }
  bool are_there() const { return memory_ != MAP_FAILED; }
  index* data() const { return static_cast<index*>(memory_); }

 private:
  static constexpr std::size_t bytes = sizeof(index) << 31;
  void* memory_;
};

// Offsets of 32 bits count up to 2^31 - 256. The place of an entry in a long row, counted from where the next
// row begins, is past that.
TEST(Blocks, AreCountedInTheLastRowsThat32BitsCanCount) {
  constexpr std::int32_t end = std::numeric_limits<std::int32_t>::max() - 256, long_row = 1000,
                         short_row = 50;
  const two_billion_columns col;
  if (!col.are_there()) GTEST_SKIP() << "there is no room for 8 GiB of addresses";
  const std::vector<std::int32_t> row_begin = {end - short_row - long_row, end - short_row, end};
  for (index k = 0; k < long_row; ++k) col.data()[row_begin[0] + k] = k;
  for (index k = 0; k < short_row; ++k) col.data()[row_begin[1] + k] = k + long_row - short_row;
  std::vector<std::int32_t> blocks(2, -1);
  nz::emulator_queue queue(*nz::emulator_device(), {});
  queue.launch("count_blocks", 1, 64, nz::gpu::count_blocks_kernel<2, std::int32_t>, index{2}, index{1},
               std::numeric_limits<std::int32_t>::max(), row_begin.data(),
               static_cast<const index*>(col.data()), blocks.data());
  EXPECT_EQ(blocks, (std::vector<std::int32_t>{short_row / 2, 0}));
}

}  // namespace
