#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/cpu/targets.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/exact.hpp>

#include "tests/formats/block_matrices.hpp"

namespace {

using nz::csr;
using nz::index;
using nz::offset;

const nz::kernel_row& bsr_rows() { return nz::find_kernel("bsr_rows", nz::device_kind::cpu); }

template <class To, class V> csr<To> with_values_as(const csr<V>& a) {
  return {a.rows, a.cols, a.row_begin, a.col, nz::array<To>(a.val.begin(), a.val.end())};
}

/// A block row with a row that is cut into segments, between others that have blocks.
template <class V> csr<V> with_long_row() {
  csr<V> a = block_matrix<V>({.size = 3, .block_rows = 3000, .per_row = 8});
  const index long_row = 4001;
  const offset begin = a.row_begin[long_row], more = a.cols - a.row_length(long_row);
  const auto at = static_cast<std::ptrdiff_t>(begin), end = at + a.row_length(long_row);
  a.col.erase(a.col.begin() + at, a.col.begin() + end);
  a.val.erase(a.val.begin() + at, a.val.begin() + end);
  const std::vector<V> values = battery::numbers<V>(static_cast<std::size_t>(a.cols), 8);
  a.val.insert(a.val.begin() + at, values.begin(), values.end());
  for (index j = 0; j < a.cols; ++j) a.col.insert(a.col.begin() + at + j, j);
  for (index i = long_row + 1; i <= a.rows; ++i) a.row_begin[i] += more;
  return a;
}

template <class V> std::vector<battery::named_matrix<V>> matrices() {
  auto out = block_matrices<V>();
  out.push_back({"a long row", with_long_row<V>()});
  auto floats = with_values_as<V>(with_values_as<float>(out.front().a));
  out.push_back({"values that are floats", std::move(floats)});
  return out;
}

/// In every instruction set, with x that has infinities and NaN beside the entries.
template <class V> void check(const csr<V>& a, const auto& prepare) {
  std::vector<V> x = battery::numbers<V>(static_cast<std::size_t>(a.cols), 1);
  std::vector<bool> is_used(x.size());
  for (const index j : a.col) is_used[static_cast<std::size_t>(j)] = true;
  for (std::size_t j = 0; j < x.size(); ++j)
    if (!is_used[j]) x[j] = std::numeric_limits<V>::infinity();
  x[static_cast<std::size_t>(a.col.front())] = std::numeric_limits<V>::quiet_NaN();
  const std::vector<V> y0 = battery::numbers<V>(static_cast<std::size_t>(a.rows), 2);
  const auto exact = nz::reference::multiply_exactly<V>(V{2}, a, x, V{-1}, y0);
  for (const std::string_view simd : nz::simd_targets()) {
    std::vector<V> y = y0;
    prepare(simd)->multiply(V{2}, x, V{-1}, y);
    EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L) << simd;
  }
}

TEST(BsrRows, IsWithinTheErrorBoundInEveryInstructionSet) {
  for (const auto& [name, matrix] : matrices<float>()) {
    SCOPED_TRACE(name);
    const csr<float>& a = matrix;
    check<float>(a, [&](auto simd) { return bsr_rows().prepare(a, {.simd = simd}); });
    check<double>(with_values_as<double>(a),
                  [&](auto simd) { return bsr_rows().prepare<double>(a, {.simd = simd}); });
  }
  for (const auto& [name, matrix] : matrices<double>()) {
    SCOPED_TRACE(name);
    const csr<double>& a = matrix;
    check<double>(a, [&](auto simd) { return bsr_rows().prepare(a, {.simd = simd}); });
  }
}

TEST(BsrRows, TakesHalfTheBytesWhereDoublesAreFloats) {
  const auto a = block_matrix<double>({});
  const auto floats = with_values_as<double>(with_values_as<float>(a));
  EXPECT_EQ(bsr_rows().prepare(a)->storage().bytes - bsr_rows().prepare(floats)->storage().bytes,
            4 * static_cast<std::uint64_t>(a.nnz()));
}

TEST(BsrRows, HasTheSameBitsForAnyNumberOfThreads) {
  for (const auto& [name, a] : matrices<double>()) {
    SCOPED_TRACE(name);
    const auto x = battery::numbers<double>(static_cast<std::size_t>(a.cols), 3);
    std::vector<double> first, y(static_cast<std::size_t>(a.rows));
    for (const int threads : {1, 2, 3, 7}) {
      const nz::thread_limit scope(threads);
      bsr_rows().prepare(a)->multiply(1, x, 0, y);
      if (first.empty()) first = y;
      EXPECT_EQ(std::memcmp(y.data(), first.data(), y.size() * sizeof(double)), 0) << threads << " threads";
    }
  }
}

TEST(BsrRows, RefusesAMatrixWithoutBlocks) {
  const csr<double> a{3, 3, {0, 1, 2, 3}, {0, 1, 2}, {1, 1, 1}};
  EXPECT_THROW(bsr_rows().prepare(a), nz::unsupported);
  EXPECT_THROW(bsr_rows().prepare(csr<double>{}), nz::unsupported);
}

TEST(Chunks, DoNotPartRowsThatBelongTogether) {
  for (const auto& [name, a] : matrices<float>())
    for (const index size : {1, 2, 3, 4, 5, 6, 8}) {
      SCOPED_TRACE(testing::Message() << name << ", " << size << " rows together");
      const nz::cpu::chunking chunks = nz::cpu::split_into_chunks(a.row_begin, {.block_rows = size});
      EXPECT_EQ(chunks.first_row.back(), a.rows);
      for (index c = 0; c < chunks.count(); ++c) {
        const index first = chunks.first_row[c], rows = chunks.first_row[c + 1] - first;
        EXPECT_GT(rows, 0);
        EXPECT_LE(rows, nz::cpu::most_chunk_rows);
        bool is_whole = first % size == 0;
        for (index i = first - first % size; i < std::min(a.rows, first - first % size + size); ++i)
          is_whole = is_whole || a.row_length(i) > nz::cpu::long_row_from;
        EXPECT_TRUE(is_whole) << "chunk " << c << " starts at row " << first;
      }
    }
}

}  // namespace
