#include <limits>

#include <gtest/gtest.h>

#include <nonzero/cpu/targets.hpp>
#include <nonzero/plan/kernels.hpp>

#include "tests/cpu/any_threads.hpp"
#include "tests/formats/symmetric_matrices.hpp"

namespace {

using nz::csr;
using nz::index;

const nz::kernel_row& sbsr_chunks() { return nz::find_kernel("sbsr_chunks", nz::device_kind::cpu); }

template <class To, class V> csr<To> with_values_as(const csr<V>& a) {
  return {a.rows, a.cols, a.row_begin, a.col, nz::array<To>(a.val.begin(), a.val.end())};
}

/// In every instruction set and for any number of threads; x is exactly as long as it must be, so that the
/// sanitizers see what is read past it, and has NaN and infinity in its first and last place.
template <class V> void check(const csr<V>& a, const auto& prepare) {
  std::vector<V> x = battery::numbers<V>(static_cast<std::size_t>(a.cols), 1);
  x.front() = std::numeric_limits<V>::quiet_NaN();
  x.back() = std::numeric_limits<V>::infinity();
  const std::vector<V> y0 = battery::numbers<V>(static_cast<std::size_t>(a.rows), 2);
  const auto exact = nz::reference::multiply_exactly<V>(V{2}, a, x, V{-1}, y0);
  for (const std::string_view simd : nz::simd_targets()) {
    SCOPED_TRACE(simd);
    const auto ready = prepare(simd);
    expect_right_for_any_threads<V>(*ready, x, y0, exact);
  }
}

TEST(SbsrChunks, MultipliesFloatsAndFloatsWithDoubles) {
  for (const auto& [name, matrix] : symmetric_matrices<float>()) {
    SCOPED_TRACE(name);
    const csr<float>& a = matrix;
    check<float>(a, [&](auto simd) { return sbsr_chunks().prepare(a, {.simd = simd}); });
    check<double>(with_values_as<double>(a),
                  [&](auto simd) { return sbsr_chunks().prepare<double>(a, {.simd = simd}); });
  }
}

TEST(SbsrChunks, MultipliesDoublesAndThoseThatAreFloats) {
  for (const auto& [name, matrix] : symmetric_matrices<double>()) {
    SCOPED_TRACE(name);
    for (const csr<double>& a : {matrix, with_values_as<double>(with_values_as<float>(matrix))})
      check<double>(a, [&](auto simd) { return sbsr_chunks().prepare(a, {.simd = simd}); });
  }
}

/// Every x in turn is infinite: the rows that have no entry there stay finite.
TEST(SbsrChunks, BringsAnInfiniteXOnlyToTheRowsThatHaveIt) {
  for (const index size : {2, 3, 4}) {
    const auto a = symmetric_block_matrix<float>(size, 12, {1, 5});
    for (index j = 0; j < a.cols; ++j) {
      std::vector<float> x = battery::numbers<float>(static_cast<std::size_t>(a.cols), 3);
      x[static_cast<std::size_t>(j)] = std::numeric_limits<float>::infinity();
      const std::vector<float> y0(x.size());
      const auto exact = nz::reference::multiply_exactly<float>(1, a, x, 0, y0);
      for (const std::string_view simd : nz::simd_targets()) {
        std::vector<float> y(x.size(), std::numeric_limits<float>::quiet_NaN());
        sbsr_chunks().prepare(a, {.simd = simd})->multiply(1, x, 0, y);
        EXPECT_LE(nz::reference::largest_error<float>(exact, y), 1.0L) << simd << ", column " << j;
      }
    }
  }
}

TEST(SbsrChunks, TakesHalfTheBytesOfBsr) {
  const auto a = symmetric_block_matrix<double>(3, 9000, {1, 2, 3, 20, 21, 22});
  const auto bytes = [&](const char* kernel) {
    return static_cast<double>(nz::find_kernel(kernel, nz::device_kind::cpu).prepare(a)->storage().bytes);
  };
  EXPECT_LT(bytes("sbsr_chunks"), 0.65 * bytes("bsr_rows"));
}

TEST(SbsrChunks, RefusesColumnsFarFromTheirRows) {
  const auto a = symmetric_block_matrix<double>(3, 9000, {1, 4000, 8000});
  try {
    sbsr_chunks().prepare(a);
    ADD_FAILURE() << "accepted";
  } catch (const nz::unsupported& e) {
    EXPECT_NE(std::string(e.what()).find("columns are too far from their rows"), std::string::npos)
        << e.what();
  }
}

TEST(SbsrChunks, RefusesWhatItsFormatRefuses) {
  EXPECT_THROW(sbsr_chunks().prepare(csr<double>{}), nz::unsupported);
  auto a = symmetric_block_matrix<double>(3, 400, {1, 2});
  a.val[a.val.size() / 2 + 1] += 0.5;
  EXPECT_THROW(sbsr_chunks().prepare(a), nz::unsupported);
}

}  // namespace
