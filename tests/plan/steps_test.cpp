#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/battery/battery.hpp"
#include "tests/battery/may_refuse.hpp"
#include "tests/gpu/require_gpu.hpp"

// Fused steps and mixed precision, by every kernel of the table that has them.
namespace {

using nz::csr;
using nz::device_kind;
using nz::measured;

constexpr nz::padding_budget no_limit{std::numeric_limits<double>::infinity()};

/// What values are held in, what x, y and the sums are, and where.
template <class HeldIn, class SummedIn, device_kind Kind> struct on {
  using A = HeldIn;
  using V = SummedIn;
  static constexpr device_kind kind = Kind;
  static constexpr bool is_mixed = !std::is_same_v<A, V>;
};

template <class On> class Steps : public testing::Test {
 protected:
  void SetUp() override {
    if (On::kind == device_kind::cuda) require_gpu();
  }
};

struct names {
  template <class On> static std::string GetName(int) {
    return std::string(nz::name_of(On::kind)) + (On::is_mixed                  ? "_mixed"
                                                 : sizeof(typename On::V) == 4 ? "_float"
                                                                               : "_double");
  }
};
using cases = testing::Types<on<float, float, device_kind::cpu>, on<double, double, device_kind::cpu>,
                             on<float, double, device_kind::cpu>, on<float, float, device_kind::emulator>,
                             on<double, double, device_kind::emulator>,
                             on<float, double, device_kind::emulator>, on<float, float, device_kind::cuda>,
                             on<double, double, device_kind::cuda>, on<float, double, device_kind::cuda>>;
TYPED_TEST_SUITE(Steps, cases, names);

/// `a` for a kernel; null where it has no such precision, or where its format refuses this matrix.
template <class On>
std::unique_ptr<nz::prepared_matrix<typename On::V>> prepare(const nz::kernel_row& kernel,
                                                             const csr<typename On::A>& a, bool wide) {
  const nz::prepare_options options{.budget = no_limit, .wide_offsets = wide};
  try {
    if constexpr (!On::is_mixed)
      return kernel.prepare(a, options);
    else
      return kernel.functions_for<float, double>().host == nullptr ? nullptr
                                                                   : kernel.prepare<double>(a, options);
  } catch (const nz::unsupported&) {
    if (!needs_structure(kernel.format)) throw;
    return nullptr;
  }
}

/// Rows that the GPU's kernels cut, in several blocks, among short ones.
template <class A> csr<A> rows_to_cut() {
  std::vector<nz::index> lengths(300);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] = static_cast<nz::index>(i % 20 == 7 ? 520 + i / 3 : i % 4);
  return nz::generate::row_lengths<A>(1000, lengths, 9);
}

/// The battery, rows to cut, and stencils of which a warp of warp_packed_slices has two and four slices at
/// once in the emulator.
template <class A> const std::vector<battery::named_matrix<A>>& matrices() {
  static const auto all = [] {
    auto out = battery::matrices<A>();
    out.push_back({"rows to cut", rows_to_cut<A>()});
    out.push_back({"a stencil by two slices", nz::generate::poisson_2d<A>(80, 70)});
    out.push_back({"a stencil by four slices", nz::generate::poisson_2d<A>(120, 70)});
    return out;
  }();
  return all;
}

/// body(matrix) for each of these that the emulator is not too slow for; it returns what is then called
/// with (kernel, prepared) for our kernels, with either width of offsets in turn.
template <class On> void for_each_prepared(nz::offset most_entries, const auto& body) {
  bool wide = false;
  for (const auto& [name, a] : matrices<typename On::A>()) {
    if (a.nnz() > most_entries) continue;
    wide = !wide;
    auto check = body(a);
    for (const nz::kernel_row& kernel : nz::kernels()) {
      if (kernel.runs_on != On::kind || kernel.is_peer) continue;
      SCOPED_TRACE(std::string(kernel.name) + " on " + name + (wide ? ", wide offsets" : ""));
      if (const auto ready = prepare<On>(kernel, a, wide)) check(kernel, *ready);
    }
  }
}

/// The vectors of a step, on the device and as the host knows them.
template <class V> struct step_vectors {
  std::vector<V> x, b, c, scale, with;
  double from = 0.75;
  nz::vector<V> device_x, device_b, device_c, device_scale, device_with, y, scaled;
  nz::vector<double> device_from, sums;

  step_vectors(const nz::prepared_matrix<V>& a, std::vector<V> numbers) : x(std::move(numbers)) {
    const auto rows = static_cast<std::size_t>(a.rows());
    const auto make = [&](unsigned salt, std::vector<V>& host) {
      host = battery::numbers<V>(rows, salt);
      return nz::vector<V>(a.where(), host);
    };
    device_x = nz::vector<V>(a.where(), x);
    device_b = make(11, b);
    device_c = make(12, c);
    device_scale = make(13, scale);
    for (std::size_t i = 0; i < rows; i += 3) scale[i] = 0;
    device_scale.copy_from(scale);
    device_with = make(14, with);
    // NaN, which must not be read.
    const std::vector<V> unwritten(rows, std::numeric_limits<V>::quiet_NaN());
    y = nz::vector<V>(a.where(), unwritten);
    scaled = nz::vector<V>(a.where(), unwritten);
    device_from = nz::vector<double>(a.where(), std::vector<double>{from});
    sums = nz::vector<double>(a.where(), std::vector<double>(2, std::numeric_limits<double>::quiet_NaN()));
  }
};

/// The steps that the loops of nonzero/algorithms are made of, and one that has everything at once.
template <class V> std::vector<std::pair<std::string, nz::fused_step<V>>> steps(step_vectors<V>& v) {
  nz::fused_step<V> pagerank{
      .alpha = V{0.85},
      .shift = V{0.25},
      .scale = v.device_scale.data(),
      .scaled = v.scaled.data(),
      .measure = {{measured::distance, v.device_with.data()}, {measured::where_zero, v.device_scale.data()}}};
  nz::fused_step<V> merged_pages = pagerank;
  merged_pages.count = v.device_c.data();
  nz::fused_step<V> heat{.alpha = V{0.125},
                         .b = v.device_b.data(),
                         .c = v.device_c.data(),
                         .shift = V{1},
                         .measure = {{measured::squared_distance, v.device_b.data()}}};
  nz::fused_step<V> gradients{.measure = {{measured::product, v.device_with.data()}}};
  nz::fused_step<V> counted_product = gradients;
  counted_product.count = v.device_c.data();
  nz::fused_step<V> residual{
      .alpha = V{-1}, .b = v.device_b.data(), .measure = {{measured::squared_distance}}};
  nz::fused_step<V> all{.alpha = V{-0.5},
                        .beta = V{2},
                        .b = v.device_b.data(),
                        .c = v.device_c.data(),
                        .shift = V{0.5},
                        .shift_factor = 0.25,
                        .shift_from = v.device_from.data(),
                        .scaled = v.scaled.data(),
                        .count = v.device_c.data(),
                        .measure = {{measured::product}, {measured::distance}}};
  nz::fused_step<V> unmeasured{.alpha = V{3}};
  return {{"PageRank", pagerank},
          {"PageRank, pages merged", merged_pages},
          {"heat", heat},
          {"conjugate gradients", gradients},
          {"conjugate gradients, rows counted", counted_product},
          {"residual", residual},
          {"all at once", all},
          {"unmeasured", unmeasured}};
}

/// What the step's y must be, and how far from it y may be.
template <class V>
nz::reference::exact_product make_exactly(nz::reference::exact_product exact, const nz::fused_step<V>& step,
                                          const step_vectors<V>& v) {
  const long double eps = std::numeric_limits<V>::epsilon();
  for (std::size_t i = 0; i < exact.y.size(); ++i) {
    const long double shift =
        step.shift_from == nullptr ? step.shift : step.shift + step.shift_factor * v.from;
    const long double terms[2] = {step.b == nullptr ? 0 : static_cast<long double>(step.beta) * v.b[i],
                                  step.c == nullptr ? shift : shift * v.c[i]};
    for (const long double term : terms) {
      exact.y[i] += term;
      exact.bound[i] += 8 * eps * std::abs(term);
    }
    exact.bound[i] += 8 * eps * std::abs(exact.y[i]);
  }
  return exact;
}

/// A sum must be that of the y found, each as often as `count` says, but for rounding in double.
template <class V>
void expect_sum(const nz::row_measure<V>& measure, const std::vector<V>& with, const std::vector<V>& count,
                const std::vector<V>& y, double found) {
  long double sum = 0, magnitude = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const long double v = y[i], w = with[i];
    const long double from = measure.with == nullptr ? v : v - w;
    const long double term = measure.what == measured::product      ? (measure.with == nullptr ? v : v * w)
                             : measure.what == measured::distance   ? std::abs(from)
                             : measure.what == measured::where_zero ? (w == 0 ? v : 0)
                                                                    : from * from;
    sum += count[i] * term;
    magnitude += std::abs(count[i] * term);
  }
  if (!std::isfinite(static_cast<double>(sum))) {
    EXPECT_EQ(std::isnan(static_cast<double>(sum)), std::isnan(found)) << found;
    EXPECT_FALSE(std::isfinite(found)) << found;
    return;
  }
  const long double bound =
      std::numeric_limits<double>::epsilon() * (static_cast<long double>(y.size()) + 5) * magnitude;
  EXPECT_LE(std::abs(found - sum), bound) << found << ", not " << static_cast<double>(sum);
}

template <class V>
void check_step(const nz::prepared_matrix<V>& ready, const nz::reference::exact_product& product,
                const nz::fused_step<V>& step, step_vectors<V>& v) {
  ready.apply(v.device_x, step, v.y, v.sums);
  const std::vector<V> y = v.y.to_host();
  EXPECT_LE(nz::reference::largest_error<V>(make_exactly(product, step, v), y), 1.0L);
  if (step.scaled != nullptr) {
    const std::vector<V> scaled = v.scaled.to_host();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const V expected = step.scale == nullptr ? y[i] : y[i] * v.scale[i];
      EXPECT_TRUE(scaled[i] == expected || (std::isnan(scaled[i]) && std::isnan(expected))) << "row " << i;
    }
  }
  const std::vector<double> sums = v.sums.to_host();
  const std::vector<V> count = step.count == nullptr ? std::vector<V>(y.size(), V{1}) : v.c;
  for (int k = 0; k < step.sums(); ++k)
    expect_sum(step.measure[k],
               step.measure[k].with == v.device_b.data()       ? v.b
               : step.measure[k].with == v.device_scale.data() ? v.scale
                                                               : v.with,
               count, y, sums[static_cast<std::size_t>(k)]);
}

template <class On, class V = typename On::V>
void check_all_steps(nz::offset most_entries, const auto& make_x) {
  for_each_prepared<On>(most_entries, [&](const auto& a) {
    const std::vector<V> x = make_x(a);
    std::map<V, nz::reference::exact_product> products;  // by alpha
    return [&a, x, products](const nz::kernel_row&, const auto& ready) mutable {
      step_vectors<V> v(ready, x);
      for (const auto& [name, step] : steps(v)) {
        SCOPED_TRACE(name);
        if (!products.contains(step.alpha))
          products[step.alpha] = nz::reference::multiply_exactly<V>(step.alpha, a, x, V{0}, {});
        check_step<V>(ready, products[step.alpha], step, v);
      }
    };
  });
}

TYPED_TEST(Steps, AreWithinTheErrorBoundOnTheBattery) {
  using V = typename TypeParam::V;
  check_all_steps<TypeParam>(50'000, [](const auto& a) { return battery::numbers<V>(a.cols, 1); });
}

TYPED_TEST(Steps, KeepNanAndInfinityOfXWhereTheyBelong) {
  using V = typename TypeParam::V;
  check_all_steps<TypeParam>(3'000, [](const auto& a) {
    auto x = battery::numbers<V>(a.cols, 4);
    if (!x.empty()) x.back() = std::numeric_limits<V>::quiet_NaN();
    if (!x.empty()) x.front() = std::numeric_limits<V>::infinity();
    return x;
  });
}

// The emulator takes blocks and warps in another order at every launch; a GPU does so by itself.
TYPED_TEST(Steps, HaveTheSameBitsEveryTime) {
  using V = typename TypeParam::V;
  for_each_prepared<TypeParam>(10'000, [](const auto&) {
    return [](const nz::kernel_row& kernel, const auto& ready) {
      if (!kernel.is_repeatable) return;
      step_vectors<V> v(ready, battery::numbers<V>(static_cast<std::size_t>(ready.cols()), 5));
      const nz::fused_step<V> step = steps(v)[6].second;
      std::optional<std::vector<double>> first;
      for (int run = 0; run < 12; ++run) {
        ready.apply(v.device_x, step, v.y, v.sums);
        const std::vector<double> sums = v.sums.to_host();
        if (!first) first = sums;
        ASSERT_EQ(std::memcmp(first->data(), sums.data(), v.sums.bytes()), 0) << "run " << run;
      }
    };
  });
}

TYPED_TEST(Steps, TakeASumThatTheStepBeforeLeft) {
  using V = typename TypeParam::V;
  const csr<typename TypeParam::A> a{3, 3, {0, 1, 2, 3}, {0, 1, 2}, {1, 2, 3}};
  for (const nz::kernel_row& kernel : nz::kernels()) {
    if (kernel.runs_on != TypeParam::kind || kernel.is_peer) continue;
    const auto ready = prepare<TypeParam>(kernel, a, false);
    if (!ready) continue;
    SCOPED_TRACE(kernel.name);
    const nz::vector<V> x(ready->where(), std::vector<V>(3, 1));
    nz::vector<V> y(ready->where(), std::vector<V>(3, 0));
    nz::vector<double> sum(ready->where(), std::vector<double>{10});
    const nz::fused_step<V> step{
        .shift = 1, .shift_factor = 0.5, .shift_from = sum.data(), .measure = {{measured::product}}};
    ready->apply(x, step, y, sum);
    EXPECT_EQ(y.to_host(), (std::vector<V>{7, 8, 9}));
    EXPECT_EQ(sum.to_host(), std::vector<double>{24});
    ready->apply(x, step, y, sum);
    EXPECT_EQ(y.to_host(), (std::vector<V>{14, 15, 16}));
  }
}

TYPED_TEST(Steps, LeaveTheirSumsWhereTheyAreAskedTo) {
  using V = typename TypeParam::V;
  const csr<typename TypeParam::A> a{3, 3, {0, 1, 2, 3}, {0, 1, 2}, {1, 2, 3}};
  for (const nz::kernel_row& kernel : nz::kernels()) {
    if (kernel.runs_on != TypeParam::kind || kernel.is_peer) continue;
    const auto ready = prepare<TypeParam>(kernel, a, false);
    if (!ready) continue;
    SCOPED_TRACE(kernel.name);
    const nz::vector<V> x(ready->where(), std::vector<V>(3, 1));
    nz::vector<V> y(ready->where(), std::vector<V>(3, 0));
    nz::vector<double> sums(ready->where(), std::vector<double>(5, -1));
    // Each takes the first sum of the one before, of which there is none: -1.
    for (const std::size_t at : {1U, 3U}) {
      const nz::fused_step<V> step{.shift_from = sums.data() + (at == 1 ? 0 : at - 2),
                                   .measure = {{measured::product}, {measured::squared_distance}}};
      ready->apply(x, step, y, sums, {}, at);
    }
    EXPECT_EQ(sums.to_host(), (std::vector<double>{-1, 3, 5, 15, 77}));
    const nz::fused_step<V> two{.measure = {{measured::product}, {measured::product}}};
    EXPECT_THROW(ready->apply(x, two, y, sums, {}, 4), nz::shape_error);
    EXPECT_THROW(ready->apply(x, two, y, sums, {}, 6), nz::shape_error);
  }
}

TYPED_TEST(Steps, MultiplyTheBatteryInThisPrecision) {
  using V = typename TypeParam::V;
  for_each_prepared<TypeParam>(50'000, [](const auto& a) {
    auto x = battery::numbers<V>(a.cols, 6);
    const auto y0 = battery::numbers<V>(a.rows, 7);
    if (!x.empty()) x.back() = std::numeric_limits<V>::infinity();
    const auto exact = nz::reference::multiply_exactly<V>(V{-2.5}, a, x, V{0.75}, y0);
    return [x, y0, exact](const nz::kernel_row&, const auto& ready) {
      std::vector<V> y = y0;
      ready.multiply(V{-2.5}, x, V{0.75}, y);
      EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L);
    };
  });
}

TYPED_TEST(Steps, RefuseWhatDoesNotFitOrOverlaps) {
  using V = typename TypeParam::V;
  const csr<typename TypeParam::A> a{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 1, 1, 1}};
  for (const nz::kernel_row& kernel : nz::kernels()) {
    if (kernel.runs_on != TypeParam::kind || kernel.is_peer) continue;
    const auto ready = prepare<TypeParam>(kernel, a, false);
    if (!ready) continue;
    SCOPED_TRACE(kernel.name);
    const auto make = [&](std::size_t size) {
      return nz::vector<V>(ready->where(), std::vector<V>(size, 1));
    };
    nz::vector<V> x = make(2), y = make(2), wrong = make(3);
    nz::vector<double> sum(ready->where(), 1);
    const nz::fused_step<V> one{.measure = {{measured::product}}},
        two{.measure = {{measured::product}, {measured::product}}}, in_place{.b = y.data()},
        counted{.count = y.data()}, over_x{.scaled = x.data()}, twice{.scaled = y.data()};
    EXPECT_NO_THROW(ready->apply(x, one, y, sum));
    EXPECT_THROW(ready->apply(wrong, one, y, sum), nz::shape_error);
    EXPECT_THROW(ready->apply(x, one, wrong, sum), nz::shape_error);
    for (const auto& bad : {two, in_place, counted, over_x, twice})
      EXPECT_THROW(ready->apply(x, bad, y, sum), nz::shape_error);
    EXPECT_THROW(ready->apply(x, one, x, sum), nz::shape_error);
    const auto elsewhere = nz::find_device(TypeParam::kind == device_kind::cpu ? "emulator" : "cpu");
    nz::vector<double> far_sum(elsewhere, 1);
    EXPECT_THROW(ready->apply(x, one, y, far_sum), nz::device_error);
  }
}

TEST(StepsWithSpans, AreThoseWithVectorsWhereMemoryIsTheHosts) {
  const csr<double> a{2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3}};
  const std::vector<double> x{1, 2, 3}, with{1, -1};
  const nz::fused_step<double> step{.measure = {{measured::product, with.data()}}};
  for (const nz::kernel_row& kernel : nz::kernels()) {
    if (kernel.runs_on == device_kind::cuda || kernel.format == "bsr" || kernel.format == "sbsr") continue;
    SCOPED_TRACE(kernel.name);
    std::vector<double> y(2), sum(1);
    kernel.prepare(a)->apply(x, step, y, sum);
    EXPECT_EQ(y, (std::vector<double>{7, 6}));
    EXPECT_EQ(sum[0], 1.0);
  }
}

TEST(MixedPrecision, IsThereForEveryProductionKernelOfTheGpu) {
  for (const char* name :
       {"csr_scalar", "csr_vector", "csr_merge", "sell_slices", "bsr_rows", "warp_packed_slices"})
    EXPECT_NE((nz::find_kernel(name, device_kind::emulator).functions_for<float, double>().host), nullptr)
        << name;
}

}  // namespace
