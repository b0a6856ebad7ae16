#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <nonzero/io/assemble.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/io/generate_internal.hpp>

// Random matrices.
namespace nz::generate {
namespace {

void require_not_negative(std::string_view name, std::string_view what, index value) {
  if (value < 0) throw shape_error(fmt::format("{}: {} of {} is negative", name, what, value));
}

// `count` different columns, sorted, every choice equally likely: draws, sorts, and draws duplicates again.
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
csr<V> random_rows(index rows, index cols, offset entries, std::uint64_t seed, const Length& length_of) {
  const std::uint64_t values = hash(seed, 0), columns = hash(seed, 1);
  return fill_rows<V>(rows, cols, entries, length_of, [&](index i, offset first, index* col, V* val) {
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

// Edge `number` of an R-MAT graph. Each level of the recursion uses 15 random bits to choose a quadrant,
// which gives one more bit of both ends. A word serves four levels, one in each 16-bit lane. The top bit of a
// lane is set first: subtracting t leaves it set where the lane's number is t or more.
std::pair<index, index> rmat_edge(std::uint64_t stream, std::uint64_t number, int scale) {
  constexpr std::uint64_t each_lane = 0x0001000100010001, top_bits = each_lane << 15;
  constexpr std::uint64_t a = 18678, a_b = 24904, a_b_c = 31130;  // 0.57, 0.76, 0.95 of 2^15
  // Brings the lanes' top bits together as the top four of the word; no two of its products overlap.
  constexpr std::uint64_t gather = 1 + (1ull << 15) + (1ull << 30) + (1ull << 45);
  constexpr int levels_per_word = 4, most_words = 8;

  std::uint64_t from = 0, to = 0;
  const int words = (scale + levels_per_word - 1) / levels_per_word;
  for (int w = 0; w < words; ++w) {
    const std::uint64_t lanes = hash(stream, number * most_words + w) | top_bits;
    const std::uint64_t past_a = lanes - each_lane * a, past_a_b = lanes - each_lane * a_b,
                        past_a_b_c = lanes - each_lane * a_b_c;
    from = from << levels_per_word | ((past_a_b & top_bits) * gather) >> 60;
    to = to << levels_per_word | (((past_a ^ past_a_b ^ past_a_b_c) & top_bits) * gather) >> 60;
  }
  const int unused = words * levels_per_word - scale;
  return {static_cast<index>(from >> unused), static_cast<index>(to >> unused)};
}

}  // namespace

template <class V> csr<V> uniform(index rows, index cols, index per_row, std::uint64_t seed) {
  require_not_negative("uniform", "a number of rows", rows);
  require_not_negative("uniform", "a number of columns", cols);
  require_not_negative("uniform", "a row length", per_row);
  const index length = std::min(per_row, cols);
  return random_rows<V>(rows, cols, offset{rows} * length, seed, [=](index) { return length; });
}

template <class V> csr<V> dense_rows(index n, index per_row, index dense, std::uint64_t seed) {
  require_not_negative("dense_rows", "a number of rows", n);
  require_not_negative("dense_rows", "a row length", per_row);
  require_not_negative("dense_rows", "a number of dense rows", dense);
  const index length = std::min(per_row, n), dense_count = std::min(dense, n);
  // True for i = ceil(k n / dense), k = 0 … dense-1.
  const auto is_dense = [=](index i) { return offset{i} * dense_count % n < dense_count; };
  const offset entries = offset{dense_count} * n + offset{n - dense_count} * length;
  return random_rows<V>(n, n, entries, seed, [=](index i) { return is_dense(i) ? n : length; });
}

template <class V> csr<V> empty_rows(index n, index per_row, index every, std::uint64_t seed) {
  require_not_negative("empty_rows", "a number of rows", n);
  require_not_negative("empty_rows", "a row length", per_row);
  if (every < 1) throw shape_error(fmt::format("empty_rows: every {}-th row; it must be 1 or more", every));
  const index length = std::min(per_row, n);
  const offset entries = (offset{n} + every - 1) / every * length;
  return random_rows<V>(n, n, entries, seed, [=](index i) { return i % every == 0 ? length : 0; });
}

template <class V> csr<V> row_lengths(index cols, std::span<const index> lengths, std::uint64_t seed) {
  require_not_negative("row_lengths", "a number of columns", cols);
  if (lengths.size() > static_cast<std::size_t>(std::numeric_limits<index>::max()))
    throw shape_error(fmt::format("row_lengths: {} rows are past what an index holds", lengths.size()));
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] < 0 || lengths[i] > cols)
      throw shape_error(fmt::format("row_lengths: row {}, counted from 1, cannot have {} among {}", i + 1,
                                    counted(lengths[i], "entry"), counted(cols, "column")));
  return random_rows<V>(static_cast<index>(lengths.size()), cols,
                        std::accumulate(lengths.begin(), lengths.end(), offset{0}), seed,
                        [=](index i) { return lengths[i]; });
}

template <class V> csr<V> rmat(int scale, index per_vertex, std::uint64_t seed) {
  if (scale < 0 || scale > 30)
    throw shape_error(fmt::format("rmat: a scale of {} is not within 0 … 30", scale));
  require_not_negative("rmat", "a number of edges per vertex", per_vertex);
  const index vertices = index{1} << scale;
  const offset edges = offset{per_vertex} << scale;
  constexpr std::uint64_t listed = sizeof(std::uint16_t) + sizeof(index);  // of an edge, until it has its row
  require_room<V>(vertices, edges, listed);
  { array<V> too_large_fails_here(edges); }  // where memory is limited otherwise, before a page is touched

  const std::uint64_t stream = hash(seed, 2);
  assembler<V> assembly(vertices, vertices, edges);
  assembly.add_in_lists(edges, 0, [&](offset begin, offset end, entry_list<V>& list) {
    list.resize(static_cast<std::size_t>(end - begin), false);
    for (offset k = begin; k < end; ++k) {
      const auto [from, to] = rmat_edge(stream, k, scale);
      list.row[k - begin] = from;
      list.col[k - begin] = to;
    }
  });
  return std::move(assembly.finish(0).matrix);
}

#define NONZERO_INSTANTIATE(V)                                               \
  template csr<V> uniform(index, index, index, std::uint64_t);               \
  template csr<V> dense_rows(index, index, index, std::uint64_t);            \
  template csr<V> empty_rows(index, index, index, std::uint64_t);            \
  template csr<V> row_lengths(index, std::span<const index>, std::uint64_t); \
  template csr<V> rmat(int, index, std::uint64_t);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::generate
