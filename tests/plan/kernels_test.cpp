#include <cstring>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"
#include "tests/battery/may_refuse.hpp"
#include "tests/formats/identical.hpp"
#include "tests/gpu/require_gpu.hpp"
#include "tests/plan/on_every_device.hpp"

namespace {

using nz::device_kind;

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

/// Our own kernels of the table, on one device and in one precision.
template <class On> class Kernels : public testing::Test {
 protected:
  void SetUp() override {
    if (On::kind == device_kind::cuda) require_gpu();
  }
};

TYPED_TEST_SUITE(Kernels, on_every_device, device_names);

/// Calls body(kernel) for each of our kernels on the device.
template <class On> void for_each_kernel(const auto& body) {
  for (const nz::kernel_row& kernel : nz::kernels())
    if (kernel.runs_on == On::kind && !kernel.is_peer) body(kernel);
}

/// `a` for a kernel; null where its format is only for some matrices and refuses this one.
template <class Matrix>
auto prepare_if_suited(const nz::kernel_row& kernel, const Matrix& a, const nz::prepare_options& options) {
  try {
    return kernel.prepare(a, options);
  } catch (const nz::unsupported&) {
    if (!needs_structure(kernel.format)) throw;
    return decltype(kernel.prepare(a, options))();
  }
}

template <class V> struct scalars { V alpha, beta; };

template <class V> struct product {
  V alpha, beta;
  nz::reference::exact_product exact;
};

/// The emulator takes seconds for what a GPU does in microseconds.
template <class On> bool is_slow(const auto& a) {
  return On::kind == device_kind::emulator && a.nnz() > 100'000;
}

/// With both widths of offsets, and with vectors of the host and of the device: on a GPU each with each.
template <class On, class V = typename On::V>
void check(const nz::kernel_row& kernel, const nz::csr<V>& a, const std::vector<V>& x,
           const std::vector<V>& y0, const std::vector<product<V>>& products) {
  for (const bool wide : {false, true}) {
    if (wide && is_slow<On>(a)) continue;
    const auto ready = prepare_if_suited(kernel, a, {.budget = no_limit, .wide_offsets = wide});
    if (!ready) continue;
    for (const auto& [alpha, beta, exact] : products) {
      SCOPED_TRACE(testing::Message()
                   << "alpha " << alpha << ", beta " << beta << (wide ? ", wide offsets" : ""));
      if (!wide || On::kind == device_kind::cuda) {
        std::vector<V> y = y0;
        ready->multiply(alpha, x, beta, y);
        EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L) << "with vectors of the host";
      }
      if (wide || On::kind == device_kind::cuda) {
        const nz::vector<V> device_x(ready->where(), x);
        nz::vector<V> device_y(ready->where(), y0);
        ready->multiply(alpha, device_x, beta, device_y);
        EXPECT_LE(nz::reference::largest_error<V>(exact, device_y.to_host()), 1.0L)
            << "with vectors of the device";
      }
    }
  }
}

/// Every kernel on every matrix of the battery, against the product in long double.
template <class On, class V = typename On::V>
void check_all(std::initializer_list<scalars<V>> all_scalars, const auto& make_x, const auto& make_y) {
  for (const auto& [name, a] : battery::matrices<V>()) {
    const std::vector<V> x = make_x(a), y0 = make_y(a);
    std::vector<product<V>> products;
    for (const auto& [alpha, beta] : all_scalars)
      if (products.empty() || !is_slow<On>(a))
        products.push_back({alpha, beta, nz::reference::multiply_exactly<V>(alpha, a, x, beta, y0)});
    for_each_kernel<On>([&, &named = name, &matrix = a](const nz::kernel_row& kernel) {
      SCOPED_TRACE(std::string(kernel.name) + " on " + named);
      check<On>(kernel, matrix, x, y0, products);
    });
  }
}

TYPED_TEST(Kernels, AreWithinTheErrorBoundOnTheWholeBattery) {
  using V = typename TypeParam::V;
  check_all<TypeParam>(
      {{V{-2.5}, V{0.75}}, {1, 0}, {1, 1}, {0, 2}, {0, 0}},
      [](const auto& a) { return battery::numbers<V>(a.cols, 1); },
      [](const auto& a) { return battery::numbers<V>(a.rows, 2); });
}

TYPED_TEST(Kernels, NeverReadYWhenBetaIsZero) {
  using V = typename TypeParam::V;
  check_all<TypeParam>(
      {{1, 0}}, [](const auto& a) { return battery::numbers<V>(a.cols, 3); },
      [](const auto& a) { return std::vector<V>(a.rows, std::numeric_limits<V>::quiet_NaN()); });
}

// Padding that is multiplied instead of skipped would show here: 0 * infinity is NaN.
TYPED_TEST(Kernels, KeepNanAndInfinityOfXWhereTheyBelong) {
  using V = typename TypeParam::V;
  check_all<TypeParam>(
      {{1, 0}},
      [](const auto& a) {
        auto x = battery::numbers<V>(a.cols, 4);
        if (!x.empty()) x.back() = std::numeric_limits<V>::quiet_NaN();
        if (!x.empty()) x.front() = std::numeric_limits<V>::infinity();
        return x;
      },
      [](const auto& a) { return std::vector<V>(a.rows, 0); });
}

// The emulator takes blocks and warps in another order at every launch; a GPU does so by itself.
TYPED_TEST(Kernels, ThatSayTheyAreRepeatableAre) {
  using V = typename TypeParam::V;
  constexpr device_kind kind = TypeParam::kind;
  const int runs = kind == device_kind::cpu ? 3 : 100;
  for_each_kernel<TypeParam>([&](const nz::kernel_row& kernel) {
    if (!kernel.is_repeatable) return;
    for (const auto& [name, a] : battery::matrices<V>()) {
      if (kind == device_kind::emulator && (a.rows > 1100 || a.nnz() > 10'000)) continue;
      SCOPED_TRACE(std::string(kernel.name) + " on " + name);
      const auto ready = prepare_if_suited(kernel, a, {.budget = no_limit});
      if (!ready) continue;
      const nz::vector<V> x(ready->where(), battery::numbers<V>(a.cols, 5));
      nz::vector<V> y(ready->where(), static_cast<std::size_t>(a.rows));
      ready->multiply(V{1}, x, V{0}, y);
      const std::vector<V> first = y.to_host();
      for (int run = 1; run < runs; ++run) {
        ready->multiply(V{1}, x, V{0}, y);
        const std::vector<V> again = y.to_host();
        ASSERT_TRUE(a.rows == 0 || std::memcmp(first.data(), again.data(), y.bytes()) == 0) << "run " << run;
      }
    }
  });
}

/// As a csr of the host, or as one in the device's memory: the same bits, and the same bytes taken.
template <class V>
void check_placed(const nz::kernel_row& kernel, const nz::csr<V>& a,
                  const std::shared_ptr<const nz::device_csr<V>>& placed) {
  const nz::prepare_options options{.budget = no_limit, .wide_offsets = placed->is_wide()};
  const auto from_host = prepare_if_suited(kernel, a, options);
  const auto from_device = prepare_if_suited(kernel, placed, options);
  ASSERT_EQ(from_host == nullptr, from_device == nullptr);
  if (!from_host) return;
  EXPECT_EQ(from_host->storage(), from_device->storage());
  EXPECT_EQ(from_device->where(), placed->where());
  const nz::vector<V> x(placed->where(), battery::numbers<V>(a.cols, 6));
  std::vector<V> results[2];
  for (const auto* ready : {from_host.get(), from_device.get()}) {
    nz::vector<V> y(placed->where(), battery::numbers<V>(a.rows, 7));
    ready->multiply(V{2}, x, V{-1}, y);
    results[ready == from_device.get()] = y.to_host();
  }
  if (!kernel.is_repeatable || a.rows == 0) return;
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), results[0].size() * sizeof(V)), 0);
}

TYPED_TEST(Kernels, GiveTheSameForAMatrixInTheDevicesMemory) {
  using V = typename TypeParam::V;
  if (TypeParam::kind == device_kind::cpu) GTEST_SKIP() << "they take none";
  const auto on = nz::find_device(nz::name_of(TypeParam::kind));
  for (const auto& [name, a] : battery::matrices<V>()) {
    if (is_slow<TypeParam>(a)) continue;
    for (const bool wide : {false, true}) {
      const auto placed = nz::place_csr(a, on, wide);
      for_each_kernel<TypeParam>([&, &named = name, &matrix = a](const nz::kernel_row& kernel) {
        SCOPED_TRACE(std::string(kernel.name) + " on " + named + (wide ? ", wide offsets" : ""));
        check_placed(kernel, matrix, placed);
      });
      EXPECT_EQ(placed.use_count(), 1);
      expect_identical(to_host(*placed), a);
    }
  }
}

TYPED_TEST(Kernels, ThatTakeCsrShareTheDevicesMatrix) {
  using V = typename TypeParam::V;
  if (TypeParam::kind == device_kind::cpu) GTEST_SKIP() << "they take none";
  const nz::csr<V> a{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 1, 1, 1}};
  for_each_kernel<TypeParam>([&](const nz::kernel_row& kernel) {
    auto placed = nz::place_csr(a, nz::find_device(nz::name_of(TypeParam::kind)));
    const std::weak_ptr<const nz::device_csr<V>> watched = placed;
    const auto ready = kernel.prepare(placed);
    placed.reset();
    EXPECT_EQ(!watched.expired(), kernel.format == "csr") << kernel.name;
    std::vector<V> x(2, 1), y(2);
    ready->multiply(V{1}, x, V{0}, y);
    EXPECT_EQ(y, (std::vector<V>{2, 2})) << kernel.name;
  });
}

TYPED_TEST(Kernels, RefuseAMatrixInTheMemoryOfAnotherDevice) {
  using V = typename TypeParam::V;
  const nz::csr<V> a{1, 1, {0, 1}, {0}, {1}};
  const auto elsewhere = nz::place_csr(a, nz::cpu_device());
  for_each_kernel<TypeParam>([&](const nz::kernel_row& kernel) {
    if (TypeParam::kind == device_kind::cpu) {
      EXPECT_THROW(kernel.prepare(elsewhere), nz::unsupported) << kernel.name;
      return;
    }
    EXPECT_THROW(kernel.prepare(elsewhere), nz::device_error) << kernel.name;
    const auto here = nz::place_csr(a, nz::find_device(nz::name_of(TypeParam::kind)));
    EXPECT_THROW(kernel.prepare(here, {.on = nz::cpu_device()}), nz::device_error) << kernel.name;
  });
}

TYPED_TEST(Kernels, RefuseVectorsThatDoNotFit) {
  using V = typename TypeParam::V;
  for (const nz::index cols : {2, 3}) {  // kernels of symmetric matrices take two
    const nz::csr<V> a{2, cols, {0, 2, 4}, {0, 1, 0, 1}, {1, 1, 1, 1}};
    for_each_kernel<TypeParam>([&](const nz::kernel_row& kernel) {
      const auto ready = cols == 2 ? kernel.prepare(a) : prepare_if_suited(kernel, a, {});
      if (!ready) return;
      std::vector<V> x(static_cast<std::size_t>(cols), 1), y(2, 1), wrong(4, 1);
      EXPECT_THROW(ready->multiply(V{1}, wrong, V{0}, y), nz::shape_error);
      EXPECT_THROW(ready->multiply(V{1}, x, V{0}, wrong), nz::shape_error);
    });
  }
}

TYPED_TEST(Kernels, RefuseADeviceOfAnotherKind) {
  using V = typename TypeParam::V;
  const nz::csr<V> a{1, 1, {0, 1}, {0}, {1}};
  for_each_kernel<TypeParam>([&](const nz::kernel_row& kernel) {
    const auto other = TypeParam::kind == device_kind::cpu ? nz::find_device("emulator") : nz::cpu_device();
    EXPECT_THROW(kernel.prepare(a, {.on = other}), nz::device_error) << kernel.name;
  });
}

TEST(KernelTable, NamesAreUniquePerDeviceAndFormatsExist) {
  std::set<std::string_view> formats;
  std::set<std::pair<std::string_view, device_kind>> kernels;
  for (const nz::format_row& format : nz::formats()) EXPECT_TRUE(formats.insert(format.name).second);
  for (const nz::kernel_row& kernel : nz::kernels()) {
    EXPECT_TRUE(kernels.emplace(kernel.name, kernel.runs_on).second) << kernel.name;
    EXPECT_TRUE(formats.contains(kernel.format)) << kernel.format;
    EXPECT_EQ(&nz::find_kernel(kernel.name, kernel.runs_on), &kernel);
    EXPECT_EQ(nz::find_kernel(kernel.name).name, kernel.name);
  }
}

TEST(KernelTable, SaysWhichKernelsThereAreWhenAskedForAnother) {
  try {
    nz::find_kernel("csr_magic");
    FAIL();
  } catch (const nz::unsupported& e) {
    EXPECT_NE(std::string(e.what()).find("csr_serial"), std::string::npos);
  }
}

/// The kernels that a static object's multiply does not get right, made before those of the library's files.
const std::vector<std::string> wrong_before_main = [] {
  std::vector<std::string> wrong;
  for (const nz::kernel_row& kernel : nz::kernels()) {
    if (kernel.runs_on != device_kind::cpu) continue;
    try {
      const nz::csr<double> a{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 2, 1}};
      std::vector<double> x = {1, 10}, y(2);
      kernel.prepare(a, {.budget = no_limit})->multiply(1.0, x, 0.0, y);
      if (y != std::vector<double>{21, 12}) wrong.emplace_back(kernel.name);
    } catch (const std::exception& e) {
      wrong.push_back(std::string(kernel.name) + ": " + e.what());
    }
  }
  return wrong;
}();

TEST(KernelTable, IsReadyForStaticObjectsOfTheProgram) {
  EXPECT_EQ(wrong_before_main, std::vector<std::string>());
}

TEST(Formats, OnlyThoseOfBlocksRefuseASingleEntry) {
  for (const nz::format_row& format : nz::formats())
    EXPECT_EQ(needs_structure(format.name), format.name == "bsr" || format.name == "sbsr") << format.name;
}

}  // namespace
