// What callers give: every public function that takes a matrix refuses every kind of broken one.

#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/formats/formats.hpp>
#include <nonzero/nonzero.hpp>

#include "tests/plan/expect_refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace {

using nz::csr;
using nz::csr_view;
using nz::index;
using nz::offset;

/// A symmetric matrix with a positive diagonal, which a test breaks.
struct arrays {
  index rows = 4, cols = 4;
  std::vector<offset> row_begin = {0, 2, 3, 4, 6};
  std::vector<index> col = {0, 3, 1, 2, 0, 3};
  std::vector<double> val = {4, 1, 4, 4, 1, 4};
  std::vector<std::int32_t> narrow = {};                                   // row_begin in 32 bits
  std::optional<std::size_t> row_begin_at_null, col_at_null, val_at_null;  // so long, at a null pointer

  csr_view<double> wide_view() const { return view_of<offset>(row_begin); }
  csr_view<double, std::int32_t> narrow_view() const { return view_of<std::int32_t>(narrow); }

 private:
  template <class T>
  static std::span<const T> span_of(std::span<const T> there, const std::optional<std::size_t>& at_null) {
    return at_null ? std::span(static_cast<const T*>(nullptr), *at_null) : there;
  }
  template <class Offset> csr_view<double, Offset> view_of(std::span<const Offset> begin) const {
    return {rows, cols, span_of<Offset>(begin, row_begin_at_null), span_of<index>(col, col_at_null),
            span_of<double>(val, val_at_null)};
  }
};

struct broken_matrix {
  std::string what;
  arrays a;
};

std::vector<broken_matrix> broken_matrices() {
  constexpr index most = std::numeric_limits<index>::max(), least = std::numeric_limits<index>::min();
  constexpr std::size_t endless = std::numeric_limits<std::size_t>::max();
  std::vector<broken_matrix> out;
  const auto add = [&](const char* what, const std::function<void(arrays&)>& break_it) {
    arrays a;
    break_it(a);
    if (a.narrow.empty())
      for (const offset begin : a.row_begin)
        a.narrow.push_back(static_cast<std::int32_t>(std::clamp<offset>(begin, least, most)));
    out.push_back({what, std::move(a)});
  };
  add("rows below 0", [](arrays& a) { a.rows = -1; });
  add("rows below 0, and offsets to fit", [](arrays& a) { a.rows = -1, a.row_begin = {}, a.col = {}; });
  add("the least number of rows", [](arrays& a) { a.rows = least; });
  add("the most rows", [](arrays& a) { a.rows = most; });
  add("columns below 0", [](arrays& a) { a.cols = -1; });
  add("entries, but no columns", [](arrays& a) { a.rows = a.cols = 0, a.row_begin = {6}; });
  add("a row more than offsets", [](arrays& a) { a.rows = a.cols = 5; });
  add("an offset more than rows", [](arrays& a) { a.row_begin.push_back(6); });
  add("no offsets: moved from", [](arrays& a) { a.row_begin = {}, a.col = {}, a.val = {}; });
  add("no offsets of 32 bits", [](arrays& a) { a.narrow.clear(), a.row_begin = {}; });
  add("a first offset of 1", [](arrays& a) { a.row_begin[0] = 1; });
  add("a first offset below 0", [](arrays& a) { a.row_begin[0] = -1; });
  add("offsets that fall", [](arrays& a) { a.row_begin[2] = 1; });
  add("an offset below 0", [](arrays& a) { a.row_begin[1] = -2; });
  add("a huge offset", [](arrays& a) { a.row_begin[2] = std::numeric_limits<offset>::max(); });
  add("the least offset", [](arrays& a) { a.row_begin[2] = std::numeric_limits<offset>::min(); });
  add("offsets that end behind the entries", [](arrays& a) { a.row_begin[4] = 7; });
  add("offsets that end before the entries", [](arrays& a) { a.row_begin[4] = 5; });
  add("a column of -1", [](arrays& a) { a.col[0] = -1; });
  add("a column behind the last", [](arrays& a) { a.col[5] = 4; });
  add("the most column", [](arrays& a) { a.col[2] = most; });
  add("the least column", [](arrays& a) { a.col[2] = least; });
  add("fewer values than columns", [](arrays& a) { a.val.pop_back(); });
  add("more values than columns", [](arrays& a) { a.val.push_back(1); });
  add("fewer columns than values", [](arrays& a) { a.col.pop_back(); });
  add("offsets at a null pointer", [](arrays& a) { a.row_begin_at_null = 5; });
  add("columns at a null pointer", [](arrays& a) { a.col_at_null = 6; });
  add("values at a null pointer", [](arrays& a) { a.val_at_null = 6; });
  add("a number of entries below 0",
      [](arrays& a) { a.col_at_null = endless - 1, a.val_at_null = endless - 1; });
  return out;
}

/// A function of the library that takes a matrix.
template <class Matrix> struct taker {
  std::string name;
  std::function<void(Matrix)> take;
};

std::filesystem::path output(const char* name) {
  static const temporary_folder folder;
  return folder.path / name;
}

/// Functions for offsets of both sizes.
template <class Offset> std::vector<taker<csr_view<double, Offset>>> takers_of_both() {
  using view = csr_view<double, Offset>;
  static const std::vector<double> b(4, 1.0);
  std::vector<taker<view>> out = {
      {"validate", [](view a) { validate(a); }},
      {"make_plan", [](view a) { nz::make_plan(a); }},
      {"make_plan, in single precision",
       [](view a) { nz::make_plan(a, {.values = nz::stored_values::single}); }},
      {"pagerank", [](view a) { nz::pagerank(a); }},
      {"conjugate_gradients", [](view a) { nz::conjugate_gradients<double>(a, b); }},
      {"write .mtx", [](view a) { nz::write(output("a.mtx"), a); }},
      {"write .npz", [](view a) { nz::write(output("a.npz"), a); }},
      {"write_matrix_market", [](view a) { write_matrix_market(output("a.mtx"), a); }},
      {"write_npz", [](view a) { write_npz(output("a.npz"), a); }},
  };
  for (const auto& on : nz::devices()) {
    const std::string where = ", " + std::string(name_of(on->kind()));
    out.push_back({"make_plan" + where, [on](view a) { nz::make_plan(a, {.on = on}); }});
    out.push_back({"place_csr" + where, [on](view a) { nz::place_csr(a, on); }});
    if (on->is_host()) out.push_back({"borrow_csr" + where, [on](view a) { nz::borrow_csr(a, on); }});
  }
  for (const nz::kernel_row& kernel : nz::kernels())
    out.push_back({"prepare " + std::string(kernel.name), [&kernel](view a) { kernel.prepare(a); }});
  return out;
}

std::vector<taker<csr_view<double>>> takers() {
  using view = csr_view<double>;
  auto out = takers_of_both<offset>();
#define NONZERO_FORMAT(name, summary, convert)                       \
  out.push_back({"to_" #name, [](view a) {                           \
                   [[maybe_unused]] const nz::padding_budget budget; \
                   convert;                                          \
                 }});
  NONZERO_FOR_EACH_FORMAT(NONZERO_FORMAT)
#undef NONZERO_FORMAT
  for (const nz::format_row& format : nz::formats())
    if (format.name != "csr")  // of which only the lengths are read
      out.push_back({"footprint of " + std::string(format.name), [&](view a) { format.footprint_of(a); }});
  const std::vector<taker<view>> others = {
      {"longest_row", [](view a) { longest_row(a); }},
      {"transpose", [](view a) { transpose(a); }},
      {"to_ell_of_width", [](view a) { to_ell_of_width(a, 2); }},
      {"ell_footprint_of_width", [](view a) { ell_footprint_of_width(a, 2); }},
      {"to_hyb, with a width", [](view a) { to_hyb(a, 1); }},
      {"default_hyb_width", [](view a) { default_hyb_width(a); }},
      {"rows_by_falling_length", [](view a) { rows_by_falling_length(a); }},
      {"find_block_size", [](view a) { find_block_size(a); }},
      {"to_bsr, with a size", [](view a) { to_bsr(a, {.block_size = 2, .min_fill = 0}); }},
      {"to_bsr_of_floats", [](view a) { nz::to_bsr_of_floats(a, {.block_size = 2, .min_fill = 0}); }},
      {"find_symmetric_block_size", [](view a) { find_symmetric_block_size(a); }},
      {"to_sbsr, with a size", [](view a) { to_sbsr(a, {.block_size = 2}); }},
      {"to_sbsr_of_floats", [](view a) { nz::to_sbsr_of_floats(a, {.block_size = 2}); }},
      {"to_packed, with slices",
       [](view a) {
         to_packed(a, std::vector<index>{0, 4}, nz::run_in_order);
       }},
      {"to_sell_by_steps",
       [](view a) {
         to_sell_by_steps(a, {.height = 2, .window_begin = {0, 4}, .for_each_window = nz::run_in_order}, {});
       }},
      {"find_locality", [](view a) { nz::find_locality(a); }},
      {"find_sink", [](view a) { nz::find_sink(a); }},
  };
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

template <class Matrix>
void expect_refused(const taker<Matrix>& function, const Matrix& a, const std::string& what) {
  SCOPED_TRACE(function.name + " of a matrix with " + what);
  EXPECT_THROW(function.take(a), nz::shape_error);
}

TEST(EveryPublicFunction, RefusesEveryBrokenMatrix) {
  const auto wide = takers();
  const auto narrow = takers_of_both<std::int32_t>();
  for (const auto& [what, a] : broken_matrices()) {
    for (const auto& function : wide) expect_refused(function, a.wide_view(), what);
    for (const auto& function : narrow) expect_refused(function, a.narrow_view(), what);
  }
  EXPECT_FALSE(exists(output("a.mtx")));
  EXPECT_FALSE(exists(output("a.npz")));
}

TEST(EveryPublicFunction, TakesTheMatrixThatIsNotBroken) {
  arrays a;
  a.narrow.assign(a.row_begin.begin(), a.row_begin.end());
  const auto expect_taken = [](const auto& function, const auto& view) {
    SCOPED_TRACE(function.name);
    try {
      function.take(view);
    } catch (const nz::unsupported&) {   // the kernel or format does not suit it
    } catch (const nz::device_error&) {  // there is no GPU
    }
  };
  for (const auto& function : takers())
    if (!function.name.starts_with("prepare")) expect_taken(function, a.wide_view());
  for (const auto& function : takers_of_both<std::int32_t>())
    if (!function.name.starts_with("prepare")) expect_taken(function, a.narrow_view());
}

/// Leaves `from` moved from, where clang-tidy does not see it.
template <class T> T take(T& from) { return std::move(from); }

TEST(EveryPublicFunction, RefusesAnOwnerThatWasMovedFrom) {
  csr<double> a{2, 2, {0, 1, 2}, {0, 1}, {1, 2}};
  const csr<double> taken = take(a);
  EXPECT_EQ(a.nnz(), 0);
  expect_refusal<nz::shape_error>([&] { validate(a); },
                                  {"csr: row_begin is 0 long instead of 3", "was the matrix moved"});
  EXPECT_THROW(nz::make_plan(a), nz::shape_error);
  EXPECT_THROW(nz::pagerank(a), nz::shape_error);
  EXPECT_THROW(nz::find_kernel("csr_balanced").prepare(a), nz::shape_error);
  EXPECT_THROW(nz::place_csr(a, nz::cpu_device()), nz::shape_error);
  EXPECT_THROW(nz::write(output("moved.mtx"), a), nz::shape_error);
  EXPECT_THROW(nz::make_plan(std::move(a)), nz::shape_error);
}

TEST(MakePlan, LeavesAMatrixThatItRefusesWhereItIs) {
  csr<double> a{2, 2, {0, 1, 2}, {0, 2}, {1, 2}};
  EXPECT_THROW(nz::make_plan(std::move(a)), nz::shape_error);
  EXPECT_EQ(a.col, (nz::array<index>{0, 2}));  // NOLINT: that is the question
}

// Of a caller who vouches nothing is looked at: here for a value that no entry has.
TEST(ACallerWhoVouches, IsBelieved) {
  arrays a;
  a.val.push_back(1);
  const csr_view<double> view = a.wide_view();
  EXPECT_THROW(nz::make_plan(view), nz::shape_error);
  EXPECT_NO_THROW(nz::make_plan(view, {.is_trusted = true}));
  EXPECT_NO_THROW(nz::make_plan(nz::trusted(view)));
  EXPECT_NO_THROW(nz::find_kernel("csr_balanced").prepare(view, {.is_trusted = true}));
  EXPECT_NO_THROW(nz::find_kernel("ell_blocks").prepare(view, {.is_trusted = true}));
  EXPECT_NO_THROW(nz::pagerank(view, {.plan = {.is_trusted = true}}));
  EXPECT_NO_THROW(
      nz::conjugate_gradients<double>(view, std::vector<double>(4, 1.0), {.plan = {.is_trusted = true}}));
  EXPECT_NO_THROW(transpose(nz::trusted(view)));
  EXPECT_NO_THROW(nz::write(output("trusted.mtx"), nz::trusted(view)));
}

TEST(Validation, ReportsWhatItCosts) {
  const csr<double> a = nz::generate::poisson_2d<double>(20, 20);
  const auto plan = nz::make_plan(a);
  EXPECT_GT(plan.report().validation_seconds, 0);
  EXPECT_LT(plan.report().validation_seconds, plan.report().seconds);
  EXPECT_NE(plan.explain().find("validated the matrix"), std::string::npos) << plan.explain();
  const auto trusted = nz::make_plan(a, {.is_trusted = true});
  EXPECT_EQ(trusted.report().validation_seconds, 0);
  EXPECT_EQ(trusted.explain().find("validated"), std::string::npos);
  EXPECT_GT(nz::pagerank(a).plan.validation_seconds, 0);
  EXPECT_EQ(nz::pagerank(nz::trusted(a)).plan.validation_seconds, 0);
}

TEST(Validation, NamesTheFirstOfTheWrongPlacesThatThreadsFind) {
  constexpr index rows = 400'000;
  csr<double> a = nz::generate::diagonal<double>(rows);
  a.col[399'999] = a.col[300'000] = rows;
  a.col[250'000] = -1;
  expect_refusal<nz::shape_error>([&] { validate(a); },
                                  {"csr: col is -1 at position 250001, in row 250001 (both counted from 1)"});
  a.row_begin[350'000] = a.row_begin[200'000] = 0;
  expect_refusal<nz::shape_error>([&] { validate(a); },
                                  {"row_begin falls from 199999 to 0 at position 200001 (counted from 1)"});
}

TEST(APlanThatWasMovedFrom, SaysSoWhateverIsAskedOfIt) {
  const csr<double> a{2, 2, {0, 1, 2}, {0, 1}, {1, 2}};
  nz::plan<double> from = nz::make_plan(a);
  const nz::plan<double> to = take(from);
  std::vector<double> x(2, 1.0), y(2), sums(1);
  const auto on = nz::cpu_device();
  nz::vector<double> there(on, x), result(on, 2), sums_there(on, 1);
  const nz::fused_step<double> step;
  const std::vector<std::function<void()>> questions = {
      [&] { from.multiply(x, y); },
      [&] { from.multiply(2, x, 1, y); },
      [&] { from.multiply(there, result); },
      [&] { from.multiply(2, there, 1, result); },
      [&] { from.apply(x, step, y, sums); },
      [&] { from.apply(there, step, result, sums_there); },
      [&] { from.apply(x, [](index, std::span<double>) { return 0.0; }); },
      [&] { from.prepared(); },
      [&] { from.kernel(); },
      [&] { from.storage(); },
      [&] { from.where(); },
      [&] { from.rows(); },
      [&] { from.cols(); },
      [&] { from.report(); },
      [&] { from.explain(); },
      [&] { from.keep(nullptr); },
  };
  for (const auto& ask : questions) expect_refusal<nz::unsupported>(ask, {"this plan was moved to another"});
  to.multiply(x, y);
  EXPECT_EQ(y, (std::vector<double>{1, 2}));
  from = nz::make_plan(a);
  EXPECT_EQ(from.rows(), 2);
}

// A struct of views that somebody filled by hand.
TEST(AMatrixInADevicesMemory, IsValidatedUnlessItCameFromPlaceCsrOrBorrowCsr) {
  const auto on = nz::find_device("emulator");
  const std::vector<std::int32_t> row_begin = {0, 1, 2}, col = {0, 2};
  const std::vector<double> val = {1, 2}, b = {1, 1};
  const auto make = [&](const auto& change) {
    nz::device_csr<double> a{.rows = 2,
                             .cols = 2,
                             .nnz = 2,
                             .row_begin = {on, row_begin.data(), 3},
                             .wide_row_begin = {},
                             .col = {on, col.data(), 2},
                             .val = {on, val.data(), 2},
                             .on = on};
    change(a);
    return std::make_shared<const nz::device_csr<double>>(a);
  };
  using matrix = nz::device_csr<double>;
  const auto unchanged = [](matrix&) {};
  const std::vector<std::shared_ptr<const matrix>> broken = {
      make(unchanged),  // a column of 2
      make([](matrix& a) { a.rows = -1; }),
      make([](matrix& a) { a.nnz = 3; }),
      make([](matrix& a) { a.cols = -3; }),
      make([](matrix& a) { a.row_begin = {}; }),
      make([&](matrix& a) {
        a.row_begin = {on, nullptr, 3};
      }),
      make([&](matrix& a) {
        a.val = {on, val.data(), 1};
      }),
      make([&](matrix& a) {
        a.col = {nz::cpu_device(), col.data(), 2};
      }),
      nullptr,
  };
  const nz::kernel_row& kernel = nz::find_kernel("csr_vector", nz::device_kind::emulator);
  for (const auto& a : broken) {
    EXPECT_THROW(nz::make_plan(a), nz::shape_error);
    EXPECT_THROW(kernel.prepare(a), nz::shape_error);
    EXPECT_THROW(nz::pagerank(a), nz::shape_error);
    EXPECT_THROW(nz::conjugate_gradients<double>(a, b), nz::shape_error);
    if (a) {
      EXPECT_THROW(to_host(*a), nz::shape_error);
    }
  }
  EXPECT_THROW(nz::make_plan(make([](matrix& a) { a.on = nullptr; })), nz::device_error);
  const auto three_columns = make([](matrix& a) { a.cols = 3; });
  EXPECT_FALSE(three_columns->is_trusted);
  EXPECT_EQ(to_host(*three_columns).col, (nz::array<index>{0, 2}));
  EXPECT_EQ(nz::make_plan(three_columns).cols(), 3);
}

template <class Format> void expect_safe_when_moved_from(Format a) {
  const Format taken = std::move(a);
  EXPECT_NO_THROW(footprint_of(a));  // NOLINT: that is the question
  if constexpr (requires { a.nnz(); }) {
    EXPECT_LE(a.nnz(), 0);
  }
  EXPECT_THROW(validate(a), nz::shape_error);
  EXPECT_THROW(to_csr(a), nz::shape_error);
  EXPECT_THROW(for_each_entry(a, [](index, index, double) {}), nz::shape_error);
}

// A coo is not among them: without arrays it is a matrix without entries.
TEST(AFormatThatWasMovedFrom, IsRefused) {
  const arrays whole;
  const csr_view<double> a = whole.wide_view();
  expect_safe_when_moved_from(to_ell(a));
  expect_safe_when_moved_from(to_hyb(a));
  expect_safe_when_moved_from(to_jds(a));
  expect_safe_when_moved_from(to_tjds(a));
  expect_safe_when_moved_from(to_sell(a));
  expect_safe_when_moved_from(to_packed(a));
  expect_safe_when_moved_from(to_bsr(a, {.block_size = 2, .min_fill = 0}));
  const csr<double> blocks{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 2, 1}};
  expect_safe_when_moved_from(to_sbsr(blocks));
}

TEST(AFormatWithAColumnOutside, IsNotConverted) {
  const arrays whole;
  const csr_view<double> a = whole.wide_view();
  const auto expect_not_converted = [](auto there, const auto& column_of) {
    column_of(there) = 1000;
    EXPECT_THROW(to_csr(there), nz::shape_error);
    EXPECT_THROW(for_each_entry(there, [](index, index, double) {}), nz::shape_error);
  };
  expect_not_converted(
      to_coo(a), [](auto& m) -> auto& { return m.col[0]; });
  expect_not_converted(
      to_ell(a), [](auto& m) -> auto& { return m.col[0]; });
  expect_not_converted(
      to_hyb(a), [](auto& m) -> auto& { return m.regular.col[0]; });
  expect_not_converted(
      to_jds(a), [](auto& m) -> auto& { return m.col[0]; });
  expect_not_converted(
      to_tjds(a), [](auto& m) -> auto& { return m.col[0]; });
  expect_not_converted(
      to_sell(a), [](auto& m) -> auto& { return m.col[0]; });
  expect_not_converted(
      to_bsr(a, {.block_size = 2, .min_fill = 0}), [](auto& m) -> auto& { return m.rest.col[0]; });
}

TEST(OptionsOfConversions, AreRefusedOutOfTheirRange) {
  const arrays whole;
  const csr_view<double> a = whole.wide_view();
  constexpr offset most = std::numeric_limits<offset>::max();
  EXPECT_THROW(to_ell_of_width(a, -1), nz::shape_error);
  EXPECT_ANY_THROW(to_ell_of_width(a, most));
  EXPECT_THROW(to_hyb(a, most), nz::unsupported);
  EXPECT_THROW(to_bsr(a, {.block_size = -1, .min_fill = 0}), nz::unsupported);
  EXPECT_THROW(bsr_footprint(a, 7), nz::unsupported);
  EXPECT_THROW(to_sell(a, {.height = 0}), nz::shape_error);
  EXPECT_NO_THROW(to_sell(csr<double>{1, 1, {0, 0}, {}, {}}, {.height = std::numeric_limits<index>::max()}));
  EXPECT_THROW(to_packed(a, std::vector<index>{0, 3}, nz::run_in_order), nz::shape_error);
  EXPECT_THROW(to_packed(a, std::vector<index>{}, nz::run_in_order), nz::shape_error);
  const csr<double> blocks{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 2, 1}};
  EXPECT_THROW(to_sbsr(blocks, {.group_cols = -1}), nz::shape_error);
  EXPECT_THROW(to_sbsr(blocks, {.first_block_row = std::vector<index>{0, 2}}), nz::shape_error);
}

TEST(AVectorAtANullPointer, IsRefused) {
  const csr<double> a{2, 2, {0, 1, 2}, {0, 1}, {1, 2}};
  const auto plan = nz::make_plan(a);
  std::vector<double> whole(2, 1.0), sums(1);
  const std::span<double> nowhere(static_cast<double*>(nullptr), 2);
  EXPECT_THROW(plan.multiply(nowhere, whole), nz::shape_error);
  EXPECT_THROW(plan.multiply(whole, nowhere), nz::shape_error);
  EXPECT_THROW(plan.apply(nowhere, nz::fused_step<double>(), whole, sums), nz::shape_error);
  EXPECT_THROW(plan.apply(nowhere, [](index, std::span<double>) { return 0.0; }), nz::shape_error);
  EXPECT_THROW(nz::conjugate_gradients<double>(a, nowhere), nz::shape_error);
  EXPECT_THROW(nz::vector<double>(nullptr, 2), nz::device_error);
  for (const char* name : {"x.mtx", "x.npz", "x.npy", "x.txt"})
    EXPECT_THROW(nz::write_vector_file<double>(output(name), nowhere), nz::shape_error);
}

}  // namespace
