#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/cpu/kernels.hpp>
#include <nonzero/cpu/targets.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"
#include "tests/battery/may_refuse.hpp"
#include "tests/formats/symmetric_matrices.hpp"

namespace {

using nz::csr;
using nz::index;

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

/// What values are held in, and what x, y and the sums are.
template <class HeldIn, class SummedIn> struct in {
  using A = HeldIn;
  using V = SummedIn;
  using ready = std::unique_ptr<nz::prepared_matrix<V>>;

  static ready prepare(const nz::kernel_row& kernel, const csr<A>& a, const nz::prepare_options& options) {
    if constexpr (std::is_same_v<A, V>)
      return kernel.prepare(a, options);
    else
      return kernel.prepare<double>(a, options);
  }
};

template <class In> class CpuKernels : public testing::Test {};
struct names {
  template <class In> static std::string GetName(int) {
    return !std::is_same_v<typename In::A, typename In::V> ? "mixed"
           : sizeof(typename In::V) == 4                   ? "float"
                                                           : "double";
  }
};
using precisions = testing::Types<in<float, float>, in<double, double>, in<float, double>>;
TYPED_TEST_SUITE(CpuKernels, precisions, names);

/// Calls body(kernel, instruction set) for each of both.
void for_each_kernel_and_target(const auto& body) {
  for (const nz::kernel_row& kernel : nz::cpu_kernels())
    for (const std::string_view simd : nz::simd_targets()) {
      SCOPED_TRACE(testing::Message() << kernel.name << " by " << simd);
      body(kernel, simd);
    }
}

template <class V> bool same_bits(const std::vector<V>& a, const std::vector<V>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(V)) == 0);
}

constexpr int numbers_of_threads[] = {1, 2, 3, 5, 8};

/// Short and long rows all over four blocks of columns, in several bins of several panels, for the kernels of
/// `binned`: two rows are so long that it keeps them apart. In ELL that would be 40 GB.
template <class A> const csr<A>& scattered() {
  static const csr<A> a = [] {
    std::vector<index> lengths(20000, 7);
    for (std::size_t i = 0; i < lengths.size(); i += 9) lengths[i] = static_cast<index>(i % 40);
    lengths[7000] = 140000;
    lengths[19999] = 190000;
    return nz::generate::row_lengths<A>(3 * 65536 + 5, lengths, 12);
  }();
  return a;
}

/// Prepared for a kernel by an instruction set, or nothing where its format may refuse the matrix. Of the
/// formats that pad, only ell may: sell_slices stores long rows apart.
template <class In>
typename In::ready prepare_unless_refused(const nz::kernel_row& kernel, const csr<typename In::A>& a,
                                          const nz::prepare_options& options) {
  try {
    return In::prepare(kernel, a, options);
  } catch (const nz::unsupported& e) {
    EXPECT_TRUE(needs_structure(kernel.format) ||
                (kernel.format == "ell" && may_refuse(kernel.format, a, options.budget)))
        << kernel.format << ": " << e.what();
    return {};
  }
}

/// body(matrix, budget) for the battery, for symmetric blocks in many chunks, for scattered(),
/// for one that is next to empty, and for a matrix of many chunks between giant rows of several segments
/// each: in ELL that would be 20 GB.
template <class A> void for_each_matrix(const auto& body) {
  for (const auto& [name, a] : battery::matrices<A>()) {
    SCOPED_TRACE(name);
    body(a, no_limit);
  }
  {
    SCOPED_TRACE("symmetric blocks");
    body(symmetric_block_matrix<A>(3, 4000, {1, 2, 40, 41}), no_limit);
  }
  {
    SCOPED_TRACE("several panels and blocks of columns");
    body(scattered<A>(), nz::padding_budget{});
  }
  {
    SCOPED_TRACE("one entry in many columns");
    body(csr<A>{2, 2 * 65536 + 5, {0, 0, 1}, {7}, {3}}, no_limit);
  }
  SCOPED_TRACE("giant rows and larger than a cache");
  body(nz::generate::dense_rows<A>(40000, 5, 6), nz::padding_budget{});
}

/// Every kernel with every instruction set on every matrix, against the product in long double.
template <class In, class V = typename In::V>
void check_all(V alpha, V beta, const auto& make_x, const auto& make_y) {
  for_each_matrix<typename In::A>([&](const auto& a, nz::padding_budget budget) {
    const std::vector<V> x = make_x(a), y0 = make_y(a);
    const auto exact = nz::reference::multiply_exactly<V>(alpha, a, x, beta, y0);
    for_each_kernel_and_target([&](const nz::kernel_row& kernel, std::string_view simd) {
      const auto ready = prepare_unless_refused<In>(kernel, a, {.budget = budget, .simd = simd});
      if (!ready) return;
      std::vector<V> y = y0;
      ready->multiply(alpha, x, beta, y);
      EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L);
    });
  });
}

TYPED_TEST(CpuKernels, AreWithinTheErrorBoundByEveryInstructionSet) {
  using V = typename TypeParam::V;
  check_all<TypeParam>(
      V{-2.5}, V{0.75}, [](const auto& a) { return battery::numbers<V>(a.cols, 1); },
      [](const auto& a) { return battery::numbers<V>(a.rows, 2); });
}

// A NaN of y that is read, or padding that is multiplied, would show here.
TYPED_TEST(CpuKernels, KeepNanAndInfinityWhereTheyBelongByEveryInstructionSet) {
  using V = typename TypeParam::V;
  check_all<TypeParam>(
      V{1}, V{0},
      [](const auto& a) {
        auto x = battery::numbers<V>(a.cols, 4);
        if (!x.empty()) x.back() = std::numeric_limits<V>::quiet_NaN();
        if (!x.empty()) x.front() = std::numeric_limits<V>::infinity();
        return x;
      },
      [](const auto& a) { return std::vector<V>(a.rows, std::numeric_limits<V>::quiet_NaN()); });
}

template <class In> void for_each_prepared(const auto& body) {
  for_each_matrix<typename In::A>([&](const auto& a, nz::padding_budget budget) {
    for_each_kernel_and_target([&](const nz::kernel_row& kernel, std::string_view simd) {
      const auto ready = prepare_unless_refused<In>(kernel, a, {.budget = budget, .simd = simd});
      if (ready) body(a, *ready);
    });
  });
}

TYPED_TEST(CpuKernels, GiveTheSameBitsForAnyNumberOfThreads) {
  using V = typename TypeParam::V;
  for_each_prepared<TypeParam>([](const auto& a, const auto& ready) {
    const auto x = battery::numbers<V>(a.cols, 5), y0 = battery::numbers<V>(a.rows, 6);
    std::optional<std::vector<V>> first;
    for (const int threads : numbers_of_threads) {
      const nz::thread_limit scope(threads);
      std::vector<V> y = y0;
      ready.multiply(V{3}, x, V{-1}, y);
      if (!first) first = y;
      EXPECT_TRUE(same_bits(*first, y)) << threads << " threads";
    }
  });
}

TYPED_TEST(CpuKernels, FuseAStepWithTheBitsOfTheProductForAnyNumberOfThreads) {
  using V = typename TypeParam::V;
  for_each_prepared<TypeParam>([](const auto& a, const auto& ready) {
    const auto x = battery::numbers<V>(a.cols, 7);
    std::vector<V> product(a.rows);
    ready.multiply(V{1}, x, V{0}, product);
    std::optional<double> first_total;
    for (const int threads : numbers_of_threads) {
      const nz::thread_limit scope(threads);
      std::vector<V> found(a.rows);
      std::vector<unsigned char> times_seen(a.rows, 0);
      const double total = ready.apply(x, [&](index first, std::span<V> sums) {
        double squares = 0;
        for (std::size_t i = 0; i < sums.size(); ++i) {
          found[first + i] = sums[i];
          ++times_seen[first + i];
          squares += static_cast<double>(sums[i]) * sums[i];
          sums[i] = -1;  // it may
        }
        return squares;
      });
      EXPECT_EQ(times_seen, std::vector<unsigned char>(a.rows, 1)) << threads << " threads";
      EXPECT_TRUE(same_bits(product, found)) << threads << " threads";
      if (!first_total) first_total = total;
      EXPECT_EQ(std::memcmp(&*first_total, &total, sizeof total), 0) << threads << " threads";
    }
  });
}

// The step of conjugate gradients, which kernels that work chunk by chunk make where y is.
TYPED_TEST(CpuKernels, FuseAProductAndHaveItsBitsForAnyNumberOfThreads) {
  using V = typename TypeParam::V;
  for_each_prepared<TypeParam>([](const auto& a, const auto& ready) {
    const auto x = battery::numbers<V>(a.cols, 8), with = battery::numbers<V>(a.rows, 9);
    std::vector<V> product(a.rows);
    ready.multiply(V{1}, x, V{0}, product);
    long double exact = 0, size = 0;
    for (index i = 0; i < a.rows; ++i) {
      exact += static_cast<long double>(product[i]) * with[i];
      size += std::abs(static_cast<long double>(product[i]) * with[i]);
    }
    const auto same_number = [](V one, V other) {
      return one == other || (std::isnan(one) && std::isnan(other));
    };
    std::optional<double> first;
    for (const int threads : {1, 3}) {
      const nz::thread_limit scope(threads);
      std::vector<V> y(a.rows, std::numeric_limits<V>::quiet_NaN());
      double sum = -1;
      ready.apply(x, nz::fused_step<V>{.measure = {{nz::measured::product, with.data()}}}, y, {&sum, 1});
      EXPECT_TRUE(std::equal(y.begin(), y.end(), product.begin(), same_number)) << threads << " threads";
      if (!first) first = sum;
      EXPECT_EQ(std::memcmp(&*first, &sum, sizeof sum), 0) << threads << " threads";
      if (std::isfinite(size)) {
        EXPECT_LE(std::abs(sum - exact), (a.rows + 1) * std::numeric_limits<double>::epsilon() * size);
      }
    }
  });
}

// What is too little for a team must not be taken for the range of one thread of the caller's team.
TYPED_TEST(CpuKernels, MultiplyAllOfASmallMatrixInATeamOfTheCallers) {
  using V = typename TypeParam::V;
  const auto a = nz::generate::poisson_2d<typename TypeParam::A>(40, 40);
  const auto x = battery::numbers<V>(a.cols, 10);
  const std::vector<V> y0(a.rows, V{-1});
  const auto exact = nz::reference::multiply_exactly<V>(V{1}, a, x, V{0}, y0);
  for (const nz::kernel_row& kernel : nz::cpu_kernels()) {
    if (kernel.format.ends_with("bsr")) continue;  // without blocks
    SCOPED_TRACE(kernel.name);
    std::vector<std::vector<V>> found(3, y0);
    nz::parallel_tasks(3, 3, [&](std::int64_t i) {
      TypeParam::prepare(kernel, a, {})->multiply(V{1}, x, V{0}, found[static_cast<std::size_t>(i)]);
    });
    for (const std::vector<V>& y : found) EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L);
  }
}

TYPED_TEST(CpuKernels, SayWhichInstructionSetsThereAreWhenAskedForAnother) {
  const csr<typename TypeParam::A> a{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 3, 4}};  // BSR takes it too
  for (const nz::kernel_row& kernel : nz::cpu_kernels()) {
    SCOPED_TRACE(kernel.name);
    try {
      TypeParam::prepare(kernel, a, {.simd = "MMX"});
      ADD_FAILURE() << "accepted";
    } catch (const nz::unsupported& e) {
      EXPECT_NE(std::string(e.what()).find("'MMX'"), std::string::npos) << e.what();
      for (const std::string_view simd : nz::simd_targets())
        EXPECT_NE(std::string(e.what()).find(simd), std::string::npos) << e.what();
    }
  }
}

TEST(CpuKernelTable, HasAKernelForEveryFormatButTheGpusOwn) {
  std::vector<std::string_view> formats;
  for (const nz::kernel_row& kernel : nz::cpu_kernels()) {
    formats.push_back(kernel.format);
    EXPECT_TRUE(kernel.is_repeatable) << kernel.name;
    EXPECT_NE((kernel.functions_for<float, double>().host), nullptr) << kernel.name;
  }
  for (const nz::format_row& format : nz::formats())
    EXPECT_EQ(std::find(formats.begin(), formats.end(), format.name) == formats.end(),
              format.name == "warp_packed" || format.name == "hubs")
        << format.name;
}

}  // namespace
