#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/plan/kernels.hpp>

#include "tests/gpu/require_gpu.hpp"

/// Multiplies by rows of given lengths and compares with sums that are exact, in the emulator and on a GPU.
class ExactRows : public testing::TestWithParam<nz::device_kind> {
 protected:
  void SetUp() override {
    if (GetParam() == nz::device_kind::cuda) require_gpu();
  }

  /// Rows of these lengths, each with the first columns. Small whole numbers, so that every sum is exact in
  /// whatever order it is made.
  static nz::csr<double> rows_of(const std::vector<nz::index>& lengths) {
    nz::csr<double> a;
    a.rows = static_cast<nz::index>(lengths.size());
    a.cols = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
    for (const nz::index length : lengths) {
      for (nz::index j = 0; j < length; ++j) {
        a.val.push_back(static_cast<int>(a.val.size() % 5) - 1);
        a.col.push_back(j);
      }
      a.row_begin.push_back(static_cast<nz::offset>(a.col.size()));
    }
    return a;
  }

  /// y = 2 A x - y: an epilogue that is left out, or comes twice, shows in y. More than once: what a multiply
  /// leaves behind must not disturb the next.
  static void check_rows(const char* kernel, const std::vector<nz::index>& lengths) {
    check(kernel, rows_of(lengths));
  }
  static void check(const char* kernel, const nz::csr<double>& a) {
    nz::validate(a);
    std::vector<double> x(a.cols), y0(a.rows), expected(a.rows);
    for (nz::index j = 0; j < a.cols; ++j) x[j] = 1 + j % 3;
    for (nz::index i = 0; i < a.rows; ++i) {
      y0[i] = i % 7 - 3;
      double sum = 0;
      for (nz::offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) sum += a.val[k] * x[a.col[k]];
      expected[i] = 2 * sum - y0[i];
    }
    for (const bool wide : {false, true}) {
      const auto ready = nz::find_kernel(kernel, GetParam()).prepare(a, {.wide_offsets = wide});
      for (int run = 0; run < 3; ++run) {
        std::vector<double> y = y0;
        ready->multiply(2.0, x, -1.0, y);
        const auto wrong = std::mismatch(y.begin(), y.end(), expected.begin());
        if (wrong.first == y.end()) continue;
        ADD_FAILURE() << "row " << wrong.first - y.begin() << ": " << *wrong.first << ", not "
                      << *wrong.second << (wide ? ", wide offsets" : "");
      }
    }
  }
};

inline const auto on_emulator_and_card = testing::Values(nz::device_kind::emulator, nz::device_kind::cuda);
inline const auto name_of_device = [](const auto& one) { return std::string(nz::name_of(one.param)); };
