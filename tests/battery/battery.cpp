#include "battery.hpp"

#include <limits>
#include <random>

#include <nonzero/io/generate.hpp>

namespace battery {
namespace {

using nz::csr;
using nz::index;
namespace generate = nz::generate;

/// Rows of the given entries, as they are written: unsorted and repeated columns stay so.
template <class V> csr<V> rows_of(index cols, const std::vector<std::vector<std::pair<index, V>>>& rows) {
  csr<V> a;
  a.rows = static_cast<index>(rows.size());
  a.cols = cols;
  for (const auto& row : rows) {
    for (const auto& [j, v] : row) {
      a.col.push_back(j);
      a.val.push_back(v);
    }
    a.row_begin.push_back(static_cast<nz::offset>(a.col.size()));
  }
  return a;
}

template <class V> csr<V> without_entries(index rows, index cols) {
  csr<V> a;
  a.rows = rows;
  a.cols = cols;
  a.row_begin.assign(static_cast<std::size_t>(rows) + 1, 0);
  return a;
}

/// Repeats and disorders the columns of every row, across more rows than a block.
template <class V> csr<V> disordered(index n) {
  std::vector<std::vector<std::pair<index, V>>> rows(static_cast<std::size_t>(n));
  std::mt19937 random(11);
  for (auto& row : rows)
    for (unsigned k = random() % 9; k > 0; --k)
      row.emplace_back(static_cast<index>(random() % 7 * 5), static_cast<V>(random() % 100) / 8);
  return rows_of<V>(n, rows);
}

template <class V> csr<V> with_extremes() {
  constexpr V inf = std::numeric_limits<V>::infinity(), nan = std::numeric_limits<V>::quiet_NaN();
  constexpr V tiny = std::numeric_limits<V>::denorm_min();
  return rows_of<V>(5, {{{0, inf}, {1, 1}},
                        {{1, nan}},
                        {{2, inf}, {3, -inf}},
                        {{4, tiny}, {0, tiny}},
                        {{0, V{0}}, {4, -V{0}}},
                        {},
                        {{3, 1}, {2, -1}}});
}

/// One row of all columns among short ones, at `at`.
template <class V> csr<V> giant_row(index n, index at) {
  std::vector<index> lengths(static_cast<std::size_t>(n), 2);
  lengths[at] = n;
  return generate::row_lengths<V>(n, lengths, 5);
}

/// Giant rows beside each other and alone, with lengths around those at which a CPU's kernel cuts a row.
template <class V> csr<V> giant_rows_to_cut() {
  const std::vector<index> lengths{8193, 3, 20000, 8192, 0, 0, 12288, 1, 5, 4,    4,
                                   4,    4, 4,     4,    4, 9, 12289, 2, 2, 4096, 4097};
  return generate::row_lengths<V>(20000, lengths, 8);
}

template <class V> std::vector<named_matrix<V>> make() {
  const std::vector<index> ladder{0,  1,  2,  3,  7,   8,   15,  16,  17, 31, 32,
                                  33, 63, 64, 65, 127, 128, 129, 200, 0,  0,  1};
  return {
      {"0 x 0", without_entries<V>(0, 0)},
      {"0 x 5", without_entries<V>(0, 5)},
      {"5 x 0", without_entries<V>(5, 0)},
      {"no entries", without_entries<V>(70, 40)},
      {"1 x 1", rows_of<V>(1, {{{0, V{-2.5}}}})},
      {"1 x 1 without entry", without_entries<V>(1, 1)},
      {"one row", generate::uniform<V>(1, 3000, 1000)},
      {"one column", generate::uniform<V>(3000, 1, 1)},
      {"diagonal", generate::diagonal<V>(100)},
      {"last row only", rows_of<V>(3, {{}, {}, {{2, V{4}}}})},
      {"every length around powers of two", generate::row_lengths<V>(200, ladder, 3)},
      {"rows of one warp and one", generate::uniform<V>(33, 64, 33)},
      {"longer than a block", generate::banded<V>(1025, 3)},
      {"tall", generate::uniform<V>(5000, 37, 5)},
      {"wide", generate::uniform<V>(37, 5000, 300)},
      {"mostly empty rows", generate::empty_rows<V>(5000, 6, 10)},
      {"giant first row", giant_row<V>(3000, 0)},
      {"giant last row", giant_row<V>(3000, 2999)},
      {"giant rows within", generate::dense_rows<V>(3000, 3, 4)},
      {"giant rows to be cut", giant_rows_to_cut<V>()},
      {"unsorted, with duplicates", disordered<V>(1100)},
      {"NaN and infinity", with_extremes<V>()},
      {"power law", generate::rmat<V>(12, 8)},
      {"3 x 3 blocks", generate::fem_blocks<V>(6, 5, 4)},
      {"larger than a cache", generate::poisson_2d<V>(400, 390)},
  };
}

}  // namespace

template <class V> const std::vector<named_matrix<V>>& matrices() {
  static const std::vector<named_matrix<V>> all = make<V>();
  return all;
}

template <class V> std::vector<V> numbers(std::size_t count, unsigned salt) {
  std::mt19937 random(salt);
  std::vector<V> out(count);
  for (V& v : out) v = static_cast<V>(static_cast<double>(random()) / 2147483648.0 - 1.0);
  return out;
}

template const std::vector<named_matrix<float>>& matrices();
template const std::vector<named_matrix<double>>& matrices();
template std::vector<float> numbers(std::size_t, unsigned);
template std::vector<double> numbers(std::size_t, unsigned);

}  // namespace battery
