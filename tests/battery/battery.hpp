#pragma once

#include <string>
#include <vector>

#include <nonzero/formats/csr.hpp>

namespace battery {

template <class V> struct named_matrix {
  std::string name;
  nz::csr<V> a;
};

/// The matrices that every format, conversion and kernel must get right: empty ones, single rows and columns,
/// giant rows, duplicates, NaN and infinity, and some longer than a warp, a block and a cache. Made once, on
/// first use.
template <class V> const std::vector<named_matrix<V>>& matrices();

/// Numbers in [-1, 1), the same every time; `salt` gives another series.
template <class V> std::vector<V> numbers(std::size_t count, unsigned salt);

}  // namespace battery
