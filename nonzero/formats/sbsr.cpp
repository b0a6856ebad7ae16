#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <nonzero/formats/bsr.hpp>
#include <nonzero/formats/conversion_internal.hpp>
#include <nonzero/formats/full_blocks_internal.hpp>
#include <nonzero/formats/invariants_internal.hpp>
#include <nonzero/formats/sbsr.hpp>

namespace nz {
namespace {

constexpr invariants check{"sbsr"};

/// The sample of rows and block rows by which a matrix is judged.
constexpr index most_sampled = 64;

template <class V> void require_square(csr_view<V> a) {
  if (a.rows != a.cols)
    throw unsupported(
        fmt::format("sbsr: the matrix is {} x {}, not square; choose another format", a.rows, a.cols));
}

[[noreturn]] void refuse_blocks(index size, index block_row) {
  throw unsupported(fmt::format(
      "sbsr: the rows from {} on (counted from 1) are not all full blocks of {} x {}, one of them on the "
      "diagonal; choose bsr",
      block_row * size + 1, size, size));
}

/// Compares a few entries of a few rows with their mirror images.
template <class V> void require_symmetric_sample(csr_view<V> a) {
  constexpr offset most_per_row = 8;
  const index rows = std::min(a.rows, most_sampled);
  for (index s = 0; s < rows; ++s) {
    const auto i = static_cast<index>(offset{a.rows} * s / rows);
    const offset entries = std::min(a.row_length(i), most_per_row);
    for (offset e = 0; e < entries; ++e) {
      const offset k = a.row_begin[i] + a.row_length(i) * e / entries;
      const index j = a.col[k];
      const index *begin = a.col.data() + a.row_begin[j], *end = a.col.data() + a.row_begin[j + 1],
                  *mirrored = std::lower_bound(begin, end, i);
      if (mirrored == end || *mirrored != i || !have_same_bits(a.val[mirrored - a.col.data()], a.val[k]))
        throw unsupported(
            fmt::format("sbsr: not symmetric: row {0}, column {1} and row {1}, column {0} (counted from 1) "
                        "differ; choose another format",
                        i + 1, j + 1));
    }
  }
}

/// The number of blocks of a block row up to the diagonal; 0 unless the row has only full blocks, one of them
/// on the diagonal.
template <index Size, class V> offset count_lower(csr_view<V> a, index block_row) {
  const cursors<Size> rows(a, block_row, std::numeric_limits<offset>::max());
  if (!are_all_blocks(rows, a.col.data())) return 0;
  const index *begin = a.col.data() + rows.at[0], *end = a.col.data() + rows.end[0],
              *diagonal = std::lower_bound(begin, end, block_row * Size);
  if (diagonal == end || *diagonal != block_row * Size) return 0;
  return (diagonal - begin) / Size + 1;
}

/// What a range of block rows lacks, if anything.
enum class finding : char { none, not_symmetric, not_exact };

/// Copies the lower triangle of the block rows [first, last) and compares it with the upper one.
template <index Size, class V, class To>
finding fill_range(csr_view<V> a, index first, index last, sbsr<To>& out) {
  const auto columns = [&](index block_row) { return a.col.data() + a.row_begin[block_row * Size]; };
  const auto blocks = [&](index block_row) { return a.row_length(block_row * Size) / Size; };
  index lowest = first;
  for (index i = first; i < last; ++i) lowest = std::min(lowest, columns(i)[0] / Size);
  // The next block of each block row above whose mirror image has not been visited: rows are visited
  // downwards, so mirror images come from left to right.
  std::vector<offset> next(static_cast<std::size_t>(last - lowest));
  for (index j = lowest; j < last; ++j)
    next[static_cast<std::size_t>(j - lowest)] =
        j >= first
            ? out.block_begin[j + 1] - out.block_begin[j]
            : (std::lower_bound(columns(j), columns(j) + blocks(j) * Size, first * Size) - columns(j)) / Size;

  bool is_symmetric = true, is_exact = true;
  for (index i = first; i < last; ++i) {
    const offset count = out.block_begin[i + 1] - out.block_begin[i], length = a.row_length(i * Size);
    for (offset p = 0; p < count; ++p) {
      const offset block = out.block_begin[i] + p;
      const index j = columns(i)[p * Size] / Size;
      const offset q = i == j ? p : next[static_cast<std::size_t>(j - lowest)]++;
      if (q >= blocks(j) || columns(j)[q * Size] != i * Size) return finding::not_symmetric;
      const V *from = a.val.data() + a.row_begin[i * Size] + p * Size,
              *mirrored = a.val.data() + a.row_begin[j * Size] + q * Size;
      const offset mirrored_length = a.row_length(j * Size);
      To* to = out.val.data() + block * Size * Size;
      out.block_col[block] = j;
      for (index r = 0; r < Size; ++r)
        for (index c = 0; c < Size; ++c) {
          const V value = from[r * length + c];
          is_symmetric &= have_same_bits(value, mirrored[c * mirrored_length + r]);
          if constexpr (!std::is_same_v<To, V>) is_exact &= is_exactly_single(value);
          to[place_in_block(Size, out.group_cols, r, c)] = static_cast<To>(value);
        }
    }
  }
  return !is_symmetric ? finding::not_symmetric : !is_exact ? finding::not_exact : finding::none;
}

template <class V, class To>
void find_block_begins(csr_view<V> a, std::span<const index> first_block_row, const for_each_runner& for_each,
                       sbsr<To>& out) {
  out.block_begin.resize(static_cast<std::size_t>(out.block_rows()) + 1);
  out.block_begin[0] = 0;
  with_block_size(out.block_size, [&](auto size) {
    for_each(static_cast<offset>(first_block_row.size()) - 1, [&](offset range) {
      const auto r = static_cast<std::size_t>(range);
      for (index i = first_block_row[r]; i < first_block_row[r + 1]; ++i)
        out.block_begin[i + 1] = count_lower<size>(a, i);
    });
  });
  for (index i = 0; i < out.block_rows(); ++i) {
    if (out.block_begin[i + 1] == 0) refuse_blocks(out.block_size, i);
    out.block_begin[i + 1] += out.block_begin[i];
  }
}

template <class V, class To> void start(csr_view<V> a, index block_size, sbsr<To>& out) {
  require_square(a);
  out.rows = out.cols = a.rows;
  out.block_size = block_size != 0 ? block_size : find_symmetric_block_size(a);
  if (std::ranges::count(symmetric_block_sizes, out.block_size) == 0)
    throw unsupported(fmt::format("sbsr: there are no blocks of size {}; choose 2, 3 or 4", out.block_size));
  if (a.rows % out.block_size != 0) refuse_blocks(out.block_size, out.block_rows());
}

/// False if a value would change; `out` is then unusable.
template <class V, class To> bool convert(csr_view<V> a, const sbsr_options& options, sbsr<To>& out) {
  start(a, options.block_size, out);
  out.group_cols = options.group_cols != 0 ? options.group_cols : out.block_size;
  check.that(out.group_cols >= 1 && out.group_cols <= out.block_size, "group_cols is {}, outside 1 to {}",
             out.group_cols, out.block_size);
  const index one_range[] = {0, out.block_rows()};
  const std::span<const index> ranges =
      options.first_block_row.empty() ? std::span(one_range) : options.first_block_row;
  check.that(ranges.front() == 0 && ranges.back() == out.block_rows() && std::ranges::is_sorted(ranges),
             "first_block_row does not rise from 0 to the {} block rows", out.block_rows());
  find_block_begins(a, ranges, options.for_each, out);
  if (out.nnz() != a.nnz())
    throw unsupported("sbsr: the triangles are of different sizes: not symmetric; choose another format");
  out.block_col.resize(static_cast<std::size_t>(out.blocks()));
  out.val.resize(static_cast<std::size_t>(out.blocks() * out.block_size * out.block_size));
  std::vector<finding> found(ranges.size() - 1);
  with_block_size(out.block_size, [&](auto size) {
    options.for_each(static_cast<offset>(found.size()), [&](offset range) {
      const auto r = static_cast<std::size_t>(range);
      found[r] = fill_range<size>(a, ranges[r], ranges[r + 1], out);
    });
  });
  if (std::find(found.begin(), found.end(), finding::not_symmetric) != found.end())
    throw unsupported("sbsr: the matrix is not symmetric bit by bit; choose another format");
  return std::find(found.begin(), found.end(), finding::not_exact) == found.end();
}

/// The last block of a block row.
template <class V> void validate_diagonal(const sbsr<V>& a, index block_row) {
  const index size = a.block_size;
  const offset last = a.block_begin[block_row + 1] - 1;
  check.that(a.block_col[last] == block_row,
             "the last block of block row {} is in block column {} (both counted from 1)", block_row + 1,
             offset{a.block_col[last]} + 1);
  const V* block = a.val.data() + last * size * size;
  for (index r = 0; r < size; ++r)
    for (index c = 0; c < r; ++c)
      check.that(have_same_bits(block[place_in_block(size, a.group_cols, r, c)],
                                block[place_in_block(size, a.group_cols, c, r)]),
                 "block {} is on the diagonal, but not symmetric at ({}, {}) (all counted from 1)", last + 1,
                 r + 1, c + 1);
}

}  // namespace

template <class V> index find_symmetric_block_size(csr_view<V> a) {
  a = validated(a);
  require_square(a);
  require_symmetric_sample(a);
  const index found = find_block_size(a), size = found == 6 ? 3 : found == 8 ? 4 : found;
  if (size == 1 || size == 5)
    throw unsupported(
        "sbsr: not all entries are in full blocks of 2 x 2, 3 x 3 or 4 x 4; choose another format");
  const index block_rows = a.rows / size, looked_at = std::min(block_rows, most_sampled);
  with_block_size(size, [&](auto constant) {
    for (index s = 0; s < looked_at; ++s) {
      const auto i = static_cast<index>(offset{block_rows} * s / looked_at);
      if (count_lower<constant>(a, i) == 0) refuse_blocks(size, i);
    }
  });
  return size;
}

template <class V> sbsr<V> to_sbsr(csr_view<V> a, const sbsr_options& options) {
  a = validated(a);
  sbsr<V> out;
  convert(a, options, out);
  return out;
}

std::optional<sbsr<float>> to_sbsr_of_floats(csr_view<double> a, const sbsr_options& options) {
  a = validated(a);
  if (!is_sample_single(a)) return std::nullopt;
  std::optional<sbsr<float>> out(std::in_place);
  if (!convert(a, options, *out)) out.reset();
  return out;
}

template <class V> void validate(const sbsr<V>& a) {
  check.sizes(a.rows, a.cols);
  check.that(a.rows == a.cols, "{} x {} is not square", a.rows, a.cols);
  check.that(std::ranges::count(symmetric_block_sizes, a.block_size) == 1,
             "block_size is {}, not one of 2, 3 and 4", a.block_size);
  check.that(a.rows % a.block_size == 0, "{} rows are no multiple of block_size, {}", a.rows, a.block_size);
  check.that(a.group_cols >= 1 && a.group_cols <= a.block_size, "group_cols is {}, outside 1 to {}",
             a.group_cols, a.block_size);
  check.length("block_begin", a.block_begin.size(), offset{a.block_rows()} + 1);
  check.begins("block_begin", a.block_begin, static_cast<offset>(a.block_col.size()));
  check.length("val", a.val.size(), a.blocks() * a.block_size * a.block_size);
  check.within("block_col", a.block_col, a.block_rows());
  for (index i = 0; i < a.block_rows(); ++i) {
    check.that(a.block_begin[i] < a.block_begin[i + 1], "block row {} (counted from 1) has no block", i + 1);
    check.rises("block_col", a.block_col, a.block_begin[i], a.block_begin[i + 1]);
    validate_diagonal(a, i);
  }
}

template <class V> footprint footprint_of(const sbsr<V>& a) {
  return {bytes_of(a.block_begin, a.block_col, a.val), 0};
}

template <class V> footprint sbsr_footprint(csr_view<V> a) {
  a = validated(a);
  sbsr<V> counted;
  start(a, 0, counted);
  const index range[] = {0, counted.block_rows()};
  find_block_begins(a, range, run_in_order, counted);
  const auto blocks = static_cast<std::uint64_t>(counted.blocks()),
             per_block = static_cast<std::uint64_t>(counted.block_size * counted.block_size) * sizeof(V);
  return {counted.block_begin.size() * sizeof(offset) + blocks * (sizeof(index) + per_block), 0};
}

#define NONZERO_INSTANTIATE(V)                                \
  template index find_symmetric_block_size(csr_view<V>);      \
  template sbsr<V> to_sbsr(csr_view<V>, const sbsr_options&); \
  template void validate(const sbsr<V>&);                     \
  template footprint footprint_of(const sbsr<V>&);            \
  template footprint sbsr_footprint(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
