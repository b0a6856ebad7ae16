#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/kernel/device_csr.hpp>

#include "tests/gpu/require_gpu.hpp"

// Arrays that are in a GPU's memory already, which the host cannot look at.
namespace {

using nz::index;
using nz::offset;

class BorrowedOnGpu : public OnGpu {};

/// What borrow_csr says of the arrays in the GPU's memory, and validate of the same on the host. Empty:
/// nothing.
template <class Offset> struct complaints {
  std::string there, here;

  complaints(const nz::csr<double>& a, const std::vector<Offset>& row_begin,
             const std::shared_ptr<nz::device>& on) {
    const nz::vector<Offset> begins(on, row_begin);
    const nz::vector<index> col(on, a.col);
    const nz::vector<double> val(on, a.val);
    const nz::csr_view<double, Offset> view(a.rows, a.cols, row_begin, a.col, a.val);
    here = of([&] { nz::validate(view); });
    there = of([&] {
      nz::borrow_csr(nz::csr_view<double, Offset>(a.rows, a.cols, {begins.data(), begins.size()},
                                                  {col.data(), col.size()}, {val.data(), val.size()}),
                     on);
    });
  }
  static std::string of(const std::function<void()>& body) {
    try {
      body();
    } catch (const nz::shape_error& e) {
      return e.what();
    }
    return {};
  }
};

template <class Offset> void check_offsets(const std::shared_ptr<nz::device>& on) {
  const nz::csr<double> whole = nz::generate::from_spec<double>("rmat:15");
  const std::vector<Offset> begins(whole.row_begin.begin(), whole.row_begin.end());
  const complaints<Offset> sound(whole, begins, on);
  EXPECT_EQ(sound.there, "");
  EXPECT_EQ(sound.here, "");
  for (const std::size_t at :
       {std::size_t{0}, whole.col.size() / 2, whole.col.size() - 2, whole.col.size() - 1})
    for (const index wrong : {-1, whole.cols, index{2147483647}}) {
      SCOPED_TRACE("col[" + std::to_string(at) + "] = " + std::to_string(wrong));
      nz::csr<double> a = whole;
      a.col[at] = wrong;
      const complaints<Offset> found(a, begins, on);
      EXPECT_NE(found.there, "");
      EXPECT_EQ(found.there, found.here);
    }
  for (const std::size_t at : {std::size_t{0}, begins.size() / 2, begins.size() - 2, begins.size() - 1})
    for (const Offset wrong : {Offset{-1}, static_cast<Offset>(whole.nnz() + 1)}) {
      SCOPED_TRACE("row_begin[" + std::to_string(at) + "] = " + std::to_string(wrong));
      std::vector<Offset> changed = begins;
      changed[at] = wrong;
      const complaints<Offset> found(whole, changed, on);
      EXPECT_NE(found.there, "");
      EXPECT_EQ(found.there, found.here);
    }
}

TEST_F(BorrowedOnGpu, WrongArraysAreRefusedAsOnTheHost) {
  check_offsets<std::int32_t>(on);
  check_offsets<offset>(on);
}

// Nothing is copied, or looked at, that may not be there.
TEST_F(BorrowedOnGpu, SizesThatAreWrongAreRefused) {
  const nz::csr<double> a = nz::generate::from_spec<double>("poisson2d:50");
  const nz::vector<offset> begins(on, a.row_begin);
  const nz::vector<index> col(on, a.col);
  const nz::vector<double> val(on, a.val);
  const auto borrow = [&](index rows, index cols, offset nnz) {
    nz::borrow_csr(nz::csr_view<double, offset>(rows, cols, nnz, begins.data(), col.data(), val.data()), on);
  };
  EXPECT_NO_THROW(borrow(a.rows, a.cols, a.nnz()));
  EXPECT_THROW(borrow(-5, a.cols, a.nnz()), nz::shape_error);
  EXPECT_THROW(borrow(a.rows, -1, a.nnz()), nz::shape_error);
  EXPECT_THROW(borrow(a.rows, a.cols, -1), nz::shape_error);
  EXPECT_THROW(borrow(a.rows, a.cols, offset{1} << 40), nz::shape_error);
  EXPECT_THROW(borrow(a.rows - 1, a.cols, a.nnz()), nz::shape_error);
  const nz::csr_view<double, offset> unequal(a.rows, a.cols, {begins.data(), begins.size()},
                                             {col.data(), col.size()}, {val.data(), val.size() - 1});
  EXPECT_THROW(nz::borrow_csr(unequal, on), nz::shape_error);
}

TEST_F(BorrowedOnGpu, EmptyMatricesAreTaken) {
  for (const index rows : {0, 1, 1000}) {
    nz::csr<double> a{rows, 5, {}, {}, {}};
    a.row_begin.assign(static_cast<std::size_t>(rows) + 1, 0);
    const complaints<offset> found(a, {a.row_begin.begin(), a.row_begin.end()}, on);
    EXPECT_EQ(found.there, "");
    EXPECT_EQ(found.here, "");
  }
}

}  // namespace
