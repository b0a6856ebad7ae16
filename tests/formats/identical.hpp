#pragma once

#include <cstring>

#include <gtest/gtest.h>

#include <nonzero/formats/csr.hpp>

/// Equal bit for bit, so that NaN equals NaN and -0 differs from 0.
template <class V> void expect_identical(const nz::csr<V>& a, const nz::csr<V>& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.cols, b.cols);
  EXPECT_EQ(a.row_begin, b.row_begin);
  EXPECT_EQ(a.col, b.col);
  ASSERT_EQ(a.val.size(), b.val.size());
  EXPECT_TRUE(a.val.empty() || std::memcmp(a.val.data(), b.val.data(), a.val.size() * sizeof(V)) == 0);
}
