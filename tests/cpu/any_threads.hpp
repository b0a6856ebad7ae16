#pragma once

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/kernel/prepared_matrix.hpp>
#include <nonzero/reference/exact.hpp>

/// 2 A x - y0 is within the error bound of `exact`, and has the same bits for any number of threads.
template <class V>
void expect_right_for_any_threads(const nz::prepared_matrix<V>& ready, const std::vector<V>& x,
                                  const std::vector<V>& y0, const nz::reference::exact_product& exact) {
  std::vector<V> first;
  for (const int threads : {1, 2, 3, 5, 8}) {
    const nz::thread_limit scope(threads);
    std::vector<V> y = y0;
    ready.multiply(V{2}, x, V{-1}, y);
    if (first.empty()) {
      EXPECT_LE(nz::reference::largest_error<V>(exact, y), 1.0L);
      first = y;
    }
    EXPECT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(V)), 0) << threads << " threads";
  }
}
