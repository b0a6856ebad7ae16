#include <cstring>
#include <iostream>

#include <gtest/gtest.h>

#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"
#include "tests/gpu/require_gpu.hpp"

namespace {

/// cuSPARSE's kernels of the table. They are not ours to mend, so they are held only to what their
/// documentation promises: columns that repeat, NaN and infinity are left out.
template <class V> class PeersOnGpu : public OnGpu {
 protected:
  static bool is_promised(const std::string& name) {
    return name != "unsorted, with duplicates" && name != "NaN and infinity";
  }
  /// Calls body(kernel, name, a, ready) with every peer and matrix, where cuSPARSE takes them.
  void for_each(bool wide, const auto& body) {
    for (const nz::kernel_row& kernel : nz::cuda_kernels()) {
      if (!kernel.is_peer) continue;
      for (const auto& [name, a] : battery::matrices<V>()) {
        if (!is_promised(name)) continue;
        SCOPED_TRACE(std::string(kernel.name) + " on " + name + (wide ? ", wide offsets" : ""));
        std::unique_ptr<nz::prepared_matrix<V>> ready;
        try {
          ready = kernel.prepare(a, {.budget = {1e9}, .on = on, .wide_offsets = wide});
        } catch (const nz::unsupported& e) {
          ASSERT_TRUE(wide) << e.what();  // offsets of 64 bits beside columns of 32 are not for every format
          std::cout << "  not supported: " << kernel.name << ": " << e.what() << "\n";
          break;
        }
        body(kernel, a, *ready);
      }
    }
  }
};

using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(PeersOnGpu, precisions);

TYPED_TEST(PeersOnGpu, AreWithinTheErrorBound) {
  using V = TypeParam;
  for (const bool wide : {false, true})
    this->for_each(wide, [](const nz::kernel_row&, const nz::csr<V>& a, const nz::prepared_matrix<V>& ready) {
      const auto x = battery::numbers<V>(a.cols, 70), y0 = battery::numbers<V>(a.rows, 71);
      for (const auto& [alpha, beta] : {std::pair<V, V>{V{-2.5}, V{0.75}}, {1, 0}}) {
        std::vector<V> y = y0;
        ready.multiply(alpha, x, beta, y);
        const auto exact = nz::reference::multiply_exactly<V>(alpha, a, x, beta, y0);
        EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L) << "alpha " << alpha << ", beta " << beta;
      }
    });
}

TYPED_TEST(PeersOnGpu, ThatSayTheyAreRepeatableAre) {
  using V = TypeParam;
  this->for_each(false, [&](const nz::kernel_row& kernel, const nz::csr<V>& a,
                            const nz::prepared_matrix<V>& ready) {
    if (!kernel.is_repeatable) return;
    const nz::vector<V> x(this->on, battery::numbers<V>(a.cols, 72));
    nz::vector<V> y(this->on, static_cast<std::size_t>(a.rows));
    ready.multiply(V{1}, x, V{0}, y);
    const std::vector<V> first = y.to_host();
    for (int run = 1; run < 100; ++run) {
      ready.multiply(V{1}, x, V{0}, y);
      const std::vector<V> again = y.to_host();
      ASSERT_TRUE(a.rows == 0 || std::memcmp(first.data(), again.data(), y.bytes()) == 0) << "run " << run;
    }
  });
}

TYPED_TEST(PeersOnGpu, RefuseADeviceThatIsNoGpu) {
  const nz::csr<TypeParam> a{1, 1, {0, 1}, {0}, {1}};
  for (const nz::kernel_row& kernel : nz::cuda_kernels()) {
    if (!kernel.is_peer) continue;
    EXPECT_THROW(kernel.prepare(a, {.on = nz::cpu_device()}), nz::device_error) << kernel.name;
  }
}

}  // namespace
