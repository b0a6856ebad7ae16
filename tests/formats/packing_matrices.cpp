#include "tests/formats/packing_matrices.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include <nonzero/io/generate.hpp>

namespace {

using nz::csr;
using nz::index;
using nz::offset;
namespace generate = nz::generate;

template <class V> V third(index row, index k) { return static_cast<V>(7 * row + k + 1) / 3; }
template <class V> V by_diagonal(index, index k) { return static_cast<V>(k) - V{1.5}; }
template <class V> V of_single(index row, index k) { return static_cast<V>(row % 5 - k) / 4; }

/// Values that only their bits tell apart: NaN of two payloads and both signs, zeros, infinities, denormals.
template <class V> V odd_value(index row, index k) {
  using bits = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;
  constexpr V inf = std::numeric_limits<V>::infinity(), nan = std::numeric_limits<V>::quiet_NaN();
  const auto with_payload = [nan](bits payload) {
    return std::bit_cast<V>(std::bit_cast<bits>(nan) | payload);
  };
  const V values[] = {
      nan, -nan, with_payload(5), V{0}, -V{0}, inf, -inf, std::numeric_limits<V>::denorm_min(), V{1}};
  return values[static_cast<std::size_t>(row + 4 * k) % std::size(values)];
}

/// Runs of the given heights, each of another pattern.
template <class V> csr<V> runs_of(const std::vector<index>& heights) {
  csr<V> a{0, 4000, {0}, {}, {}};
  index shift = 0;
  for (const index height : heights) {
    shift = (shift + 7) % 100;
    for (index i = 0; i < height; ++i, ++a.rows) {
      for (const index k : {0, 1, 3}) {
        a.col.push_back(a.rows + shift + k);
        a.val.push_back(third<V>(a.rows, k));
      }
      a.row_begin.push_back(static_cast<offset>(a.col.size()));
    }
  }
  return a;
}

/// Rows without a pattern, whose columns span `range`.
template <class V> csr<V> spread(index rows, index range) {
  csr<V> a{rows, range + 30, {0}, {}, {}};
  for (index i = 0; i < rows; ++i) {
    for (const index j : {20, 20 + static_cast<index>(offset{i} * i * 37 % range), 20 + range}) {
      a.col.push_back(j);
      a.val.push_back(third<V>(i, j % 10));
    }
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  return a;
}

template <class V> csr<V> every_other_row(const csr<V>& a) {
  std::vector<index> emptied;
  for (index i = 0; i < a.rows; i += 2) emptied.push_back(i);
  return with_strangers(a, emptied, {});
}

/// Row i has i % 7 groups of four consecutive columns, `apart` from each other, and i % 3 single columns
/// between them; so no two rows of a slice have a pattern in common.
template <class V>
csr<V> groups_of_four(index rows, index apart, const std::function<V(index row, index k)>& value) {
  csr<V> a{rows, 7 * apart + 200, {0}, {}, {}};
  for (index i = 0; i < rows; ++i) {
    index k = 0;
    const auto add = [&](index column) {
      a.col.push_back(column);
      a.val.push_back(value(i, k++));
    };
    for (index g = 0; g < i % 7; ++g) {
      for (index e = 0; e < 4; ++e) add(g * apart + i * i % 61 + e);
      if (g < i % 3) add(g * apart + i * i % 61 + 6);
    }
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  return a;
}

/// Some rows, one of them of 30,000 entries: all but every ninth column.
template <class V> csr<V> long_row_of_groups() {
  csr<V> a{5, 33750, {0}, {}, {}};
  for (index i = 0; i < a.rows; ++i) {
    const index cols = i == 2 ? a.cols : 60 + i;
    for (index j = i; j < cols; ++j)
      if (j % 9 != 4) {
        a.col.push_back(j);
        a.val.push_back(third<V>(i, j));
      }
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  return a;
}

}  // namespace

template <class V>
csr<V> band(index rows, index cols, const std::vector<index>& diagonals,
            const std::function<V(index row, index k)>& value) {
  csr<V> a{rows, cols, {0}, {}, {}};
  for (index i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < diagonals.size(); ++k)
      if (i + diagonals[k] >= 0 && i + diagonals[k] < cols) {
        a.col.push_back(i + diagonals[k]);
        a.val.push_back(value(i, static_cast<index>(k)));
      }
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  return a;
}

template <class V>
csr<V> with_strangers(const csr<V>& a, const std::vector<index>& which, const std::vector<index>& columns) {
  csr<V> out{a.rows, a.cols, {0}, {}, {}};
  for (index i = 0; i < a.rows; ++i) {
    if (std::find(which.begin(), which.end(), i) != which.end()) {
      out.col.insert(out.col.end(), columns.begin(), columns.end());
      out.val.insert(out.val.end(), columns.size(), V{0.5});
    } else {
      out.col.insert(out.col.end(), a.col.begin() + a.row_begin[i], a.col.begin() + a.row_begin[i + 1]);
      out.val.insert(out.val.end(), a.val.begin() + a.row_begin[i], a.val.begin() + a.row_begin[i + 1]);
    }
    out.row_begin.push_back(static_cast<offset>(out.col.size()));
  }
  return out;
}

template <class V> csr<V> with_holes(const csr<V>& a) {
  csr<V> out{a.rows, a.cols, {0}, {}, {}};
  for (index i = 0; i < a.rows; ++i) {
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k)
      if (a.col[k] % 13 != 5) {
        out.col.push_back(a.col[k]);
        out.val.push_back(a.val[k]);
      }
    out.row_begin.push_back(static_cast<offset>(out.col.size()));
  }
  return out;
}

template <class V> std::vector<battery::named_matrix<V>> packing_matrices() {
  const csr<V> constants = band<V>(2100, 2100, {-1, 0, 1}, by_diagonal<V>),
               numbers = band<V>(2100, 2150, {0, 4, 40}, third<V>);
  const std::vector<index> ends{0, 1, 500, 501, 502, 1022, 1023, 1024, 1025, 2047, 2048, 2098, 2099};
  return {
      {"1-D stencil", generate::poisson_1d<V>(40)},
      {"2-D stencil", generate::poisson_2d<V>(37, 29)},
      {"3-D stencil", generate::poisson_3d<V>(9, 8, 7)},
      {"random band over several slices", generate::banded<V>(3000, 3)},
      {"constant band over several slices", generate::tridiagonal<V>(3000)},
      {"strangers at the ends of slices, constants", with_strangers(constants, ends, {0, 900, 7})},
      {"strangers at the ends of slices, numbers", with_strangers(numbers, ends, {0, 900, 7, 8, 9})},
      {"short strangers", with_strangers(numbers, ends, {3})},
      {"empty strangers", with_strangers(numbers, ends, {})},
      {"every other row empty", every_other_row(numbers)},
      {"runs around 16 rows", runs_of<V>({15, 16, 17, 1, 31, 32, 33, 15, 14, 16, 3})},
      {"rows that no block of 16 divides", band<V>(1037, 1100, {0, 5, 9}, third<V>)},
      {"unsorted runs with duplicates", band<V>(300, 400, {9, 0, 0, 3, 9, -1}, third<V>)},
      {"unsorted constant runs with duplicates", band<V>(300, 400, {9, 0, 0, 3, 9, -1}, by_diagonal<V>)},
      {"odd values in runs", band<V>(300, 400, {0, 2, 11}, odd_value<V>)},
      {"odd values without runs", with_strangers(band<V>(14, 400, {0, 2, 11}, odd_value<V>), {4, 9}, {})},
      {"constant NaN", band<V>(50, 60, {0, 2}, [](index, index k) { return odd_value<V>(2, 9 * k); })},
      {"runs of single values", band<V>(300, 400, {0, 2, 11}, of_single<V>)},
      {"holes in runs", with_holes(numbers)},
      {"holes and strangers", with_holes(with_strangers(numbers, ends, {0, 900, 907, 908, 909}))},
      {"holes in constant runs", with_holes(constants)},
      {"holes in runs of single values", with_holes(band<V>(300, 400, {0, 2, 11}, of_single<V>))},
      {"holes in odd values", with_holes(band<V>(331, 400, {0, 2, 11}, odd_value<V>))},
      {"holes beside odd constants",
       with_holes(band<V>(47, 60, {0, 2}, [](index, index k) { return odd_value<V>(5, 9 * k); }))},
      {"holes in unsorted runs", with_holes(band<V>(300, 400, {9, 0, 3, -1}, third<V>))},
      {"near columns", spread<V>(50, 65535)},
      {"far columns", spread<V>(50, 65536)},
      {"groups of four columns", groups_of_four<V>(2500, 80, third<V>)},
      {"groups of four far columns", groups_of_four<V>(60, 20000, third<V>)},
      {"groups of four and constant values", groups_of_four<V>(50, 80, [](index, index) { return V{3}; })},
      {"groups of four and odd values", groups_of_four<V>(50, 80, odd_value<V>)},
      {"groups of four and unsorted rows",
       with_strangers(groups_of_four<V>(50, 80, third<V>), {3, 20, 49}, {9, 5, 6, 7, 8, 8, 1, 2, 3, 4})},
      {"groups of four and single values", groups_of_four<V>(50, 80, of_single<V>)},
      {"a long row of groups", long_row_of_groups<V>()},
      {"wide runs", generate::uniform<V>(40, 3000, 3000)},
      {"a row of more entries than 16 bits count", generate::uniform<V>(3, 70000, 66000)},
      {"four blocks of columns", generate::uniform<V>(3000, 3 * 65536 + 5, 9)},
  };
}

template csr<float> band(index, index, const std::vector<index>&, const std::function<float(index, index)>&);
template csr<double> band(index, index, const std::vector<index>&,
                          const std::function<double(index, index)>&);
template csr<float> with_strangers(const csr<float>&, const std::vector<index>&, const std::vector<index>&);
template csr<double> with_strangers(const csr<double>&, const std::vector<index>&, const std::vector<index>&);
template csr<float> with_holes(const csr<float>&);
template csr<double> with_holes(const csr<double>&);
template std::vector<battery::named_matrix<float>> packing_matrices();
template std::vector<battery::named_matrix<double>> packing_matrices();
