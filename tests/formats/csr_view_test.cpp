#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/formats/coo.hpp>
#include <nonzero/formats/ell.hpp>
#include <nonzero/formats/hubs.hpp>
#include <nonzero/formats/hyb.hpp>
#include <nonzero/formats/packed.hpp>
#include <nonzero/formats/sell.hpp>
#include <nonzero/formats/warp_packed.hpp>
#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/plan.hpp>

#include "tests/battery/battery.hpp"
#include "tests/formats/identical.hpp"

namespace {

using nz::csr;
using nz::csr_view;
using nz::index;
using nz::offset;

/// 1 0 2
/// 0 3 0
struct small {
  std::vector<index> col{0, 2, 1};
  std::vector<double> val{1, 2, 3};
  std::vector<std::int32_t> narrow{0, 2, 3};
  std::vector<std::int64_t> wide{0, 2, 3};
};

/// The arrays of a matrix in std::vectors, as a caller has them.
template <class V, class Offset> struct arrays {
  index rows, cols;
  std::vector<Offset> row_begin;
  std::vector<index> col;
  std::vector<V> val;

  explicit arrays(const csr<V>& a)
      : rows(a.rows),
        cols(a.cols),
        row_begin(a.row_begin.begin(), a.row_begin.end()),
        col(a.col.begin(), a.col.end()),
        val(a.val.begin(), a.val.end()) {}
  csr_view<V, Offset> view() const { return {rows, cols, row_begin, col, val}; }
};

template <class Prepared, class V> std::vector<V> product(const Prepared& a, const std::vector<V>& x) {
  std::vector<V> y(static_cast<std::size_t>(a.rows()));
  a.multiply(V{1}, x, V{0}, y);
  return y;
}

TEST(CsrView, IsMadeFromAnyContiguousRanges) {
  const small m;
  const csr_view narrow{2, 3, m.narrow, m.col, m.val};
  static_assert(std::is_same_v<decltype(narrow), const csr_view<double, std::int32_t>>);
  const csr_view wide{2, 3, m.wide, m.col, m.val};
  static_assert(std::is_same_v<decltype(wide), const csr_view<double, offset>>);
  const csr_view spans{2, 3, std::span(m.wide), std::span(m.col), std::span(m.val)};
  static_assert(std::is_same_v<decltype(spans), const csr_view<double, offset>>);
  const csr_view pointers{2, 3, 3, m.narrow.data(), m.col.data(), m.val.data()};
  static_assert(std::is_same_v<decltype(pointers), const csr_view<double, std::int32_t>>);
  const csr<double> owner = copy_of(wide);
  const csr_view of_owner{owner};
  static_assert(std::is_same_v<decltype(of_owner), const csr_view<double, offset>>);

  EXPECT_EQ(narrow.row_begin.data(), m.narrow.data());
  EXPECT_EQ(narrow.col.data(), m.col.data());
  EXPECT_EQ(spans.val.data(), m.val.data());
  EXPECT_EQ(pointers.nnz(), 3);
  EXPECT_EQ(pointers.row_begin.size(), 3U);
  EXPECT_EQ(of_owner.col.data(), owner.col.data());
  EXPECT_EQ(narrow.row_length(0), 2);
  EXPECT_EQ(wide.begin(1), 2);
  EXPECT_EQ(wide.end(1), 3);
  EXPECT_EQ(wide.column(1), 2);
  EXPECT_EQ(wide.value(2), 3);
}

TEST(CsrView, IsWidenedWithoutCopyingColumnsAndValues) {
  const small m;
  const nz::widened_csr<double> wide{csr_view{2, 3, m.narrow, m.col, m.val}};
  EXPECT_EQ(wide.view.row_begin.data(), wide.row_begin.data());
  EXPECT_EQ(wide.view.col.data(), m.col.data());
  EXPECT_EQ(wide.view.val.data(), m.val.data());
  expect_identical(copy_of(wide.view), copy_of(csr_view{2, 3, m.wide, m.col, m.val}));
}

TEST(CsrView, OfTheWrongSizesIsRefused) {
  const small m;
  const std::span wide(m.wide);
  const std::span val(m.val);
  EXPECT_NO_THROW(validate(csr_view{2, 3, m.wide, m.col, m.val}));
  EXPECT_THROW(validate(csr_view{3, 3, m.wide, m.col, m.val}), nz::shape_error);
  EXPECT_THROW(validate(csr_view{2, 2, m.wide, m.col, m.val}), nz::shape_error);
  EXPECT_THROW(validate(csr_view{2, 3, wide.first(2), m.col, m.val}), nz::shape_error);
  EXPECT_THROW(validate(csr_view{2, 3, m.wide, m.col, val.first(2)}), nz::shape_error);
  EXPECT_THROW(validate(csr_view{-1, 3, wide.first(0), m.col, m.val}), nz::shape_error);

  const auto on = nz::emulator_device();
  EXPECT_THROW(borrow_csr(csr_view{3, 3, m.narrow, m.col, m.val}, on), nz::shape_error);
  EXPECT_THROW(borrow_csr(csr_view{2, 3, m.narrow, m.col, val.first(2)}, on), nz::shape_error);
  EXPECT_THROW(borrow_csr(csr_view<double, std::int32_t>(2, 3, 3, nullptr, m.col.data(), m.val.data()), on),
               nz::shape_error);
}

TEST(CsrView, IsConvertedLikeItsOwner) {
  for (const auto& [name, a] : battery::matrices<double>()) {
    SCOPED_TRACE(name);
    const arrays<double, offset> own(a);
    const csr_view<double> view = own.view();
    constexpr nz::padding_budget no_limit{1e9};
    expect_identical(copy_of(view), a);
    expect_identical(to_csr(to_coo(view)), a);
    expect_identical(to_csr(to_ell(view, no_limit)), a);
    expect_identical(to_csr(to_hyb(view, -1, no_limit)), a);
    expect_identical(to_csr(to_sell(view, {}, no_limit)), a);
    expect_identical(to_csr(to_packed(view)), a);
    expect_identical(to_csr(to_warp_packed(view, no_limit)), a);
    expect_identical(to_csr(to_hubs(view, {}, no_limit)), to_csr(to_hubs(a, {}, no_limit)));
    EXPECT_EQ(footprint_of(view), footprint_of(a));
    EXPECT_EQ(longest_row(view), longest_row(a));
  }
}

template <class V> class CsrViewKernels : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(CsrViewKernels, precisions);

TYPED_TEST(CsrViewKernels, GiveTheSameBitsAsForOwners) {
  using V = TypeParam;
  const auto a = nz::generate::uniform<V>(300, 200, 7);
  const arrays<V, std::int32_t> narrow(a);
  const arrays<V, offset> wide(a);
  const auto x = battery::numbers<V>(200, 1);
  for (const auto& [name, on] :
       {std::pair{"csr_balanced", nz::device_kind::cpu}, std::pair{"packed_slices", nz::device_kind::cpu},
        std::pair{"csr_vector", nz::device_kind::emulator}, std::pair{"ell", nz::device_kind::emulator}}) {
    SCOPED_TRACE(name);
    const nz::kernel_row& kernel = nz::find_kernel(name, on);
    const std::vector<V> wanted = product(*kernel.prepare(a), x);
    EXPECT_EQ(product(*kernel.prepare(narrow.view()), x), wanted);
    EXPECT_EQ(product(*kernel.prepare(wide.view()), x), wanted);
  }
}

TYPED_TEST(CsrViewKernels, GiveTheSameBitsInPlans) {
  using V = TypeParam;
  const auto a = nz::generate::uniform<V>(300, 200, 7);
  const arrays<V, std::int32_t> narrow(a);
  const arrays<V, offset> wide(a);
  const auto x = battery::numbers<V>(200, 2);
  const auto multiply = [&](const nz::plan<V>& p) {
    std::vector<V> y(300);
    p.multiply(x, y);
    return y;
  };
  for (const auto& [kernel, on] :
       {std::pair{"csr_balanced", nz::cpu_device()}, std::pair{"csr_vector", nz::emulator_device()}}) {
    SCOPED_TRACE(kernel);
    const nz::plan_options options{.on = on, .kernel = kernel};
    const std::vector<V> wanted = multiply(nz::make_plan(a, options));
    EXPECT_EQ(multiply(nz::make_plan(narrow.view(), options)), wanted);
    EXPECT_EQ(multiply(nz::make_plan(wide.view(), options)), wanted);
  }
}

// A changed value is seen, because nothing was copied. Real callers leave borrowed arrays unchanged.
TEST(CsrView, IsBorrowedByPlansAndPreparedMatrices) {
  const small m;
  std::vector<double> val = m.val;
  const csr_view wide{2, 3, m.wide, m.col, val};
  const csr_view narrow{2, 3, m.narrow, m.col, val};
  const nz::plan_options options{.kernel = "csr_balanced"};
  const auto plan = nz::make_plan(wide, options), of_narrow = nz::make_plan(narrow, options);
  const auto prepared = nz::find_kernel("csr_balanced").prepare(wide);
  const auto copied = nz::find_kernel("csr_balanced").prepare(copy_of(wide));
  const std::vector<double> x{1, 1, 1};
  val[2] = 10;
  std::vector<double> y(2);
  plan.multiply(x, y);
  EXPECT_EQ(y, (std::vector<double>{3, 10}));
  of_narrow.multiply(x, y);
  EXPECT_EQ(y, (std::vector<double>{3, 10}));
  EXPECT_EQ(product(*prepared, x), (std::vector<double>{3, 10}));
  EXPECT_EQ(product(*copied, x), (std::vector<double>{3, 3}));
}

TEST(CsrView, IsPlacedOnADevice) {
  const small m;
  const auto on = nz::emulator_device();
  const auto placed = place_csr(csr_view{2, 3, m.narrow, m.col, m.val}, on);
  EXPECT_FALSE(placed->is_wide());
  EXPECT_NE(placed->val.data(), m.val.data());
  expect_identical(to_host(*placed), copy_of(csr_view{2, 3, m.wide, m.col, m.val}));
  EXPECT_TRUE(place_csr(csr_view{2, 3, m.narrow, m.col, m.val}, on, true)->is_wide());
}

/// The emulator's memory is the host's: any array is an array of the device.
template <class Offset> void expect_borrowed(std::span<const Offset> row_begin) {
  const small m;
  std::vector<double> val = m.val;
  const auto on = nz::emulator_device();
  const auto borrowed = borrow_csr(csr_view{2, 3, row_begin, m.col, val}, on);
  EXPECT_EQ(borrowed->is_wide(), (std::is_same_v<Offset, offset>));
  EXPECT_EQ(borrowed->val.data(), val.data());
  EXPECT_EQ(borrowed->col.data(), m.col.data());
  EXPECT_EQ(borrowed->template view<Offset>().row_begin.data(), row_begin.data());
  const auto prepared = nz::find_kernel("csr_scalar", nz::device_kind::emulator).prepare(borrowed);
  const auto plan = nz::make_plan(borrowed, {.kernel = "csr_scalar"});
  val[0] = 5;

  const std::vector<double> x{1, 2, 3};
  std::vector<double> y(2, -1), in_plan(2, -1);
  const nz::vector_view<const double> x_there(on, x.data(), x.size());
  prepared->multiply(1, x_there, 0, nz::vector_view<double>(on, y.data(), y.size()));
  EXPECT_EQ(y, (std::vector<double>{11, 6}));
  plan.multiply(x_there, nz::vector_view<double>(on, in_plan.data(), in_plan.size()));
  EXPECT_EQ(in_plan, (std::vector<double>{11, 6}));

  const nz::vector_view<const double> too_short(on, x.data(), 2);
  EXPECT_THROW(prepared->multiply(1, too_short, 0, nz::vector_view<double>(on, y.data(), 2)),
               nz::shape_error);
  EXPECT_THROW(plan.multiply(x_there, nz::vector_view<double>(on, y.data(), 1)), nz::shape_error);
}

TEST(CsrView, OfADeviceIsBorrowedWith32BitOffsets) {
  const std::vector<std::int32_t> row_begin{0, 2, 3};
  expect_borrowed(std::span(row_begin));
}

TEST(CsrView, OfADeviceIsBorrowedWith64BitOffsets) {
  const std::vector<offset> row_begin{0, 2, 3};
  expect_borrowed(std::span(row_begin));
}

TEST(VectorView, IsMadeFromAVectorOfItsDevice) {
  const auto on = nz::emulator_device();
  nz::vector<double> v(on, std::vector<double>{1, 2, 3});
  const nz::vector_view<double> view = v;
  const nz::vector_view<const double> to_read = view;
  EXPECT_EQ(view.data(), v.data());
  EXPECT_EQ(to_read.data(), v.data());
  EXPECT_EQ(to_read.size(), 3U);
  EXPECT_EQ(to_read.bytes(), 24U);
  EXPECT_EQ(to_read.where(), on.get());
}

TEST(CsrView, OfADeviceCsrInTheHostsMemoryIsPlannedOnTheCpu) {
  const auto a = nz::generate::poisson_2d<double>(60, 60);
  const std::vector<double> x(static_cast<std::size_t>(a.cols), 0.5);
  const auto expected = product(nz::make_plan(a, {.expected_multiplies = 1}).prepared(), x);
  for (const bool is_wide : {false, true}) {
    auto placed = nz::place_csr(a, nz::cpu_device(), is_wide);
    const auto plan = nz::make_plan(placed, {.expected_multiplies = 1});
    placed.reset();  // the plan keeps it
    EXPECT_EQ(plan.where()->kind(), nz::device_kind::cpu);
    EXPECT_EQ(product(plan.prepared(), x), expected);
  }
}

TEST(CsrView, MovedInAndRefusedIsLeftAsItWas) {
  auto a = nz::generate::poisson_2d<double>(10, 10);
  a.val[3] = 1e300;  // too large for single precision
  const auto before = a;
  EXPECT_THROW(nz::make_plan(std::move(a), {.values = nz::stored_values::single}), nz::unsupported);
  EXPECT_EQ(a, before);  // NOLINT(bugprone-use-after-move): what this test is about
}

}  // namespace
