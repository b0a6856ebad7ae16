// Each thread has chunks of block rows of about the same cost. A block left of the diagonal is read once and
// multiplied twice: as it is, for its own rows, whose sums stay in registers; and transposed, for the rows of
// its columns, whose sums are in slots of the chunk. Slots of rows above the chunk are its spill. After all
// chunks, each row adds the spills of the chunks below, in order. Rows of a block are multiplied by a vector
// of x: nothing is broadcast, and lanes are added only at the end of a row.
// Good: symmetric matrices of small full blocks, numbered so that a block's column is near its row.
// Bad: columns from everywhere: the spills would be as large as the matrix, so they are refused.
// Traffic: 4.4 bytes per entry of 3 x 3 blocks in double, 2.3 if all values are exact in single, plus x; the
// slots, about 0.3 bytes per entry, are written and read.
#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/sbsr_chunks.cpp"
#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <nonzero/core/scratch.hpp>
#include <nonzero/cpu/chunk_ranges_internal.hpp>
#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/cpu/symmetric_rows_internal.hpp>
#include <nonzero/formats/sbsr.hpp>

#ifndef NONZERO_CPU_SBSR_CHUNKS  // this file is included by itself, once for each target
#  define NONZERO_CPU_SBSR_CHUNKS
namespace nz::cpu {

/// A: the type of stored values, V: the type of x and the sums.
template <class A, class V> struct sbsr_functions {
  /// The order of a block's values, and the number of slots for the sums of a block row.
  index (*group_cols)(index block_size);
  index (*slots)(index block_size);
  /// Block rows [first, last): adds to the slots of other block rows and sets those of its own; `slots` is
  /// that of block row 0.
  void (*multiply)(const sbsr_view<A>& a, index first, index last, const V* x, V* slots);
  /// The sums of some block rows, from their slots.
  void (*find_sums)(index block_size, const V* slots, index block_rows, V* sums);
};

}  // namespace nz::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

template <int Size, class A, class V>
void multiply_rows(const sbsr_view<A>& a, index first, index last, const V* HWY_RESTRICT x,
                   V* HWY_RESTRICT slots) {
  using row = row_for<Size, A, V>;
  offset k = a.block_begin[first];
  for (index i = first; i < last; ++i) {
    const V* own_x = x + offset{i} * Size;
    row sums(own_x);
    const offset diagonal = a.block_begin[i + 1] - 1;
    const A* block = a.val + k * (Size * Size);
    for (; k < diagonal; ++k, block += Size * Size) {
      const offset j = a.block_col[k];
      sums.add_block(block, x + j * Size, slots + j * row::slots);
    }
    ++k;
    if (row::past_end > 0 && (i + 1) * Size == a.rows) {
      // Nothing may be read past the last block and the last x.
      A last_block[Size * Size + row::past_end] = {};
      V last_x[Size + row::past_end] = {};
      __builtin_memcpy(last_block, block, Size * Size * sizeof(A));
      __builtin_memcpy(last_x, own_x, Size * sizeof(V));
      sums.add_diagonal(last_block, last_x);
    } else {
      sums.add_diagonal(block, own_x);
    }
    sums.store(slots + offset{i} * row::slots);
  }
}

template <class A, class V>
void multiply(const sbsr_view<A>& a, index first, index last, const V* x, V* slots) {
  with_constant<2, 3, 4>(a.block_size, [&](auto size) { multiply_rows<size>(a, first, last, x, slots); });
}

template <class A, class V>
void find_sums(index block_size, const V* HWY_RESTRICT slots, index block_rows, V* HWY_RESTRICT sums) {
  with_constant<2, 3, 4>(block_size, [&](auto size) {
    using row = row_for<size, A, V>;
    for (index i = 0; i < block_rows; ++i)
      for (int r = 0; r < size; ++r) sums[offset{i} * size + r] = row::sum(slots + offset{i} * row::slots, r);
  });
}

template <class A, class V> index group_cols(index block_size) {
  return with_constant<2, 3, 4>(block_size, [](auto size) { return index{row_for<size, A, V>::group_cols}; });
}
template <class A, class V> index slots(index block_size) {
  return with_constant<2, 3, 4>(block_size, [](auto size) { return index{row_for<size, A, V>::slots}; });
}

NONZERO_ADD_FUNCTIONS(sbsr_functions, group_cols<A, V>, slots<A, V>, multiply<A, V>, find_sums<A, V>);

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nz::cpu {
namespace {

/// Chunks of block rows of a symmetric matrix, of which the lower triangle is stored. The sums that a chunk
/// computes for rows above its own, its spill, are in slots of its own. Depends on the matrix alone, not on
/// the number of threads.
struct symmetric_chunks {
  std::vector<index> first{0};        // count()+1 long; the block rows [first[s], first[s+1]) are chunk s
  std::vector<index> lowest;          // count() long; the lowest block row for which it has sums
  std::vector<offset> slot_begin{0};  // count()+1 long; its first slot, for the block rows from lowest[s] to
                                      // first[s+1]; >= lowest[s]

  index count() const { return static_cast<index>(lowest.size()); }
  /// The number of block rows in all spills.
  offset spilt() const { return slot_begin.back() - first.back(); }
};

/// The number of chunks, unless the matrix is small.
constexpr index least_chunks = 16, most_chunks = 64;
/// The most bytes of spills, relative to the values of the triangle.
constexpr double most_spilt = 0.08;

/// most_chunks chunks of about the same number of entries.
template <class V> symmetric_chunks split_finely(csr_view<V> a, index block_size) {
  const index block_rows = a.rows / block_size;
  symmetric_chunks out;
  out.lowest.resize(most_chunks);
  for (offset s = 1; s <= most_chunks; ++s) {
    const auto row = std::lower_bound(a.row_begin.begin(), a.row_begin.end(),
                                      a.nnz() / most_chunks * s + a.nnz() % most_chunks * s / most_chunks);
    out.first.push_back(
        s == most_chunks ? block_rows
                         : std::min(block_rows, static_cast<index>(row - a.row_begin.begin()) / block_size));
  }
  for_each_in_team(most_chunks, [&](offset chunk) {
    const auto s = static_cast<std::size_t>(chunk);
    out.lowest[s] = out.first[s];
    for (index i = out.first[s]; i < out.first[s + 1]; ++i)
      if (a.row_length(i * block_size) > 0)
        out.lowest[s] = std::min(out.lowest[s], a.col[a.row_begin[i * block_size]] / block_size);
  });
  return out;
}

/// Joins neighbours to `count` chunks, a divisor of their number.
symmetric_chunks join(const symmetric_chunks& fine, index count) {
  const index together = fine.count() / count;
  symmetric_chunks out;
  for (index s = 0; s < fine.count(); s += together) {
    const auto at = fine.lowest.begin() + s;
    out.first.push_back(fine.first[s + together]);
    out.lowest.push_back(*std::min_element(at, at + together));
    out.slot_begin.push_back(out.slot_begin.back() + out.first.back() - out.lowest.back());
  }
  return out;
}

/// As many chunks as keep the spills small. Takes time for the rows, not for the entries. Throws
/// `unsupported` if there would be too few for several threads.
template <class V>
symmetric_chunks split_into_symmetric_chunks(csr_view<V> a, index block_size, int slot_bytes) {
  const symmetric_chunks fine = split_finely(a, block_size);
  const double triangle = static_cast<double>(a.nnz()) / 2 * sizeof(V);
  constexpr offset few_entries = 8 * 1024;  // of a chunk
  const bool is_small = a.nnz() < least_chunks * few_entries;
  double spilt = 0;
  for (index count = most_chunks; count >= (is_small ? 1 : least_chunks); count /= 2) {
    symmetric_chunks out = join(fine, count);
    spilt = static_cast<double>(out.spilt()) * slot_bytes;
    if (spilt <= most_spilt * triangle) return out;
  }
  throw unsupported(
      fmt::format("sbsr_chunks: with {} chunks, the sums for rows of other chunks would take {:.0f} % of the "
                  "memory of the triangle: columns are too far from their rows; choose bsr_rows, or renumber",
                  least_chunks, 100 * spilt / triangle));
}

template <class A, class V> class sbsr_chunks final : public prepared_matrix<V> {
 public:
  sbsr_chunks(sbsr<A> a, symmetric_chunks chunks, std::string_view simd)
      : prepared_matrix<V>(a.rows, a.cols, cpu_device()),
        functions_(compiled_functions<sbsr_functions<A, V>>::find(simd)),
        per_row_(functions_.slots(a.block_size)),
        batch_block_rows_(most_chunk_rows / a.block_size),
        a_(std::move(a)),
        chunks_(std::move(chunks)),
        slot_count_(static_cast<std::size_t>(chunks_.slot_begin.back() * per_row_)),
        slots_([count = slot_count_] { return array<V>(count); }) {
    for (index s = 0; s <= chunks_.count(); ++s)
      cost_before_.push_back(a_.block_begin[chunks_.first[s]] + offset{2} * chunks_.first[s]);
    batch_before_.push_back(0);
    for (index s = 0; s < chunks_.count(); ++s)
      batch_before_.push_back(batch_before_.back() +
                              (chunks_.first[s + 1] - chunks_.first[s] + batch_block_rows_ - 1) /
                                  batch_block_rows_);
  }
  footprint storage() const override {
    footprint out = footprint_of(a_);
    out.bytes += slot_count_ * sizeof(V);
    return out;
  }
  /// The slots are written and read.
  std::uint64_t traffic() const override { return prepared_matrix<V>::traffic() + slot_count_ * sizeof(V); }

 private:
  void run(V alpha, const V* x, V beta, V* y, stream) const override {
    const scale_and_add<V> epilogue{alpha, beta};
    const bool is_plain = alpha == V{1} && beta == V{0};
    run_chunks(x, [&](index, index first, index block_rows, const V* slots) {
      V* batch_y = y + offset{first} * a_.block_size;
      if (is_plain) return functions_.find_sums(a_.block_size, slots, block_rows, batch_y);
      alignas(64) V sums[most_chunk_rows];
      functions_.find_sums(a_.block_size, slots, block_rows, sums);
      for (index i = 0; i < block_rows * a_.block_size; ++i) epilogue(sums[i], batch_y[i]);
    });
  }

  step_sums run_fused(const V* x, const chunk_epilogue<V>& epilogue) const override {
    array<step_sums> of_batches(static_cast<std::size_t>(batch_before_.back()));
    run_chunks(x, [&](index batch, index first, index block_rows, const V* slots) {
      alignas(64) V sums[most_chunk_rows];
      functions_.find_sums(a_.block_size, slots, block_rows, sums);
      of_batches[static_cast<std::size_t>(batch)] =
          epilogue(first * a_.block_size, {sums, static_cast<std::size_t>(block_rows * a_.block_size)});
    });
    return add_up(of_batches);
  }

  /// for_batch(batch, first block row, block rows, slots) in parallel.
  template <class ForBatch> void run_chunks(const V* x, ForBatch for_batch) const {
    const typename scratch<array<V>>::lease slots(slots_);
    in_team(chunks_.count() > 1 ? 0 : 1, [&](const team_thread& me) {
      const chunk_range mine = equal_cost_range(me, cost_before_);
      for (auto s = static_cast<index>(mine.begin); s < mine.end; ++s) multiply_chunk(s, x, slots->data());
      me.wait_for_others();
      for (auto s = static_cast<index>(mine.begin); s < mine.end; ++s) {
        add_spills(s, slots->data());
        index batch = batch_before_[static_cast<std::size_t>(s)];
        for (index first = chunks_.first[s]; first < chunks_.first[s + 1];
             first += batch_block_rows_, ++batch)
          for_batch(batch, first, std::min(batch_block_rows_, chunks_.first[s + 1] - first),
                    slots_of(s, slots->data()) + offset{first} * per_row_);
      }
    });
  }

  /// Of block row 0, for the use of chunk s; there are some from chunks_.lowest[s] on.
  V* slots_of(index s, V* all) const { return all + (chunks_.slot_begin[s] - chunks_.lowest[s]) * per_row_; }

  void multiply_chunk(index s, const V* x, V* all_slots) const {
    V* slots = slots_of(s, all_slots);
    const index first = chunks_.first[s];
    std::fill(slots + offset{chunks_.lowest[s]} * per_row_, slots + offset{first} * per_row_, V{0});
    functions_.multiply(a_, first, chunks_.first[s + 1], x, slots);
  }

  /// Adds the spills of the chunks below to the rows of chunk s, in order.
  void add_spills(index s, V* all_slots) const {
    V* own = slots_of(s, all_slots);
    for (index below = s + 1; below < chunks_.count(); ++below) {
      const index first = std::max(chunks_.lowest[below], chunks_.first[s]), last = chunks_.first[s + 1];
      const V* spilt = slots_of(below, all_slots);
      for (offset k = offset{first} * per_row_; k < offset{last} * per_row_; ++k) own[k] += spilt[k];
    }
  }

  sbsr_functions<A, V> functions_;
  index per_row_;           // slots of a block row
  index batch_block_rows_;  // of a batch: rows of a chunk whose sums are in L1 until the epilogue reads them
  sbsr<A> a_;
  symmetric_chunks chunks_;
  std::vector<offset> cost_before_;
  std::vector<index> batch_before_;  // chunks+1 long: batches of the chunks before
  std::size_t slot_count_;
  scratch<array<V>> slots_;
};

}  // namespace

kernel_row sbsr_chunks_row() {
  return row_with<[]<class A, class V>(
                      csr_view<A> a, const prepare_options& options) -> std::unique_ptr<prepared_matrix<V>> {
    const auto& functions = compiled_functions<sbsr_functions<A, V>>::find(options.simd);
    sbsr_options how;
    how.block_size = find_symmetric_block_size(a);
    how.group_cols = functions.group_cols(how.block_size);
    symmetric_chunks chunks =
        split_into_symmetric_chunks(a, how.block_size, functions.slots(how.block_size) * int{sizeof(V)});
    how.first_block_row = chunks.first;
    how.for_each = for_each_in_team;
    if constexpr (sizeof(A) == sizeof(double))
      if (auto narrow = to_sbsr_of_floats(a, how))
        return std::make_unique<sbsr_chunks<float, V>>(std::move(*narrow), std::move(chunks), options.simd);
    sbsr<A> converted = to_sbsr(a, how);  // before `chunks` is moved from
    return std::make_unique<sbsr_chunks<A, V>>(std::move(converted), std::move(chunks), options.simd);
  }>({.name = "sbsr_chunks",
      .format = "sbsr",
      .summary = "each block of one triangle multiplied for its rows and its columns",
      .is_candidate = true,
      .both_triangles = "bsr_rows"});
}

}  // namespace nz::cpu
#endif
