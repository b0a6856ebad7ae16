#pragma once

// What the fuzz targets have in common.

#include <cstdlib>
#include <cstring>

#include <nonzero/formats/csr.hpp>

namespace fuzz {

using nz::csr;
using nz::index;
using nz::offset;

/// Stops the fuzzer, which then keeps the input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

template <class Values> bool have_same_bits(const Values& a, const Values& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}

}  // namespace fuzz
