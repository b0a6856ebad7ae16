#include "block_matrices.hpp"

#include <algorithm>
#include <map>
#include <random>

template <class V> nz::csr<V> block_matrix(const block_matrix_options& options) {
  using nz::index;
  std::mt19937 random(17);
  const index size = options.size, block_cols = 3 * options.block_rows;
  nz::csr<V> a;
  a.rows = options.block_rows * size + options.more_rows;
  a.cols = block_cols * size + options.more_cols;
  const auto column = [&](index limit) {
    return static_cast<index>(random() % static_cast<unsigned>(limit));
  };
  const auto value = [&] { return static_cast<V>(random()) / V{3e9}; };
  for (index first = 0; first < a.rows; first += size) {
    const index rows_here = std::min(size, a.rows - first);
    std::vector<std::map<index, V>> rows(static_cast<std::size_t>(rows_here));
    for (auto& row : rows)
      for (index k = 0; k < options.loose_entries; ++k) row[column(a.cols)] = value();
    for (index k = 0; k < options.per_row && rows_here == size; ++k) {
      const index block = column(block_cols) * size;
      for (auto& row : rows)
        for (index c = 0; c < size; ++c) row[block + c] = value();
      if (options.one_in_is_broken > 0 && column(options.one_in_is_broken) == 0)
        rows[static_cast<std::size_t>(column(size))].erase(block + column(size));
    }
    if (rows_here < size)
      for (auto& row : rows) row[a.cols - 1] = value();
    for (const auto& row : rows) {
      const auto begin = static_cast<std::ptrdiff_t>(a.col.size());
      for (const auto& [j, v] : row) {
        a.col.push_back(j);
        a.val.push_back(v);
      }
      if (options.is_disordered && column(60) == 0) std::reverse(a.col.begin() + begin, a.col.end());
      if (options.is_disordered && column(60) == 0 && a.col.end() - a.col.begin() > begin + 1)
        a.col[static_cast<std::size_t>(begin) + 1] = a.col[static_cast<std::size_t>(begin)];
      a.row_begin.push_back(static_cast<nz::offset>(a.col.size()));
    }
  }
  return a;
}

template <class V> std::vector<battery::named_matrix<V>> block_matrices() {
  std::vector<battery::named_matrix<V>> out;
  for (const nz::index size : {2, 3, 4, 5, 6, 8}) {
    const std::string name = "blocks of " + std::to_string(size);
    out.push_back({name, block_matrix<V>({.size = size})});
    out.push_back({name + " and more rows and columns",
                   block_matrix<V>({.size = size, .more_rows = size - 1, .more_cols = size - 1})});
    out.push_back(
        {name + ", some not full, and loose entries",
         block_matrix<V>({.size = size, .more_cols = 1, .one_in_is_broken = 5, .loose_entries = 1})});
    out.push_back(
        {name + " in some disordered rows",
         block_matrix<V>({.size = size, .block_rows = 300, .more_rows = 1, .is_disordered = true})});
    out.push_back({name + " in long block rows", block_matrix<V>({.size = size, .per_row = 250})});
  }
  out.push_back({"a single block", block_matrix<V>({.block_rows = 1, .per_row = 1})});
  return out;
}

template nz::csr<float> block_matrix(const block_matrix_options&);
template nz::csr<double> block_matrix(const block_matrix_options&);
template std::vector<battery::named_matrix<float>> block_matrices();
template std::vector<battery::named_matrix<double>> block_matrices();
