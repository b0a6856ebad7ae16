#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/queue_internal.hpp>
#include <nonzero/gpu/integer_facts.cuh>
#include <nonzero/kernel/device_csr.hpp>

// What a GPU says of row offsets and columns that the host cannot look at.
namespace {

template <class T> class IntegerFacts : public testing::Test {
 protected:
  static nz::integer_facts of(const std::vector<T>& numbers) {
    return nz::gpu::examine<nz::emulator_queue>(*nz::emulator_device(), numbers.data(), numbers.size(), {});
  }
  /// The host finds out the same.
  static void expect_same(const nz::integer_facts& found, const std::vector<T>& numbers) {
    const nz::integer_facts here = nz::cpu_device()->examine(numbers.data(), numbers.size());
    EXPECT_EQ(found.smallest, here.smallest);
    EXPECT_EQ(found.largest, here.largest);
    EXPECT_EQ(found.is_ascending, here.is_ascending);
  }
};
using types = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(IntegerFacts, types);

TYPED_TEST(IntegerFacts, OfAnyNumberOfIntegers) {
  for (const std::size_t count : {0, 1, 2, 31, 33, 257, 5000, 40001}) {
    SCOPED_TRACE(count);
    std::vector<TypeParam> numbers(count);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<TypeParam>(i / 3) - 7;
    const nz::integer_facts found = this->of(numbers);
    EXPECT_TRUE(found.is_ascending);
    this->expect_same(found, numbers);
    if (count == 0) continue;
    EXPECT_EQ(found.smallest, -7);
    EXPECT_EQ(found.largest, numbers.back());
  }
}

TYPED_TEST(IntegerFacts, SeeOneThatIsWrongWhereverItIs) {
  constexpr TypeParam lowest = std::numeric_limits<TypeParam>::min(),
                      highest = std::numeric_limits<TypeParam>::max();
  std::vector<TypeParam> numbers(9001, 5);
  for (const std::size_t at : {0, 1, 31, 32, 255, 256, 2047, 2048, 8191, 8999, 9000})
    for (const TypeParam wrong : {lowest, highest}) {
      SCOPED_TRACE(at);
      numbers[at] = wrong;
      const nz::integer_facts found = this->of(numbers);
      EXPECT_EQ(found.smallest, std::min<std::int64_t>(5, wrong));
      EXPECT_EQ(found.largest, std::max<std::int64_t>(5, wrong));
      EXPECT_EQ(found.is_ascending, wrong == lowest ? at == 0 : at == 9000);
      this->expect_same(found, numbers);
      numbers[at] = 5;
    }
}

}  // namespace
