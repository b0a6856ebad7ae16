#include <algorithm>

#include <fmt/format.h>

#include <nonzero/formats/bsr.hpp>
#include <nonzero/formats/conversion_internal.hpp>
#include <nonzero/formats/full_blocks_internal.hpp>
#include <nonzero/formats/invariants_internal.hpp>

namespace nz {
namespace {

/// How many block rows ahead columns are prefetched: the hardware prefetcher does not follow the rows of a
/// block row, which are read in parallel. Values are not prefetched: that is slower.
constexpr index ahead = 4;

void prefetch(std::span<const index> col, offset begin, offset end) {
  constexpr offset per_line = 16, most = 64 * per_line;
  for (offset k = begin; k < std::min(end, begin + most); k += per_line) __builtin_prefetch(&col[k]);
}

/// Full blocks in the first `most_per_row` entries of each row of a complete block row.
template <index Size, class V> offset count_blocks(csr_view<V> a, index block_row, offset most_per_row) {
  cursors<Size> rows(a, block_row, most_per_row);
  if (are_all_blocks(rows, a.col.data())) return (rows.end[0] - rows.at[0]) / Size;
  if (!rows.are_sorted(a.col.data())) return 0;
  offset blocks = 0;
  for (; rows.find_block(a.col.data()); rows.pass_block()) ++blocks;
  return blocks;
}

template <index Size, class V, class To>
void write_block(csr_view<V> a, const cursors<Size>& rows, offset block, bsr<To>& out) {
  out.block_col[block] = a.col[rows.at[0]] / Size;
  To* to = &out.val[block * Size * Size];
  for (index r = 0; r < Size; ++r)
    for (index c = 0; c < Size; ++c) to[c * Size + r] = static_cast<To>(a.val[rows.at[r] + c]);
}

/// A block row that has both: its blocks, and the entries between them to the rest.
template <index Size, class V, class To> void fill_mixed(csr_view<V> a, index block_row, bsr<To>& out) {
  cursors<Size> rows(a, block_row, std::numeric_limits<offset>::max());
  offset rest[Size], block = out.block_begin[block_row];
  std::copy_n(&out.rest.row_begin[block_row * Size], Size, rest);
  for (bool is_found = true; is_found;) {
    const cursors<Size> before = rows;
    is_found = rows.find_block(a.col.data());
    for (index r = 0; r < Size; ++r)
      for (offset k = before.at[r]; k < rows.at[r]; ++k, ++rest[r]) {
        out.rest.col[rest[r]] = a.col[k];
        out.rest.val[rest[r]] = static_cast<To>(a.val[k]);
      }
    if (!is_found) break;
    write_block(a, rows, block++, out);
    rows.pass_block();
  }
}

/// Writes a block row of `a` to the place that the begins of `out` give it.
template <index Size, class V, class To> void fill_block_row(csr_view<V> a, index block_row, bsr<To>& out) {
  const offset first_block = out.block_begin[block_row], end_block = out.block_begin[block_row + 1],
               blocks = end_block - first_block;
  const index row = block_row * Size, row_end = row + std::min(Size, a.rows - row);
  const offset begin = a.row_begin[row], end = a.row_begin[row_end];
  // Every block before this one has Size entries of each of its Size rows.
  for (index i = row; i < row_end; ++i)
    out.rest.row_begin[i] = a.row_begin[i] - Size * (Size * first_block + (i - row) * blocks);
  if (blocks == 0) {
    const offset rest = out.rest.row_begin[row];
    for (offset k = begin; k < end; ++k) {
      out.rest.col[rest + k - begin] = a.col[k];
      out.rest.val[rest + k - begin] = static_cast<To>(a.val[k]);
    }
  } else if (blocks * Size * Size == end - begin) {
    cursors<Size> rows(a, block_row, std::numeric_limits<offset>::max());
    for (offset block = first_block; block < end_block; ++block, rows.pass_block())
      write_block(a, rows, block, out);
  } else {
    fill_mixed<Size>(a, block_row, out);
  }
}

/// Whether the values of the rows [first, last) are the same in single precision.
bool are_floats(csr_view<double> a, index first, index last) {
  int changes = 0;
  for (offset k = a.row_begin[first]; k < a.row_begin[last]; ++k)
    changes |= static_cast<double>(static_cast<float>(a.val[k])) != a.val[k];
  return changes == 0;
}

/// body(block row, block size as a constant) for all block rows, by options.run.
template <class V, class To, class Body>
void for_each_block_row(csr_view<V> a, const bsr_options& options, const bsr<To>& out, Body body) {
  with_block_size(out.block_size, [&](auto size) {
    const auto row_begin = [&](offset block_row) {
      return a.row_begin[std::min(block_row * size, offset{a.rows})];
    };
    options.run(out.block_rows(), [&](index first, index last) {
      for (index i = first; i < last; ++i) {
        prefetch(a.col, row_begin(i + ahead), row_begin(i + ahead + 1));
        body(i, size);
      }
    });
  });
}

/// Counts the blocks: sets block_begin.
template <class V, class To> void find_block_begins(csr_view<V> a, const bsr_options& options, bsr<To>& out) {
  out.block_begin.resize(static_cast<std::size_t>(out.block_rows()) + 1);
  for_each_block_row(a, options, out, [&](index i, auto size) {
    bool is_whole = (i + 1) * offset{size} <= a.rows;
    for (index r = 0; is_whole && r < size; ++r) is_whole = a.row_length(i * size + r) <= options.longest_row;
    out.block_begin[i + 1] = is_whole ? count_blocks<size>(a, i, options.longest_row) : 0;
  });
  out.block_begin[0] = 0;
  for (index i = 0; i < out.block_rows(); ++i) out.block_begin[i + 1] += out.block_begin[i];
}

/// False if a value would change; `out` is then unusable.
template <class V, class To> bool convert(csr_view<V> a, const bsr_options& options, bsr<To>& out) {
  out.rows = a.rows;
  out.cols = a.cols;
  out.block_size = options.block_size != 0 ? options.block_size : find_block_size(a);
  if (out.block_size == 1) {
    require_blocks(1, 0, a.nnz(), options.min_fill);
    out.block_size = block_sizes[0];
  }
  with_block_size(out.block_size, [](auto) {});  // refuses others
  find_block_begins(a, options, out);
  require_blocks(out.block_size, out.blocks(), a.nnz(), options.min_fill);

  const auto in_blocks = static_cast<std::size_t>(out.blocks() * out.block_size * out.block_size),
             in_rest = a.col.size() - in_blocks;
  out.block_col.resize(static_cast<std::size_t>(out.blocks()));
  out.val.resize(in_blocks);
  out.rest = {a.rows, a.cols, array<offset>(a.row_begin.size()), array<index>(in_rest), array<To>(in_rest)};
  out.rest.row_begin.back() = static_cast<offset>(in_rest);
  array<char> is_exact(static_cast<std::size_t>(out.block_rows()), 1);  // for each block row
  for_each_block_row(a, options, out, [&](index i, auto size) {
    if constexpr (!std::is_same_v<To, V>)
      is_exact[i] = are_floats(a, i * size, i * size + std::min<index>(size, a.rows - i * size));
    fill_block_row<size>(a, i, out);
  });
  return std::find(is_exact.begin(), is_exact.end(), 0) == is_exact.end();
}

}  // namespace

void require_blocks(index size, offset blocks, offset nnz, double min_fill) {
  if (size == 1 && min_fill > 0)
    throw unsupported("bsr: no size of block has enough of the entries in full ones; choose another format");
  const auto in_blocks = static_cast<double>(blocks * size * size), all = static_cast<double>(nnz);
  if (in_blocks >= min_fill * all) return;
  throw unsupported(fmt::format(
      "bsr: full blocks of {0} x {0} hold {1:.0f} % of the {2} entries, fewer than {3:.0f} %; choose another "
      "format, or another block size",
      size, 100 * in_blocks / all, nnz, 100 * min_fill));
}

index best_block_size(std::span<const block_sample, std::size(block_sizes)> samples) {
  index best = 1;
  double best_saving = 0;  // of a column's bytes, for the average entry
  for (std::size_t i = 0; i < std::size(block_sizes); ++i) {
    const auto [in_blocks, all] = samples[i];
    if (in_blocks == 0 || 2 * in_blocks < all) continue;
    const double saving = static_cast<double>(in_blocks) / static_cast<double>(all) *
                          (1 - 1.0 / (block_sizes[i] * block_sizes[i]));
    if (saving > best_saving) {
      best = block_sizes[i];
      best_saving = saving;
    }
  }
  return best;
}

template <class V> index find_block_size(csr_view<V> a) {
  a = validated(a);
  block_sample samples[std::size(block_sizes)];
  for (std::size_t n = 0; n < std::size(block_sizes); ++n)
    with_block_size(block_sizes[n], [&](auto size) {
      for (index s = 0; s < block_sample::most_block_rows; ++s) {
        const index i = block_sample::block_row(a.rows / size, s);
        if (i < 0) break;
        samples[n].in_blocks += count_blocks<size>(a, i, block_sample::most_per_row) * size * size;
        for (index r = 0; r < size; ++r)
          samples[n].all += std::min(a.row_length(i * size + r), block_sample::most_per_row);
      }
    });
  return best_block_size(samples);
}

template <class V> void validate(const bsr<V>& a) {
  constexpr invariants check{"bsr"};
  check.sizes(a.rows, a.cols);
  check.that(std::ranges::count(block_sizes, a.block_size) == 1,
             "block_size is {}, not one of 2, 3, 4, 5, 6 and 8", a.block_size);
  check.length("block_begin", a.block_begin.size(), offset{a.block_rows()} + 1);
  check.begins("block_begin", a.block_begin, static_cast<offset>(a.block_col.size()));
  check.that(a.rows % a.block_size == 0 || a.block_begin[a.block_rows() - 1] == a.blocks(),
             "the last block row has blocks but too few rows for them");
  check.within("block_col", a.block_col, a.cols / a.block_size);
  for (index i = 0; i < a.block_rows(); ++i)
    check.rises("block_col", a.block_col, a.block_begin[i], a.block_begin[i + 1]);
  check.length("val", a.val.size(), a.blocks() * a.block_size * a.block_size);
  validate(a.rest);
  check.that(a.rest.rows == a.rows && a.rest.cols == a.cols, "the matrix is {} x {} but its rest {} x {}",
             a.rows, a.cols, a.rest.rows, a.rest.cols);
}

template <class V> footprint footprint_of(const bsr<V>& a) {
  return {bytes_of(a.block_begin, a.block_col, a.val) + footprint_of(a.rest).bytes, 0};
}

template <class V> footprint bsr_footprint(csr_view<V> a, index block_size) {
  a = validated(a);
  bsr<V> counted{a.rows, a.cols, block_size, {0}, {}, {}, {}};
  if (block_size == 0) counted.block_size = std::max(find_block_size(a), block_sizes[0]);
  with_block_size(counted.block_size, [](auto) {});  // refuses others
  find_block_begins(a, {}, counted);
  const auto blocks = static_cast<std::uint64_t>(counted.blocks()),
             in_blocks = blocks * static_cast<std::uint64_t>(counted.block_size * counted.block_size);
  return {(counted.block_begin.size() + a.row_begin.size()) * sizeof(offset) +
              (a.col.size() - in_blocks + blocks) * sizeof(index) + a.val.size() * sizeof(V),
          0};
}

template <class V> bsr<V> to_bsr(csr_view<V> a, const bsr_options& options) {
  a = validated(a);
  bsr<V> out;
  convert(a, options, out);
  return out;
}

std::optional<bsr<float>> to_bsr_of_floats(csr_view<double> a, const bsr_options& options) {
  a = validated(a);
  if (!is_sample_single(a)) return std::nullopt;
  std::optional<bsr<float>> out(std::in_place);
  if (!convert(a, options, *out)) out.reset();
  return out;
}

template <class V> csr<V> to_csr(const bsr<V>& a) {
  validate(a);
  csr<V> out{a.rows, a.cols, {0}, {}, {}};
  const index size = a.block_size;
  for (index i = 0; i < a.rows; ++i) {
    // Merges the columns of the blocks with the rest. Column c of block k is number k * size + c.
    offset in_block = a.block_begin[i / size] * size, in_rest = a.rest.row_begin[i];
    const offset block_end = a.block_begin[i / size + 1] * size, rest_end = a.rest.row_begin[i + 1];
    while (in_block < block_end || in_rest < rest_end) {
      const index col = in_block < block_end
                            ? a.block_col[in_block / size] * size + static_cast<index>(in_block % size)
                            : a.cols;
      const bool is_rest = in_rest < rest_end && a.rest.col[in_rest] < col;
      out.col.push_back(is_rest ? a.rest.col[in_rest] : col);
      out.val.push_back(is_rest ? a.rest.val[in_rest++] : a.val[in_block++ * size + i % size]);
    }
    out.row_begin.push_back(static_cast<offset>(out.col.size()));
  }
  return out;
}

#define NONZERO_INSTANTIATE(V)                             \
  template index find_block_size(csr_view<V>);             \
  template void validate(const bsr<V>&);                   \
  template footprint footprint_of(const bsr<V>&);          \
  template footprint bsr_footprint(csr_view<V>, index);    \
  template bsr<V> to_bsr(csr_view<V>, const bsr_options&); \
  template csr<V> to_csr(const bsr<V>&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
