#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <nonzero/gpu/convert/blocks.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/values.cuh>

// Small dense blocks in slices of 32 block rows, and the entries in no block, made on the device.
// Block k of place l of a slice: its column is at step * slice_height + l with step = slice_begin[slice] + k,
// and its value of row r and column c at ((step*block_size + r)*block_size + c) * slice_height + l. Lanes
// that take the same value of their blocks read neighbours.
namespace nz::gpu {

/// The blocks of a matrix, found and counted.
template <class Queue, class V, class Offset> struct found_blocks {
  shared_csr<V, Offset> from;
  index block_size, block_rows;
  temporary_of<Queue, Offset> block_begin;  // block_rows+1 long
  slice_layout<Queue, Offset> layout;       // of block rows
  temporary_of<Queue, index> rest_before;   // rows+1 long: how many rows before have entries in no block
  block_counts counts{};
  index listed = 0, rest_rows = 0;
  bool are_floats = true;  // whether all values are exact in single precision

  /// Throws `unsupported` where too few entries are in full blocks.
  found_blocks(Queue& queue, const std::shared_ptr<const device_csr<V>>& a, const prepare_options& options)
      : from(a),
        block_size(size_for(queue, from)),
        block_rows(from.rows / block_size + (from.rows % block_size != 0)),
        block_begin(queue.template temporary<Offset>(static_cast<std::size_t>(block_rows) + 1)),
        layout(queue, options.on, block_rows, count(queue)),
        rest_before(queue.template temporary<index>(static_cast<std::size_t>(from.rows) + 1)) {
    with_block_size(block_size, [&](auto size) {
      launch_threads(queue, "mark_rest", from.rows + std::int64_t{1}, mark_rest_kernel<size.value, Offset>,
                     from.rows, from.row_begin.data(), block_begin.data(), rest_before.data());
    });
    queue.exclusive_sum(rest_before.data(), rest_before.data(), from.rows + std::int64_t{1});
    Offset blocks = 0, steps = 0;
    std::tie(blocks, steps, listed, rest_rows) = queue.read(block_begin.data() + block_rows, layout.steps(),
                                                            layout.listed(), rest_before.data() + from.rows);
    counts = {from.rows, block_size, from.nnz(), blocks, offset{steps} * slice_height};
    require_blocks(block_size, blocks, from.nnz(), bsr_options{}.min_fill);
    if constexpr (sizeof(V) > sizeof(float))
      are_floats = !is_any_value(queue, from.nnz(), from.val.data(), is_no_float{});
  }

 private:
  static index size_for(Queue& queue, const shared_csr<V, Offset>& a) {
    const index size = find_block_size(queue, a.rows, a.row_begin.data(), a.col.data());
    if (size == 1) require_blocks(1, 0, a.nnz(), bsr_options{}.min_fill);
    return size;
  }

  /// One thread sums a row of blocks; rows of the rest have a warp each.
  Offset longest_row_in_blocks() const {
    constexpr offset always = 1024, times_mean = 4, most = std::numeric_limits<Offset>::max();
    return static_cast<Offset>(
        std::min(most, std::max(always, times_mean * from.nnz() / std::max(from.rows, 1))));
  }

  const Offset* count(Queue& queue) {
    with_block_size(block_size, [&](auto size) {
      launch_threads(queue, "count_blocks", (block_rows + std::int64_t{1}) * 32,
                     count_blocks_kernel<size.value, Offset>, from.rows, block_rows, longest_row_in_blocks(),
                     from.row_begin.data(), from.col.data(), block_begin.data());
    });
    queue.exclusive_sum(block_begin.data(), block_begin.data(), block_rows + std::int64_t{1});
    return block_begin.data();
  }
};

/// The rows that have entries outside of blocks, and those entries.
template <class A, class Offset> struct device_rest {
  vector<index> row;         // in rising order
  vector<Offset> row_begin;  // one more than rows
  vector<index> col;
  vector<A> val;

  device_rest() = default;
  device_rest(const std::shared_ptr<device>& on, index rows, offset nnz)
      : row(on, static_cast<std::size_t>(rows)),
        row_begin(on, static_cast<std::size_t>(rows) + 1),
        col(on, static_cast<std::size_t>(nnz)),
        val(on, static_cast<std::size_t>(nnz)) {}
  offset nnz() const { return static_cast<offset>(val.size()); }
  /// Row r of the view is row row[r] of the matrix.
  csr_view<A, Offset> view() const {
    return {static_cast<index>(row.size()), 0, nnz(), row_begin.data(), col.data(), val.data()};
  }
  std::uint64_t bytes() const { return bytes_of(row, row_begin, col, val); }
};

/// What a multiply reads of device_blocks.
template <class A, class V, class Offset> struct bsr_view {
  index rows, block_rows;
  const index *first_row, *listed_rows;  // as in row_lists, of block rows
  const Offset* slice_begin;
  const index* block_col;
  const A* val;
  const V* rest_sums;  // of the entries in no block; null where there are none

  __device__ Offset begin(std::int64_t slice) const { return load_read_only(slice_begin + slice); }
  __device__ index column(offset place) const { return load_read_only(block_col + place); }
};

template <class A, class Offset> struct device_blocks {
  index rows, block_rows, block_size;
  device_slice_rows block_row;
  vector<Offset> slice_begin;  // in steps
  vector<index> block_col;
  vector<A> val;
  device_rest<A, Offset> rest;
  std::uint64_t padding_bytes;

  /// Throws `unsupported` where padding exceeds the budget.
  template <class Queue, class V>
  device_blocks(Queue& queue, found_blocks<Queue, V, Offset>& found, const prepare_options& options)
      : rows(found.from.rows),
        block_rows(found.block_rows),
        block_size(found.block_size),
        padding_bytes(padding_of_blocks<A>(found.counts)) {
    require_blocks_within_budget<A>(found.counts, options.budget);
    const auto places = static_cast<std::size_t>(found.counts.places);
    block_row = device_slice_rows(options.on, found.layout.slices, found.listed);
    block_col = vector<index>(options.on, places);
    val = vector<A>(options.on, places * static_cast<std::size_t>(block_size * block_size));
    rest = device_rest<A, Offset>(options.on, found.rest_rows, found.counts.in_rest());
    slice_begin = std::move(found.layout.slice_begin);
    with_block_size(block_size, [&](auto size) { fill<size.value>(queue, found); });
  }
  template <class V> bsr_view<A, V, Offset> view(const V* rest_sums) const {
    return {rows,
            block_rows,
            block_row.first.data(),
            block_row.listed.data(),
            slice_begin.data(),
            block_col.data(),
            val.data(),
            rest_sums};
  }
  footprint storage() const {
    return {block_row.bytes() + bytes_of(slice_begin, block_col, val) + rest.bytes(), padding_bytes};
  }

 private:
  template <int Size, class Queue, class V> void fill(Queue& queue, found_blocks<Queue, V, Offset>& found) {
    const shared_csr<V, Offset>& from = found.from;
    const std::int64_t warps = found.layout.slices * slice_height * Size;
    const block_arrays<A, Offset> to{found.block_begin.data(), slice_begin.data(),
                                     block_col.data(),         val.data(),
                                     rest.col.data(),          rest.val.data()};
    launch_threads(queue, "bsr_rows (convert)", warps * 32, fill_blocks_kernel<Size, A, V, Offset>, rows,
                   block_rows, block_row.lists(found.layout), from.row_begin.data(), from.col.data(),
                   from.val.data(), to);
    launch_threads(queue, "list_rest", rows + std::int64_t{1}, list_rest_kernel<Size, Offset>, rows,
                   rest.nnz(), from.row_begin.data(), found.block_begin.data(), found.rest_before.data(),
                   rest.row.data(), rest.row_begin.data());
  }
};

/// Values that are all exact in single precision are stored so. A: the type they are given in; V: of x and y.
template <class A, class Offset, class V = A> struct device_bsr {
  using floats = device_blocks<float, Offset>;
  using either = std::variant<floats, device_blocks<double, Offset>>;

  index rows, cols;
  std::conditional_t<std::is_same_v<A, float>, std::variant<floats>, either> blocks;
  /// In the scratch set: rows long where there is a rest, with 0 for rows without one.
  scratch_array<V> rest_sums;

  template <class Queue>
  device_bsr(Queue& queue, const std::shared_ptr<const device_csr<A>>& a, const prepare_options& options)
      : rows(a->rows), cols(a->cols), blocks(convert(queue, a, options)) {}
  bool has_rest() const {
    return std::visit([](const auto& b) { return b.rest.nnz() > 0; }, blocks);
  }
  void reserve(scratch_layout& layout) { rest_sums = layout.add<V>(has_rest() ? rows : 0); }
  footprint storage() const {
    return std::visit([](const auto& b) { return b.storage(); }, blocks);
  }
  std::string encodings() const {
    return std::visit(
        [](const auto& b) {
          const bool is_single = sizeof(A) > b.val.bytes() / std::max<std::size_t>(b.val.size(), 1);
          const std::string size = std::to_string(b.block_size);
          return "blocks of " + size + " x " + size + (is_single ? ", values in single precision" : "") +
                 ", " + std::to_string(b.rest.nnz()) + " entries in none";
        },
        blocks);
  }

 private:
  template <class Queue>
  static decltype(blocks) convert(Queue& queue, const std::shared_ptr<const device_csr<A>>& a,
                                  const prepare_options& options) {
    found_blocks<Queue, A, Offset> found(queue, a, options);
    if constexpr (std::is_same_v<A, double>)
      if (!found.are_floats) return device_blocks<double, Offset>(queue, found, options);
    return floats(queue, found, options);
  }
};

}  // namespace nz::gpu
