// Each bin of rows goes through the blocks of columns: the block's x and the bin's sums stay in the cache,
// and the next block's x is prefetched.
// Good: x gathered from everywhere, by rows so long that a bin and a block have many entries in common.
// Bad: short rows and very many columns: each bin reads all of x.
// Traffic: 12 bytes per entry in double, and x once for each bin, from the last-level cache if it fits.
// Source: column blocks as in Nishtala, Vuduc, Demmel, Yelick, "When cache blocking of sparse matrix vector
// multiply works and why" (2007); here with entries interleaved so that additions do not wait.
#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/binned_one_pass.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <nonzero/cpu/binned_internal.hpp>
#include <nonzero/cpu/chunk_ranges_internal.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/cpu/row_functions_internal.hpp>

#ifndef NONZERO_CPU_BINNED_ONE_PASS  // this file is included by itself, once for each target
#  define NONZERO_CPU_BINNED_ONE_PASS
namespace nz::cpu {

/// What to prefetch: a few cache lines with every eight entries.
struct fetch_ahead {
  const char *from = nullptr, *to = nullptr;
  int lines = 0;
};
constexpr int line_bytes = 64;

/// S: the type of stored values, V: of x and the sums.
template <class S, class V> struct one_pass_functions {
  /// sums[row[k]] += val[k] * x[col[k]]
  void (*add_products)(const std::uint16_t* col, const std::uint16_t* row, const S* val, offset entries,
                       const V* x, V* sums, fetch_ahead ahead);
  /// The same where all values are one.
  void (*add_scaled)(const std::uint16_t* col, const std::uint16_t* row, S val, offset entries, const V* x,
                     V* sums, fetch_ahead ahead);
};

}  // namespace nz::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

/// value(k): of entry k.
template <class V, class Value>
HWY_INLINE void add_all(const std::uint16_t* HWY_RESTRICT col, const std::uint16_t* HWY_RESTRICT row,
                        Value value, offset entries, const V* HWY_RESTRICT x, V* HWY_RESTRICT sums,
                        fetch_ahead ahead) {
  constexpr int width = 8;
  offset k = 0;
  for (; k + width <= entries; k += width) {
    for (int l = 0; l < ahead.lines && ahead.from < ahead.to; ++l, ahead.from += line_bytes)
      __builtin_prefetch(ahead.from, 0, 2);
    V product[width];
    for (int e = 0; e < width; ++e) product[e] = value(k + e) * x[col[k + e]];
    for (int e = 0; e < width; ++e) sums[row[k + e]] += product[e];
  }
  for (; k < entries; ++k) sums[row[k]] += value(k) * x[col[k]];
}

template <class S, class V>
void add_products(const std::uint16_t* col, const std::uint16_t* row, const S* val, offset entries,
                  const V* x, V* sums, fetch_ahead ahead) {
  add_all(
      col, row, [val](offset k) { return static_cast<V>(val[k]); }, entries, x, sums, ahead);
}

template <class S, class V>
void add_scaled(const std::uint16_t* col, const std::uint16_t* row, S val, offset entries, const V* x,
                V* sums, fetch_ahead ahead) {
  add_all(
      col, row, [val](offset) { return static_cast<V>(val); }, entries, x, sums, ahead);
}

NONZERO_ADD_FUNCTIONS(one_pass_functions, add_products, add_scaled);

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nz::cpu {
namespace {

constexpr index most_bin_rows = binned<double>::most_bin_rows;  // their sums fit into L2
constexpr offset bin_cost = 16 * most_bin_rows;                 // entries and twice the rows of a bin
constexpr chunk_size small_chunk{.most_rows = most_bin_rows / 8, .cost = bin_cost / 16, .row_cost = 2};
constexpr index least_block_cols = 8192;  // their x fits into L1
constexpr double blocks_per_entry = 2.5;  // at most so many blocks for each entry of a row
constexpr double few_blocks = 4;          // always accepted

/// Joins small chunks of rows to bins, as many as fit. Long rows are chunks of their own.
chunking split_rows(std::span<const offset> row_begin) {
  chunking small = split_into_chunks(row_begin, small_chunk);
  chunking out;
  out.segments = std::move(small.segments);
  for (index c = 0; c < small.count(); ++c) {
    const index end = small.first_row[c + 1], bins = out.count();
    const offset cost = small.cost_before[c + 1];
    const bool is_long = cost == small.cost_before[c], follows_long = bins == 0 || out.is_long_row(bins - 1);
    if (!is_long && !follows_long && end - out.first_row[bins - 1] <= most_bin_rows &&
        cost - out.cost_before[bins - 1] <= bin_cost) {
      out.first_row.back() = end;
      out.cost_before.back() = cost;
    } else {
      out.first_row.push_back(end);
      out.cost_before.push_back(cost);
    }
  }
  return out;
}

/// The length of the row of an average entry, at most a few hundred; from a sample of the rows.
double entries_beside(std::span<const offset> row_begin) {
  constexpr index sample = 1 << 16;
  constexpr offset most = 256;
  const auto rows = static_cast<index>(row_begin.size()) - 1;
  double entries = 0, beside = 0;
  for (index i = 0; i < rows; i += 1 + rows / sample) {
    const offset length = row_begin[i + 1] - row_begin[i];
    entries += static_cast<double>(length);
    beside += static_cast<double>(length * std::min(length, most));
  }
  return entries > 0 ? beside / entries : 0;
}

/// Every bin is a panel. Throws `unsupported` if rows have too few entries for the blocks.
binned_layout split_into_bins(const chunking& chunks, std::span<const offset> row_begin, index cols) {
  binned_layout out{
      least_block_cols, {chunks.first_row.begin(), chunks.first_row.end()}, {}, long_rows_of(chunks)};
  for (index b = 0; b <= chunks.count(); ++b) out.panel_bin.push_back(b);
  const double most_blocks = std::max(few_blocks, blocks_per_entry * entries_beside(row_begin));
  const auto are_too_many = [&] { return static_cast<double>(cols) / out.block_cols > most_blocks; };
  while (out.block_cols < binned<double>::most_block_cols && are_too_many()) out.block_cols *= 2;
  if (are_too_many())
    throw unsupported("binned_one_pass: rows of too few entries for so many columns; use binned_two_pass");
  return out;
}

template <class A, class V> class binned_one_pass final : public chunked_matrix<V> {
 public:
  binned_one_pass(csr_view<A> a, const chunking& chunks, binned<A> bins, std::string_view simd)
      : chunked_matrix<V>(a.rows, a.cols, with_segments_apart(chunks, bins, a)),
        full_(compiled_functions<one_pass_functions<A, V>>::find(simd)),
        single_(compiled_functions<one_pass_functions<float, V>>::find(simd)),
        long_rows_(compiled_functions<csr_functions<A, V>>::find(simd)),
        a_(std::move(bins)) {}
  footprint storage() const override {
    footprint out = footprint_of(a_);
    out.bytes += this->scratch_bytes();
    return out;
  }

 private:
  void find_sums(index bin, const V* x, V* sums) const override {
    std::fill_n(sums, a_.bin_row[bin + 1] - a_.bin_row[bin], V{0});
    for (index block = 0; block < a_.blocks(); ++block) {
      const offset cell = a_.cell(bin, block, bin), from = a_.cell_begin[cell];
      add_cell(from, a_.cell_begin[cell + 1] - from, x + offset{block} * a_.block_cols, sums,
               next_x(cell, block, x));
    }
  }

  /// The next block's x, if the next cell uses most of it.
  fetch_ahead next_x(offset cell, index block, const V* x) const {
    if (block + 1 >= a_.blocks()) return {};
    const offset here = a_.cell_begin[cell + 1] - a_.cell_begin[cell],
                 next = a_.cell_begin[cell + 2] - a_.cell_begin[cell + 1];
    const offset begin = offset{block + 1} * a_.block_cols,
                 end = std::min<offset>(a_.cols, begin + a_.block_cols);
    const offset lines = (end - begin) * offset{sizeof(V)} / line_bytes;
    if (lines == 0 || lines > next || lines > here) return {};
    return {reinterpret_cast<const char*>(x + begin), reinterpret_cast<const char*>(x + end),
            static_cast<int>(8 * lines / here + 1)};
  }

  void add_cell(offset from, offset entries, const V* x, V* sums, fetch_ahead ahead) const {
    const std::uint16_t *col = a_.col.data() + from, *row = a_.row.data() + from;
    if (a_.values == packed_values::one)
      full_.add_scaled(col, row, a_.val[0], entries, x, sums, ahead);
    else if (a_.values == packed_values::single)
      single_.add_products(col, row, a_.single_val.data() + from, entries, x, sums, ahead);
    else
      full_.add_products(col, row, a_.val.data() + from, entries, x, sums, ahead);
  }

  V find_segment_sum(const chunking::segment& segment, const V* x) const override {
    return long_rows_.sum(a_.long_rows, segment, x);
  }

  one_pass_functions<A, V> full_;
  one_pass_functions<float, V> single_;
  csr_functions<A, V> long_rows_;
  binned<A> a_;  // a bin for each chunk
};

}  // namespace

kernel_row binned_one_pass_row() {
  return row_with<[]<class A, class V>(csr_view<A> a, const prepare_options& options) {
    const chunking chunks = split_rows(a.row_begin);
    auto bins = to_binned(a, split_into_bins(chunks, a.row_begin, a.cols), for_each_in_team);
    return std::make_unique<binned_one_pass<A, V>>(a, chunks, std::move(bins), options.simd);
  }>({.name = "binned_one_pass",
      .format = "binned",
      .summary = "bins of rows, and in each bin blocks of columns",
      .is_candidate = true,
      .is_gather_free = true});
}

}  // namespace nz::cpu
#endif
