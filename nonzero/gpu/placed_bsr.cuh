#pragma once

#include <algorithm>
#include <type_traits>
#include <variant>

#include <nonzero/gpu/interleaved_blocks_internal.hpp>
#include <nonzero/gpu/placed_slices.cuh>

// Blocks and what is in none of them, as they lie in a device's memory. A: what values are held in.
namespace nz::gpu {

/// The rows that have entries outside of blocks, and those entries.
template <class A, class Offset> struct placed_rest {
  vector<index> row;         // in rising order
  vector<Offset> row_begin;  // one more than rows
  vector<index> col;
  vector<A> val;

  placed_rest(const csr<A>& a, const prepare_options& options)
      : col(place(options.on, a.col)), val(place(options.on, a.val)) {
    array<index> rows;
    array<Offset> begin;
    for (index i = 0; i < a.rows; ++i) {
      if (a.row_length(i) == 0) continue;
      rows.push_back(i);
      begin.push_back(static_cast<Offset>(a.row_begin[i]));
    }
    begin.push_back(static_cast<Offset>(a.nnz()));
    row = place(options.on, rows);
    row_begin = place(options.on, begin);
  }
  index rows() const { return static_cast<index>(row.size()); }
  offset nnz() const { return static_cast<offset>(val.size()); }
  std::uint64_t bytes() const { return row.bytes() + row_begin.bytes() + col.bytes() + val.bytes(); }
};

template <class A, class Offset> struct placed_blocks {
  index rows, block_rows, block_size;
  placed_slice_rows block_row;
  vector<Offset> slice_begin;  // in steps
  vector<index> block_col;
  vector<A> val;
  placed_rest<A, Offset> rest;
  std::uint64_t padding_bytes;

  placed_blocks(const bsr<A>& a, const interleaved_blocks<A>& blocks, const prepare_options& options)
      : rows(a.rows),
        block_rows(a.block_rows()),
        block_size(a.block_size),
        block_row(rows_of_slices(blocks.block_row), options),
        slice_begin(place_steps<Offset>(options.on, blocks.slice_begin)),
        block_col(place(options.on, blocks.block_col)),
        val(place(options.on, blocks.val)),
        rest(a.rest, options),
        padding_bytes(padding_of_blocks(a, blocks.block_col)) {}
  placed_blocks(const bsr<A>& a, const prepare_options& options)
      : placed_blocks(a, interleave(a, options.budget), options) {}
  footprint storage() const {
    return {block_row.bytes() + slice_begin.bytes() + block_col.bytes() + val.bytes() + rest.bytes(),
            padding_bytes};
  }
};

/// Values that are all exact in single precision are held so. A: what they are given in; V: what x and y are
/// in.
template <class A, class Offset, class V = A> struct placed_bsr {
  using floats = placed_blocks<float, Offset>;
  using either = std::variant<floats, placed_blocks<double, Offset>>;

  index rows, cols;
  std::conditional_t<std::is_same_v<A, float>, std::variant<floats>, either> blocks;
  mutable vector<V> rest_sums;  // rows long where there is a rest: of a multiply under way; 0 for other rows

  placed_bsr(const csr<A>& a, const prepare_options& options)
      : rows(a.rows), cols(a.cols), blocks(convert(a, options)) {
    const bool has_rest = std::visit([](const auto& b) { return b.rest.nnz() > 0; }, blocks);
    if (has_rest) rest_sums = place(options.on, array<V>(static_cast<std::size_t>(rows), V{0}));
  }
  footprint storage() const {
    footprint size = std::visit([](const auto& b) { return b.storage(); }, blocks);
    size.bytes += rest_sums.bytes();
    return size;
  }

 private:
  static decltype(blocks) convert(const csr<A>& a, const prepare_options& options) {
    constexpr std::int64_t block_rows_per_task = 4096;
    bsr_options how;
    how.longest_row = longest_row_in_blocks(a);
    how.run = [](index block_rows, const auto& body) {
      parallel_ranges(block_rows, block_rows_per_task, 0, [&](std::int64_t begin, std::int64_t end) {
        body(static_cast<index>(begin), static_cast<index>(end));
      });
    };
    if constexpr (std::is_same_v<A, double>)
      if (const auto narrow = to_bsr_of_floats(a, how)) return floats(*narrow, options);
    return placed_blocks<A, Offset>(to_bsr(a, how), options);
  }

  /// One thread walks a row of blocks; the rest has a warp for each.
  static offset longest_row_in_blocks(const csr<A>& a) {
    constexpr offset always = 1024, times_mean = 4;
    return std::max(always, times_mean * a.nnz() / std::max(a.rows, 1));
  }
};

}  // namespace nz::gpu
