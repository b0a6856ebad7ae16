#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <nonzero/io/generate.hpp>

// What the tests of the generators share.
namespace generate_checks {

constexpr nz::index most = std::numeric_limits<nz::index>::max();

template <class T, class U> bool same(const nz::array<T>& got, std::initializer_list<U> expected) {
  return std::equal(got.begin(), got.end(), expected.begin(), expected.end());
}

// What every generated matrix keeps: the invariants of csr, rows sorted by column, none repeated.
template <class V> void expect_proper(const nz::csr<V>& a) {
  ASSERT_NO_THROW(nz::validate(a));
  for (nz::index i = 0; i < a.rows; ++i)
    for (nz::offset k = a.row_begin[i] + 1; k < a.row_begin[i + 1]; ++k)
      ASSERT_LT(a.col[k - 1], a.col[k]) << "row " << i;
}

template <class Error, class Make> std::string message_of(const Make& make) {
  try {
    make();
  } catch (const Error& e) {
    return e.what();
  }
  return "(nothing was thrown)";
}

}  // namespace generate_checks
