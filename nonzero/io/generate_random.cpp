#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <nonzero/io/assemble.hpp>
#include <nonzero/io/counter_hash.hpp>
#include <nonzero/io/fill_rows.hpp>
#include <nonzero/io/generate.hpp>

// Matrices whose entries lie where a hash says.
namespace nz::generate {
namespace {

void require_not_negative(std::string_view name, std::string_view what, index value) {
  if (value < 0) throw shape_error(fmt::format("{}: {} of {} is negative", name, what, value));
}

// `count` different columns, rising, every choice of them equally likely: draws, sorts, and draws again for
// those that were drawn twice.
void draw_columns(std::uint64_t stream, index cols, index count, index* col) {
  std::uint64_t drawn = 0;
  for (index distinct = 0; distinct < count;) {
    for (index k = distinct; k < count; ++k) col[k] = below(cols, hash(stream, drawn++));
    std::sort(col, col + count);
    distinct = static_cast<index>(std::unique(col, col + count) - col);
  }
}

// The same by one pass over all columns: each is taken with the chance wanted / left (selection sampling,
// Knuth vol. 2, 3.4.2, algorithm S).
void select_columns(std::uint64_t stream, index cols, index count, index* col) {
  index taken = 0;
  for (index j = 0; taken < count; ++j) {
    col[taken] = j;
    taken += below(cols - j, hash(stream, j)) < count - taken;
  }
}

// Row i gets length_of(i) columns, at most `cols`, and values in (-1, 1).
template <class V, class Length>
csr<V> random_rows(index rows, index cols, std::uint64_t seed, const Length& length_of) {
  const std::uint64_t values = hash(seed, 0), columns = hash(seed, 1);
  return fill_rows<V>(rows, cols, length_of, [&](index i, offset first, index* col, V* val) {
    const index count = length_of(i);
    // Sorting takes about log2(count) steps for each entry, the pass cols / count. This holds for every row
    // more than half full, where drawing again would take ever longer.
    const auto log2_count = static_cast<index>(std::bit_width(static_cast<std::uint32_t>(count)));
    const bool is_dense = count > 1 && cols / count < log2_count;
    if (is_dense)
      select_columns(hash(columns, i), cols, count, col);
    else
      draw_columns(hash(columns, i), cols, count, col);
    for (index k = 0; k < count; ++k) val[k] = between_minus_one_and_one<V>(hash(values, first + k));
  });
}

// Edge `number` of an R-MAT graph. Each level of the recursion takes 16 bits to choose a quadrant and with it
// one more bit of both ends.
struct edge {
  index from = 0, to = 0;
};

edge rmat_edge(std::uint64_t stream, std::uint64_t number, int scale) {
  constexpr unsigned a = 37356, a_b = 49807, a_b_c = 62259;  // 0.57, 0.76, 0.95 of 2^16
  constexpr int levels_per_word = 4, words = 8;
  edge e;
  for (int w = 0; w * levels_per_word < scale; ++w) {
    std::uint64_t bits = hash(stream, number * words + w);
    for (int level = w * levels_per_word; level < std::min(scale, (w + 1) * levels_per_word); ++level) {
      const auto chance = static_cast<unsigned>(bits & 0xffff);
      bits >>= 16;
      e.from = e.from << 1 | (chance >= a_b);
      e.to = e.to << 1 | ((chance >= a) ^ (chance >= a_b) ^ (chance >= a_b_c));
    }
  }
  return e;
}

}  // namespace

template <class V> csr<V> uniform(index rows, index cols, index per_row, std::uint64_t seed) {
  require_not_negative("uniform", "a number of rows", rows);
  require_not_negative("uniform", "a number of columns", cols);
  require_not_negative("uniform", "a row length", per_row);
  const index length = std::min(per_row, cols);
  return random_rows<V>(rows, cols, seed, [=](index) { return length; });
}

template <class V> csr<V> dense_rows(index n, index per_row, index dense, std::uint64_t seed) {
  require_not_negative("dense_rows", "a number of rows", n);
  require_not_negative("dense_rows", "a row length", per_row);
  require_not_negative("dense_rows", "a number of dense rows", dense);
  const index length = std::min(per_row, n), dense_count = std::min(dense, n);
  // True for i = ceil(k n / dense), k = 0 … dense-1.
  const auto is_dense = [=](index i) { return offset{i} * dense_count % n < dense_count; };
  return random_rows<V>(n, n, seed, [=](index i) { return is_dense(i) ? n : length; });
}

template <class V> csr<V> empty_rows(index n, index per_row, index every, std::uint64_t seed) {
  require_not_negative("empty_rows", "a number of rows", n);
  require_not_negative("empty_rows", "a row length", per_row);
  if (every < 1) throw shape_error(fmt::format("empty_rows: every {}-th row; it must be 1 or more", every));
  const index length = std::min(per_row, n);
  return random_rows<V>(n, n, seed, [=](index i) { return i % every == 0 ? length : 0; });
}

template <class V> csr<V> row_lengths(index cols, std::span<const index> lengths, std::uint64_t seed) {
  require_not_negative("row_lengths", "a number of columns", cols);
  if (lengths.size() > static_cast<std::size_t>(std::numeric_limits<index>::max()))
    throw shape_error(fmt::format("row_lengths: {} rows are past what an index holds", lengths.size()));
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] < 0 || lengths[i] > cols)
      throw shape_error(
          fmt::format("row_lengths: row {} cannot have {} entries among {} columns", i, lengths[i], cols));
  return random_rows<V>(static_cast<index>(lengths.size()), cols, seed, [=](index i) { return lengths[i]; });
}

template <class V> csr<V> rmat(int scale, index per_vertex, std::uint64_t seed) {
  if (scale < 0 || scale > 30)
    throw shape_error(fmt::format("rmat: a scale of {} is not within 0 … 30", scale));
  require_not_negative("rmat", "a number of edges per vertex", per_vertex);
  const index vertices = index{1} << scale;
  const offset edges = offset{per_vertex} << scale;
  constexpr offset block = offset{1} << 20;

  const std::uint64_t stream = hash(seed, 2);
  std::vector<entry_list<V>> lists((edges + block - 1) / block);
  parallel_tasks(static_cast<offset>(lists.size()), 0, [&](offset b) {
    const offset first = b * block, count = std::min(block, edges - first);
    entry_list<V>& list = lists[b];
    list.row.resize(count);
    list.col.resize(count);
    for (offset k = 0; k < count; ++k) {
      const edge e = rmat_edge(stream, first + k, scale);
      list.row[k] = e.from;
      list.col[k] = e.to;
    }
  });
  return assemble<V>(vertices, vertices, std::move(lists));
}

template csr<float> uniform(index, index, index, std::uint64_t);
template csr<double> uniform(index, index, index, std::uint64_t);
template csr<float> dense_rows(index, index, index, std::uint64_t);
template csr<double> dense_rows(index, index, index, std::uint64_t);
template csr<float> empty_rows(index, index, index, std::uint64_t);
template csr<double> empty_rows(index, index, index, std::uint64_t);
template csr<float> row_lengths(index, std::span<const index>, std::uint64_t);
template csr<double> row_lengths(index, std::span<const index>, std::uint64_t);
template csr<float> rmat(int, index, std::uint64_t);
template csr<double> rmat(int, index, std::uint64_t);

}  // namespace nz::generate
