#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/plan/back_ends.hpp>
#include <nonzero/plan/kernels.hpp>

#include "tests/battery/battery.hpp"
#include "tests/gpu/require_gpu.hpp"
#include "tests/plan/on_every_device.hpp"

// What loops do with vectors, on every device, against sums in long double.
namespace {

template <class On> class VectorKernels : public testing::Test {
 protected:
  using Number = typename On::V;
  void SetUp() override {
    if (On::kind == nz::device_kind::cuda) require_gpu();
    if (!IsSkipped() && !HasFatalFailure()) place = nz::find_device(nz::name_of(On::kind));
  }
  nz::vector<Number> put(const std::vector<Number>& values) const {
    return nz::vector<Number>(place, values);
  }
  /// Ours, and what others are compared with where it is another's.
  std::vector<std::unique_ptr<nz::vector_kernels<Number>>> all(std::size_t size) const {
    std::vector<std::unique_ptr<nz::vector_kernels<Number>>> out;
    out.push_back(nz::functions_on<Number>(*place).make_vector_kernels(place, size));
    try {
      if (On::kind == nz::device_kind::cuda)
        out.push_back(nz::functions_on<Number>(*place).make_blas(place, size));
    } catch (const nz::unsupported&) {  // no cuBLAS there
    }
    return out;
  }

  std::shared_ptr<nz::device> place;
};

using nz::device_kind;
TYPED_TEST_SUITE(VectorKernels, on_every_device, device_names);

// None, one, less than a warp, a tile and one, more than a tile, and for the CPU several chunks.
std::vector<std::size_t> sizes(nz::device_kind kind) {
  if (kind == nz::device_kind::emulator) return {0, 1, 31, 1025, 3000};
  return {0, 1, 17, 4097, 40'000, 1'300'000};
}

template <class V> void expect_near(long double found, long double exact, long double magnitude) {
  EXPECT_LE(std::abs(found - exact), 64 * std::numeric_limits<V>::epsilon() * magnitude)
      << static_cast<double>(found) << ", not " << static_cast<double>(exact);
}

TYPED_TEST(VectorKernels, FindDotsAndNormsWithinRounding) {
  using V = typename TypeParam::V;
  for (const std::size_t n : sizes(TypeParam::kind)) {
    SCOPED_TRACE(n);
    const std::vector<V> x = battery::numbers<V>(n, 1), y = battery::numbers<V>(n, 2);
    long double dot = 0, magnitude = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const long double product = static_cast<long double>(x[i]) * y[i];
      dot += product;
      magnitude += std::abs(product);
      squares += static_cast<long double>(x[i]) * x[i];
    }
    const auto device_x = this->put(x), device_y = this->put(y);
    for (const auto& kernels : this->all(n)) {
      SCOPED_TRACE(kernels->name());
      nz::vector<V> found = this->put({7, 7, 7});
      kernels->dot(device_x, device_y, found, 0);
      kernels->norm2(device_x, found, 2);
      expect_near<V>(found.to_host()[0], dot, magnitude);
      expect_near<V>(found.to_host()[2], std::sqrt(squares), std::sqrt(squares));
      EXPECT_EQ(found.to_host()[1], V{7});
    }
  }
}

TYPED_TEST(VectorKernels, AddAndScaleByFactorsOfTheHostAndOfTheDevice) {
  using V = typename TypeParam::V;
  for (const std::size_t n : sizes(TypeParam::kind)) {
    SCOPED_TRACE(n);
    const std::vector<V> x = battery::numbers<V>(n, 3), y = battery::numbers<V>(n, 4);
    const auto device_x = this->put(x);
    for (const auto& kernels : this->all(n)) {
      SCOPED_TRACE(kernels->name());
      nz::vector<V> z = this->put(y), numbers = this->put({3, 4, 0, 0});
      kernels->divide(numbers, 0, 1, 2);       // 0.75 and -0.75
      kernels->axpy(V{-2}, device_x, z);       // y - 2x
      kernels->axpy(numbers, 3, device_x, z);  // y - 2.75x
      kernels->scale(V{4}, z);
      kernels->scale(numbers, 2, z);  // 3y - 8.25x
      kernels->multiply(z, device_x, z);
      EXPECT_EQ(numbers.to_host(), (std::vector<V>{3, 4, V{0.75}, V{-0.75}}));
      const std::vector<V> found = z.to_host();
      for (std::size_t i = 0; i < n; ++i) {
        const long double at = x[i], exact = (3.0L * y[i] - 8.25L * at) * at;
        ASSERT_NO_FATAL_FAILURE(
            expect_near<V>(found[i], exact, (3 * std::abs(y[i]) + 8.25L * std::abs(at)) * std::abs(at)));
      }
    }
  }
}

TYPED_TEST(VectorKernels, DivideByWhatIsAboveNothingOnly) {
  using V = typename TypeParam::V;
  for (const auto& kernels : this->all(1))
    for (const V under : {V{0}, V{-2}, std::numeric_limits<V>::quiet_NaN()}) {
      nz::vector<V> numbers = this->put({3, under, 7, 7});
      kernels->divide(numbers, 0, 1, 2);
      EXPECT_EQ(numbers.to_host()[2], V{0});
      EXPECT_EQ(numbers.to_host()[3], V{0});
    }
}

TYPED_TEST(VectorKernels, HaveTheSameBitsEveryTimeAndForAnyThreads) {
  using V = typename TypeParam::V;
  const std::size_t n = TypeParam::kind == device_kind::emulator ? 5'000 : 300'000;
  const auto x = this->put(battery::numbers<V>(n, 5)), y = this->put(battery::numbers<V>(n, 6));
  const auto kernels = nz::functions_on<V>(*this->place).make_vector_kernels(this->place, n);
  nz::vector<V> found = this->put({0, 0, 0, 0, 0});
  std::size_t at = 0;
  for (const int threads : {1, 2, 3, 5, 8}) {
    const nz::thread_limit scope(threads);
    kernels->dot(x, y, found, at++);
  }
  for (const V value : found.to_host()) EXPECT_EQ(value, found.to_host()[0]);
}

TYPED_TEST(VectorKernels, RefuseWhatDoesNotFitOrLiesElsewhere) {
  using V = typename TypeParam::V;
  const auto kernels = nz::functions_on<V>(*this->place).make_vector_kernels(this->place, 3);
  nz::vector<V> x = this->put({1, 2, 3}), longer = this->put({1, 2, 3, 4}), number = this->put({1});
  const auto elsewhere = nz::find_device(TypeParam::kind == device_kind::cpu ? "emulator" : "cpu");
  nz::vector<V> far(elsewhere, std::vector<V>{1, 2, 3});
  EXPECT_THROW(kernels->dot(x, longer, number, 0), nz::shape_error);
  EXPECT_THROW(kernels->dot(x, x, number, 1), nz::shape_error);
  EXPECT_THROW(kernels->axpy(V{1}, x, longer), nz::shape_error);
  EXPECT_THROW(kernels->axpy(V{1}, far, x), nz::device_error);
  EXPECT_THROW(kernels->norm2(x, far, 0), nz::device_error);
  EXPECT_THROW(kernels->divide(number, 0, 0, 0), nz::shape_error);
}

}  // namespace
