#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include <nonzero/formats/binned.hpp>
#include <nonzero/formats/conversion_internal.hpp>
#include <nonzero/formats/invariants_internal.hpp>

namespace nz {
namespace {

/// A cell costs about as much as this many entries, in memory and in time.
constexpr offset entries_per_cell = 16;

template <class V> void require_dense_cells(csr_view<V> a, offset cells, index block_cols) {
  if (cells > 4096 && cells > a.nnz() / entries_per_cell)
    throw unsupported(
        fmt::format("binned: {} entries would lie in {} cells of a block of {} columns and a bin "
                    "of rows; use another format",
                    a.nnz(), cells, block_cols));
}

/// The shortest exact kind of values, found bin by bin.
template <class V>
packed_values common_values(csr_view<V> a, std::span<const index> bin_row, const for_each_runner& for_each) {
  const std::size_t bins = bin_row.size() - 1;
  std::vector<packed_values> kinds(bins, packed_values::one);
  for_each(static_cast<offset>(bins), [&](offset bin) {
    const auto b = static_cast<std::size_t>(bin);
    const V *begin = a.val.data() + a.row_begin[bin_row[b]],
            *end = a.val.data() + a.row_begin[bin_row[b + 1]];
    const V* other = std::find_if(begin, end, [&](const V& v) { return !have_same_bits(v, a.val[0]); });
    if (other == end) return;
    const bool are_single = std::is_same_v<V, double> && std::all_of(begin, end, is_exactly_single<V>);
    kinds[b] = are_single ? packed_values::single : packed_values::full;
  });
  // A single value that is not exact in single precision rules out `single`.
  packed_values out = *std::max_element(kinds.begin(), kinds.end());
  if (out == packed_values::single && !is_exactly_single(a.val[0])) out = packed_values::full;
  return out;
}

/// Turns the entry counts of cells, bin by bin, into their begins.
template <class V> void count_to_begin(const array<index>& count, binned<V>& out) {
  const index blocks = out.blocks();
  out.cell_begin.resize(count.size() + 1);
  out.cell_row.resize(count.size());
  offset next = 0, next_row = 0;
  for_each_cell(out, [&](index p, index c, index b) {
    out.cell_begin[out.cell(p, c, b)] = next;
    next += count[offset{b} * blocks + c];
  });
  for_each_cell_of_rows(out, [&](index p, index c, index b) {
    out.cell_row[out.cell(p, c, b)] = next_row;
    next_row += count[offset{b} * blocks + c];
  });
  out.cell_begin.back() = next;
}

template <class V> csr<V> rows_of(csr_view<V> a, std::span<const index> rows) {
  csr<V> out;
  out.cols = a.cols;
  for (const index i : rows) {
    ++out.rows;
    out.col.insert(out.col.end(), a.col.begin() + a.row_begin[i], a.col.begin() + a.row_begin[i + 1]);
    out.val.insert(out.val.end(), a.val.begin() + a.row_begin[i], a.val.begin() + a.row_begin[i + 1]);
    out.row_begin.push_back(static_cast<offset>(out.col.size()));
  }
  return out;
}

/// Distributes the entries of one bin to its cells.
template <class V> void fill_bin(csr_view<V> a, index bin, binned<V>& out) {
  struct cell_places {
    offset entry, row;
    interleaved_places places;
  };
  const auto panel = static_cast<index>(std::upper_bound(out.panel_bin.begin(), out.panel_bin.end(), bin) -
                                        out.panel_bin.begin() - 1);
  std::vector<cell_places> cells;
  for (index c = 0; c < out.blocks(); ++c) {
    const offset cell = out.cell(panel, c, bin), begin = out.cell_begin[cell];
    cells.push_back({begin, out.cell_row[cell], interleaved_places(out.cell_begin[cell + 1] - begin)});
  }
  const int shift = std::countr_zero(static_cast<std::uint32_t>(out.block_cols));
  auto apart = std::lower_bound(out.long_row.begin(), out.long_row.end(), out.bin_row[bin]);
  for (index i = out.bin_row[bin]; i < out.bin_row[bin + 1]; ++i) {
    if (apart != out.long_row.end() && *apart == i) {
      ++apart;
      continue;
    }
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
      const auto col = static_cast<std::uint32_t>(a.col[k]);
      cell_places& here = cells[col >> shift];
      const offset place = here.places.next(), to = here.entry + place;
      out.col[to] = static_cast<std::uint16_t>(col & (static_cast<std::uint32_t>(out.block_cols) - 1));
      out.row[here.row + place] = static_cast<std::uint16_t>(i - out.bin_row[bin]);
      if (out.values == packed_values::full)
        out.val[to] = a.val[k];
      else if (out.values == packed_values::single)
        out.single_val[to] = static_cast<float>(a.val[k]);
    }
  }
}

constexpr invariants check{"binned"};

/// Checks numbers that rise from 0 to `end` by at most `step`.
void require_rising(std::string_view array, std::span<const index> values, offset end, offset step) {
  check.that(!values.empty() && values.front() == 0 && values.back() == end, "{} does not go from 0 to {}",
             array, end);
  for (std::size_t i = 1; i < values.size(); ++i)
    check.that(values[i] > values[i - 1] && offset{values[i]} - values[i - 1] <= step,
               "{} goes from {} to {} at position {}: not up, or by more than {}", array, values[i - 1],
               values[i], i, step);
}

/// Returns which rows are stored apart.
template <class V> std::vector<bool> validate_long_rows(const binned<V>& a) {
  validate(a.long_rows);
  check.length("long_row", a.long_row.size(), a.long_rows.rows);
  check.that(a.long_rows.cols == a.cols, "has {} columns, but its long rows {}", a.cols, a.long_rows.cols);
  check.within("long_row", a.long_row, a.rows);
  check.rises("long_row", a.long_row, 0, a.long_rows.rows);
  std::vector<bool> is_long(static_cast<std::size_t>(a.rows));
  for (const index row : a.long_row) is_long[static_cast<std::size_t>(row)] = true;
  return is_long;
}

template <class V>
void validate_cell(const binned<V>& a, index block, index bin, offset cell,
                   const std::vector<bool>& is_long) {
  const offset begin = a.cell_begin[cell], end = a.cell_begin[cell + 1];
  const offset cols = a.cols - offset{block} * a.block_cols;
  const index first = a.bin_row[bin], rows = a.bin_row[bin + 1] - first;
  interleaved_places places(end - begin);
  for (offset i = 0, before = 0; i < end - begin; ++i) {
    const offset place = places.next(), k = begin + place, r = a.cell_row[cell] + place;
    check.that(a.col[k] < cols, "col[{}] is {}, outside 0 to {}", k, a.col[k], cols - 1);
    check.that(a.row[r] < rows, "row[{}] is {}, outside 0 to {}", r, a.row[r], rows - 1);
    check.that(a.row[r] >= before, "row falls from {} to {} at position {}", before, a.row[r], r);
    before = a.row[r];
    const index row = first + a.row[r];
    check.that(!is_long[static_cast<std::size_t>(row)], "row {} is a long row, but has an entry at {}", row,
               r);
  }
}

}  // namespace

template <class V> void validate(const binned<V>& a) {
  check.sizes(a.rows, a.cols);
  check.that(a.block_cols >= 1 && a.block_cols <= a.most_block_cols &&
                 std::has_single_bit(static_cast<std::uint32_t>(a.block_cols)),
             "block_cols is {}: no power of two from 1 to {}", a.block_cols, a.most_block_cols);
  require_rising("bin_row", a.bin_row, a.rows, a.most_bin_rows);
  require_rising("panel_bin", a.panel_bin, a.bins(), a.bins());
  const auto entries = static_cast<offset>(a.col.size()), cells = offset{a.blocks()} * a.bins();
  check.length("cell_begin", a.cell_begin.size(), cells + 1);
  check.begins("cell_begin", a.cell_begin, entries);
  check.length("row", a.row.size(), entries);
  check.length("cell_row", a.cell_row.size(), cells);
  offset next = 0;
  for_each_cell_of_rows(a, [&](index p, index c, index b) {
    const offset cell = a.cell(p, c, b);
    check.that(a.cell_row[cell] == next, "cell_row[{}] is {}, not {}", cell, a.cell_row[cell], next);
    next += a.cell_begin[cell + 1] - a.cell_begin[cell];
  });
  check.that(a.values <= packed_values::full, "values have an unknown kind");
  const bool are_full = a.values == packed_values::full, is_one = a.values == packed_values::one;
  check.length("val", a.val.size(), are_full ? entries : is_one ? 1 : 0);
  check.length("single_val", a.single_val.size(), are_full || is_one ? 0 : entries);
  const std::vector<bool> is_long = validate_long_rows(a);
  for_each_cell(a, [&](index p, index c, index b) { validate_cell(a, c, b, a.cell(p, c, b), is_long); });
}

template <class V>
binned<V> to_binned(csr_view<V> a, const binned_layout& layout, const for_each_runner& for_each) {
  a = validated(a);
  binned<V> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.block_cols = layout.block_cols;
  out.bin_row = layout.bin_row;
  out.panel_bin = layout.panel_bin;
  out.long_row = layout.long_row;
  const index blocks = out.blocks(), bins = out.bins();
  require_dense_cells(a, offset{blocks} * bins, out.block_cols);
  const int shift = std::countr_zero(static_cast<std::uint32_t>(out.block_cols));
  array<index> count(static_cast<std::size_t>(offset{blocks} * bins));
  for_each(bins, [&](offset bin) {
    index* mine = count.data() + bin * blocks;
    std::fill_n(mine, blocks, 0);
    const auto b = static_cast<std::size_t>(bin);
    for (offset k = a.row_begin[out.bin_row[b]]; k < a.row_begin[out.bin_row[b + 1]]; ++k)
      ++mine[static_cast<std::uint32_t>(a.col[k]) >> shift];
    for (auto i = std::lower_bound(out.long_row.begin(), out.long_row.end(), out.bin_row[b]);
         i != out.long_row.end() && *i < out.bin_row[b + 1]; ++i)
      for (offset k = a.row_begin[*i]; k < a.row_begin[*i + 1]; ++k)
        --mine[static_cast<std::uint32_t>(a.col[k]) >> shift];
  });
  count_to_begin(count, out);
  const auto entries = static_cast<std::size_t>(out.cell_begin.back());
  out.values = entries == 0 ? packed_values::full : common_values<V>(a, out.bin_row, for_each);
  out.col.resize(entries);
  out.row.resize(entries);
  out.val.resize(out.values == packed_values::full ? entries : out.values == packed_values::one ? 1 : 0);
  if (out.values == packed_values::one) out.val[0] = a.val[0];
  out.single_val.resize(out.values == packed_values::single ? entries : 0);
  for_each(bins, [&](offset bin) { fill_bin(a, static_cast<index>(bin), out); });
  out.long_rows = rows_of(a, out.long_row);
  return out;
}

namespace {

binned_layout split_equally(index rows) {
  constexpr index bin_rows = 4096, panels = 8;
  binned_layout out{.bin_row = {0}, .panel_bin = {0}, .long_row = {}};
  for (offset row = 0; row < rows; row += bin_rows)
    out.bin_row.push_back(static_cast<index>(std::min<offset>(rows, row + bin_rows)));
  const auto bins = static_cast<offset>(out.bin_row.size()) - 1;
  for (index p = 1; p <= panels; ++p) {
    const auto end = static_cast<index>(bins * p / panels);
    if (end > out.panel_bin.back()) out.panel_bin.push_back(end);
  }
  return out;
}

}  // namespace

template <class V> binned<V> to_binned(csr_view<V> a) {
  a = validated(a);
  return to_binned(a, split_equally(a.rows), run_in_order);
}

template <class V> footprint footprint_of(const binned<V>& a) {
  return {bytes_of(a.bin_row, a.panel_bin, a.long_row, a.cell_begin, a.cell_row, a.col, a.row, a.val,
                   a.single_val) +
              footprint_of(a.long_rows).bytes,
          0};
}

template <class V> footprint binned_footprint(csr_view<V> a) {
  a = validated(a);
  const binned_layout layout = split_equally(a.rows);
  const auto entries = static_cast<std::uint64_t>(a.nnz());
  const std::uint64_t blocks =
      (static_cast<std::uint64_t>(a.cols) + layout.block_cols - 1) / layout.block_cols;
  const packed_values kind =
      entries == 0 ? packed_values::full : common_values<V>(a, layout.bin_row, run_in_order);
  const std::uint64_t value_bytes = kind == packed_values::one      ? sizeof(V)
                                    : kind == packed_values::single ? entries * sizeof(float)
                                                                    : entries * sizeof(V);
  return {(layout.bin_row.size() + layout.panel_bin.size()) * sizeof(index) +
              (2 * blocks * (layout.bin_row.size() - 1) + 1) * sizeof(offset) + entries * 4 + value_bytes +
              sizeof(offset),
          0};
}

#define NONZERO_INSTANTIATE(V)                                                             \
  template binned<V> to_binned(csr_view<V>, const binned_layout&, const for_each_runner&); \
  template binned<V> to_binned(csr_view<V>);                                               \
  template void validate(const binned<V>&);                                                \
  template footprint footprint_of(const binned<V>&);                                       \
  template footprint binned_footprint(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
