#include "symmetric_matrices.hpp"

#include <algorithm>
#include <set>

#include <nonzero/io/generate.hpp>

using nz::index;

template <class V>
nz::csr<V> symmetric_block_matrix(index size, index block_rows, const std::vector<index>& distances) {
  const std::vector<V> values = battery::numbers<V>(9973, 31);
  // The same for (i, j) and (j, i).
  const auto value = [&](index i, index j) {
    const auto low = static_cast<std::size_t>(std::min(i, j)),
               high = static_cast<std::size_t>(std::max(i, j));
    return values[(low * 7919 + high * 104729) % values.size()];
  };
  nz::csr<V> a;
  a.rows = a.cols = size * block_rows;
  for (index row = 0; row < a.rows; ++row) {
    std::set<index> blocks{row / size};
    for (const index d : distances) {
      if (row / size >= d) blocks.insert(row / size - d);
      if (row / size + d < block_rows) blocks.insert(row / size + d);
    }
    for (const index block : blocks)
      for (index c = 0; c < size; ++c) {
        a.col.push_back(block * size + c);
        a.val.push_back(value(row, block * size + c));
      }
    a.row_begin.push_back(static_cast<nz::offset>(a.col.size()));
  }
  return a;
}

template <class V> std::vector<battery::named_matrix<V>> symmetric_matrices() {
  std::vector<battery::named_matrix<V>> out;
  for (const index size : {2, 3, 4}) {
    const std::string name = "symmetric blocks of " + std::to_string(size);
    out.push_back({name + ", one", symmetric_block_matrix<V>(size, 1, {})});
    out.push_back({name + ", the diagonal", symmetric_block_matrix<V>(size, 700, {})});
    out.push_back({name + ", few rows", symmetric_block_matrix<V>(size, 9, {1, 2, 8})});
    // Long spills for the matrix: few chunks.
    out.push_back({name + ", far from the diagonal", symmetric_block_matrix<V>(size, 900, {1, 5, 300, 899})});
    // Spills that reach over several chunks.
    out.push_back(
        {name + ", many rows", symmetric_block_matrix<V>(size, 9000, {1, 2, 3, 4, 20, 21, 22, 150})});
  }
  out.push_back({"larger than a cache", nz::generate::fem_blocks<V>(17, 15, 40)});
  return out;
}

template nz::csr<float> symmetric_block_matrix(index, index, const std::vector<index>&);
template nz::csr<double> symmetric_block_matrix(index, index, const std::vector<index>&);
template std::vector<battery::named_matrix<float>> symmetric_matrices();
template std::vector<battery::named_matrix<double>> symmetric_matrices();
