#include <limits>

#include <gtest/gtest.h>

#include <nonzero/cpu/targets.hpp>
#include <nonzero/plan/kernels.hpp>

#include "tests/cpu/any_threads.hpp"
#include "tests/formats/packing_matrices.hpp"

namespace {

using nz::csr;

/// Every kernel of a format that packs, by every instruction set: the product, and its bits for any number of
/// threads. Strangers in runs have their own sums, so x is infinite where a run would read for them alone.
template <class A, class V> void check(const auto& prepare) {
  for (const auto& [name, a] : packing_matrices<A>()) {
    SCOPED_TRACE(name);
    std::vector<V> x = battery::numbers<V>(static_cast<std::size_t>(a.cols), 1);
    std::vector<bool> is_used(x.size());
    for (const nz::index j : a.col) is_used[static_cast<std::size_t>(j)] = true;
    for (std::size_t j = 0; j < x.size(); ++j)
      if (!is_used[j]) x[j] = std::numeric_limits<V>::infinity();
    const std::vector<V> y0 = battery::numbers<V>(static_cast<std::size_t>(a.rows), 2);
    const auto exact = nz::reference::multiply_exactly<V>(V{2}, a, x, V{-1}, y0);
    for (const auto* kernel : {"packed_slices", "binned_one_pass", "binned_two_pass"})
      for (const std::string_view simd : nz::simd_targets()) {
        SCOPED_TRACE(testing::Message() << kernel << " by " << simd);
        const auto ready = prepare(nz::find_kernel(kernel, nz::device_kind::cpu), a, simd);
        expect_right_for_any_threads<V>(*ready, x, y0, exact);
      }
  }
}

constexpr auto prepare = [](const nz::kernel_row& kernel, const auto& a, std::string_view simd) {
  return kernel.prepare(a, {.simd = simd});
};

TEST(PackingKernels, MultiplyFloats) { check<float, float>(prepare); }
TEST(PackingKernels, MultiplyDoubles) { check<double, double>(prepare); }
TEST(PackingKernels, MultiplyFloatsWithDoubles) {
  check<float, double>([](const nz::kernel_row& kernel, const csr<float>& a, std::string_view simd) {
    return kernel.prepare<double>(a, {.simd = simd});
  });
}

}  // namespace
