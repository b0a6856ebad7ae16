// Each thread has about the same number of entries. A column of a block is one vector multiply-add with its
// x; each column of a block has its own sums, so that additions do not wait.
// Good: small dense blocks, as from several unknowns per mesh node.
// Bad: blocks that are not full: their entries are in the rest, which is CSR and summed entry by entry.
// Traffic: 8.4 bytes per entry of 3 x 3 blocks in double, 4.4 if all values are exact in single, plus x.
#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/bsr_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if defined(__aarch64__)
#  include <arm_neon.h>
#endif

#include <nonzero/cpu/chunk_ranges_internal.hpp>
#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/cpu/simd_internal.hpp>
#include <nonzero/formats/bsr.hpp>

#ifndef NONZERO_CPU_BSR_ROWS  // this file is included by itself, once for each target
#  define NONZERO_CPU_BSR_ROWS
namespace nz::cpu {

/// A: the type of stored values, V: of x and the sums.
template <class A, class V> struct bsr_functions {
  /// Sums of block rows; `begin` is of the first of them, `blocks` the number of blocks of the matrix.
  void (*find_block_sums)(index block_size, const offset* begin, const index* col, const A* val,
                          offset blocks, index block_rows, const V* x, V* sums);
  V (*find_sum)(const index* col, const A* val, offset entries, const V* x);
};

}  // namespace nz::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

/// The compiler's vectors instead of Highway's: there can be arrays of them for every target. A column of a
/// block takes `count` of them; the last may have lanes past the column's end, whose sums are not used.
template <int Size, class A, class V> struct column_vectors {
  static constexpr int most_lanes = register_bytes / int{sizeof(V)};
  static constexpr int fitting = Size <= 2 ? 2 : Size <= 4 ? 4 : 8;
  static constexpr int lanes = fitting < most_lanes ? fitting : most_lanes;
  static constexpr int count = (Size + lanes - 1) / lanes;
  using vec [[gnu::vector_size(lanes * sizeof(V))]] = V;
  using loaded [[gnu::vector_size(lanes * sizeof(A))]] = A;

  /// acc += values * x
  static HWY_INLINE void add(vec& acc, const A* values, V x) {
#if defined(__aarch64__)
    // GCC 12 converts a vector of two floats one by one, and then keeps the sums in memory.
    if constexpr (lanes == 2 && sizeof(A) < sizeof(V)) {
      acc = (vec)vfmaq_n_f64((float64x2_t)acc, vcvt_f64_f32(vld1_f32(values)), x);
      return;
    }
#endif
    loaded column;
    __builtin_memcpy(&column, values, sizeof(column));  // blocks are not aligned
    acc += __builtin_convertvector(column, vec) * x;
  }
};

template <int Size, class A, class V>
void find_block_sums_of(const offset* begin, const index* col, const A* val, offset blocks, index block_rows,
                        const V* x, V* sums) {
  using vectors = column_vectors<Size, A, V>;
  using vec = typename vectors::vec;
  constexpr int lanes = vectors::lanes, count = vectors::count;
  // As many columns have their own sums as fit into registers.
  constexpr int columns = Size * count <= 8 ? Size : 8 / count;
  // Nothing may be read past the last block.
  const offset end_of_vectors = count * lanes == Size ? blocks : blocks - 1;
  offset k = begin[0];
  for (index i = 0; i < block_rows; ++i, sums += Size) {
    vec acc[8] = {};
    const offset end = begin[i + 1], vector_end = end < end_of_vectors ? end : end_of_vectors;
    for (; k < vector_end; ++k) {
      const A* block = val + k * (Size * Size);
      const V* block_x = x + offset{col[k]} * Size;
      for (int c = 0; c < Size; ++c)
        for (int p = 0; p < count; ++p)
          vectors::add(acc[c % columns * count + p], block + c * Size + p * lanes, block_x[c]);
    }
    for (int c = 1; c < columns; ++c)
      for (int p = 0; p < count; ++p) acc[p] += acc[c * count + p];
    for (int r = 0; r < Size; ++r) sums[r] = acc[r / lanes][r % lanes];
    for (; k < end; ++k)
      for (int c = 0; c < Size; ++c)
        for (int r = 0; r < Size; ++r)
          sums[r] += static_cast<V>(val[(k * Size + c) * Size + r]) * x[offset{col[k]} * Size + c];
  }
}

template <class A, class V>
void find_block_sums(index block_size, const offset* begin, const index* col, const A* val, offset blocks,
                     index block_rows, const V* x, V* sums) {
  with_constant<2, 3, 4, 5, 6, 8>(
      block_size, [&](auto size) { find_block_sums_of<size>(begin, col, val, blocks, block_rows, x, sums); });
}

template <class A, class V> V find_sum(const index* col, const A* val, offset entries, const V* x) {
  V sums[4] = {};
  offset k = 0;
  for (; k + 4 <= entries; k += 4)
    for (int e = 0; e < 4; ++e) sums[e] += static_cast<V>(val[k + e]) * x[col[k + e]];
  for (; k < entries; ++k) sums[0] += static_cast<V>(val[k]) * x[col[k]];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

NONZERO_ADD_FUNCTIONS(bsr_functions, find_block_sums, find_sum);

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nz::cpu {
namespace {

template <class A, class V> class bsr_rows final : public chunked_matrix<V> {
 public:
  bsr_rows(bsr<A> a, chunking chunks, std::string_view simd)
      : chunked_matrix<V>(a.rows, a.cols, std::move(chunks)),
        functions_(compiled_functions<bsr_functions<A, V>>::find(simd)),
        a_(std::move(a)) {}
  footprint storage() const override { return footprint_of(a_); }

 private:
  /// Block rows with blocks are within one chunk; rows before and after them have no blocks.
  void find_sums(index chunk, const V* x, V* sums) const override {
    const index first = this->chunks().first_row[chunk], last = this->chunks().first_row[chunk + 1];
    const index size = a_.block_size, block_last = last / size;
    const index block_first = std::min(first / size + (first % size != 0), block_last);
    const auto past_blocks = std::max(block_last * size, first);
    std::fill(sums, sums + (std::max(block_first * size, first) - first), V{0});
    functions_.find_block_sums(size, a_.block_begin.data() + block_first, a_.block_col.data(), a_.val.data(),
                               a_.blocks(), block_last - block_first, x, sums + (block_first * size - first));
    std::fill(sums + (past_blocks - first), sums + (last - first), V{0});
    const offset* rest = a_.rest.row_begin.data();
    if (rest[first] == rest[last]) return;
    for (index i = first; i < last; ++i) sums[i - first] += sum_of_rest(rest[i], rest[i + 1], x);
  }
  /// Long rows are in the rest.
  V find_segment_sum(const chunking::segment& segment, const V* x) const override {
    return sum_of_rest(segment.begin, segment.end, x);
  }
  V sum_of_rest(offset begin, offset end, const V* x) const {
    return functions_.find_sum(a_.rest.col.data() + begin, a_.rest.val.data() + begin, end - begin, x);
  }

  bsr_functions<A, V> functions_;
  bsr<A> a_;
};

/// Calls body for the block rows of the calling thread's chunks: it is the first to touch them (NUMA).
void run_as_multiplied(const chunking& chunks, index block_size, index block_rows, const auto& body) {
  in_team(0, [&](const team_thread& me) {
    const chunk_range mine = equal_cost_range(me, chunks.cost_before);
    const auto block_row = [&](offset chunk) {
      return chunk == chunks.count() ? block_rows : chunks.first_row[chunk] / block_size;
    };
    body(block_row(mine.begin), block_row(mine.end));
  });
}

template <class A, class V>
std::unique_ptr<prepared_matrix<V>> place(bsr<A> a, chunking chunks, std::span<const offset> row_begin,
                                          const prepare_options& options) {
  chunks = with_segments_moved(std::move(chunks),
                               [&](index row) { return a.rest.row_begin[row] - row_begin[row]; });
  return std::make_unique<bsr_rows<A, V>>(std::move(a), std::move(chunks), options.simd);
}

}  // namespace

kernel_row bsr_rows_row() {
  return row_with<[]<class A, class V>(
                      csr_view<A> a, const prepare_options& options) -> std::unique_ptr<prepared_matrix<V>> {
    bsr_options how;
    how.block_size = find_block_size(a);
    how.longest_row = long_row_from;
    chunking chunks = split_into_chunks(a.row_begin, {.block_rows = how.block_size});
    how.run = [&](index block_rows, const auto& body) {
      run_as_multiplied(chunks, how.block_size, block_rows, body);
    };
    if constexpr (sizeof(A) == sizeof(double))
      if (auto narrow = to_bsr_of_floats(a, how))
        return place<float, V>(std::move(*narrow), std::move(chunks), a.row_begin, options);
    bsr<A> converted = to_bsr(a, how);  // before `chunks` is moved from
    return place<A, V>(std::move(converted), std::move(chunks), a.row_begin, options);
  }>({.name = "bsr_rows",
      .format = "bsr",
      .summary = "chunks of about equal cost (entries, plus four per row); one column of a block at a time",
      .is_candidate = true});
}

}  // namespace nz::cpu
#endif
