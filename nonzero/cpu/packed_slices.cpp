// A slice of rows at a time: its runs by whole vectors of rows, for which x is read in order and no columns
// are read; the rest in groups of eight rows, one entry of each at a time.
// Good: stencils and bands (runs), values that repeat or are exact in single, columns near each other, short
// rows of changing length (sorted within the slice, so that no branch depends on a single row).
// Bad: full values and far columns only: nothing is saved.
// Traffic: from x and y only (stencils) to 12 bytes per entry and 6 per row in double, plus the gather of x.
#include <bit>
#include <cstring>

#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/packed_slices.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <nonzero/cpu/chunk_ranges_internal.hpp>
#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/cpu/simd_internal.hpp>
#include <nonzero/formats/packed.hpp>

#ifndef NONZERO_CPU_PACKED_SLICES  // this file is included by itself, once for each target
#  define NONZERO_CPU_PACKED_SLICES
namespace nz::cpu {

/// A: the type of full values, V: of x and the sums.
template <class A, class V> struct packed_functions {
  void (*find_sums)(const packed_view<A>& a, index slice, const V* x, V* sums);
  /// Over the entries [begin, end) of a slice of one row.
  V (*find_sum)(const packed_view<A>& a, index slice, offset begin, offset end, const V* x);
};

}  // namespace nz::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

/// One value, read as an array.
template <class A> struct constant_values {
  A value;
  HWY_INLINE A operator[](offset) const { return value; }
  HWY_INLINE constant_values operator+(offset) const { return *this; }
};

template <class D, class A> HWY_INLINE hn::VFromD<D> load_as(D d, constant_values<A> values) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(values.value));
}

/// Sums of packed_run::block_rows rows whose columns are row + diagonal[k]; x points to that of the first
/// row. vector_at(d, k, i) gives the values of diagonal k from row i on.
template <class V, class Vectors>
HWY_INLINE void sum_block(const index* diagonal, index width, const V* x, V* sums, Vectors vector_at) {
  const hn::CappedTag<V, packed_run::block_rows> d;
#if HWY_HAVE_SCALABLE  // vectors of unknown length cannot be in an array
  for (index i = 0; i < packed_run::block_rows; i += static_cast<index>(hn::Lanes(d))) {
    auto sum = hn::Zero(d);
    for (index k = 0; k < width; ++k)
      sum = hn::MulAdd(vector_at(d, k, i), hn::LoadU(d, x + i + diagonal[k]), sum);
    hn::StoreU(sum, d, sums + i);
  }
#else
  constexpr auto lanes = static_cast<index>(hn::MaxLanes(d)), vectors = packed_run::block_rows / lanes;
  hn::Vec<decltype(d)> sum[vectors];
  for (index v = 0; v < vectors; ++v) sum[v] = hn::Zero(d);
  for (index k = 0; k < width; ++k)
    for (index v = 0; v < vectors; ++v)
      sum[v] = hn::MulAdd(vector_at(d, k, v * lanes), hn::LoadU(d, x + diagonal[k] + v * lanes), sum[v]);
  for (index v = 0; v < vectors; ++v) hn::StoreU(sum[v], d, sums + v * lanes);
#endif
}

/// A run; the block that starts at row i has its values at val + i * width, column by column.
template <class V, class S>
void sum_run_of_values(const index* diagonal, index width, index rows, const S* val, const V* x, V* sums) {
  constexpr index block = packed_run::block_rows;
  index i = 0;
  for (; i + block <= rows; i += block, val += offset{block} * width)
    sum_block(diagonal, width, x + i, sums + i,
              [&](auto d, index k, index j) HWY_ATTR { return load_as(d, val + offset{k} * block + j); });
  for (index j = i; j < rows; ++j) {
    V sum = 0;
    for (index k = 0; k < width; ++k)
      sum += static_cast<V>(val[offset{k} * (rows - i) + (j - i)]) * x[j + diagonal[k]];
    sums[j] = sum;
  }
}

template <class V, class A>
void sum_run_of_constants(const index* diagonal, index width, index rows, const A* constant, const V* x,
                          V* sums) {
  constexpr index block = packed_run::block_rows;
  index i = 0;
  for (; i + block <= rows; i += block)
    sum_block(diagonal, width, x + i, sums + i,
              [&](auto d, index k, index) HWY_ATTR { return hn::Set(d, static_cast<V>(constant[k])); });
  for (; i < rows; ++i) {
    V sum = 0;
    for (index k = 0; k < width; ++k) sum += static_cast<V>(constant[k]) * x[i + diagonal[k]];
    sums[i] = sum;
  }
}

/// Eight partial sums, so that additions do not wait.
template <class V, class Column, class Values>
HWY_INLINE V sum_of_row(const Column* col, Values val, offset entries, const V* x) {
  constexpr int width = 8;
  V sum = 0;
  offset k = 0;
  if (entries >= width) {
    V sums[width] = {};
    for (; k + width <= entries; k += width)
      for (int e = 0; e < width; ++e) sums[e] += static_cast<V>(val[k + e]) * x[col[k + e]];
    sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }
  for (; k < entries; ++k) sum += static_cast<V>(val[k]) * x[col[k]];
  return sum;
}

constexpr index group = 8;
/// The columns of a group's next entries. Near ones are loaded four at a time, to save loads.
template <class Column> struct group_columns {
  const Column* col;
  HWY_INLINE explicit group_columns(const Column* from) : col(from) {}
  HWY_INLINE index operator[](index e) const { return static_cast<index>(col[e]); }
};
template <> struct group_columns<std::uint16_t> {
  std::uint64_t words[2];
  HWY_INLINE explicit group_columns(const std::uint16_t* from) { std::memcpy(words, from, sizeof words); }
  HWY_INLINE index operator[](index e) const {
    return static_cast<index>((words[e / 4] >> (16 * (e % 4))) & 0xffff);
  }
};
static_assert(std::endian::native == std::endian::little);

/// The sums of a group's rows over their first `columns` entries; no row is shorter.
template <class V, class Column, class Values>
HWY_INLINE void sum_group(index columns, const Column* col, Values val, const V* x, V* sums) {
  V sum[group] = {};
  for (index k = 0; k < columns * group; k += group) {
    const group_columns<Column> at(col + k);
    for (index e = 0; e < group; ++e) sum[e] += static_cast<V>(val[k + e]) * x[at[e]];
  }
  for (index e = 0; e < group; ++e) sums[e] = sum[e];
}

/// The rest of a slice. `row` and `length` have one element for each of its rows.
template <class V, class Column, class Values>
void sum_rest(const std::uint16_t* row, const index* length, offset rows, const Column* col, Values val,
              const V* x, V* sums) {
  offset r = 0;
  for (; r + group <= rows; r += group) {
    V sum[group];
    const index together = length[r + group - 1];
    sum_group(together, col, val, x, sum);
    col += offset{group} * together;
    val = val + offset{group} * together;
    if (length[r] == together) {  // true for most groups: rows are sorted by length
      for (index e = 0; e < group; ++e) sums[row[r + e]] = sum[e];
      continue;
    }
    for (index e = 0; e < group; ++e) {
      const index left = length[r + e] - together;
      if (left > 0) {
        sum[e] += sum_of_row(col, val, left, x);
        col += left;
        val = val + left;
      }
      sums[row[r + e]] = sum[e];
    }
  }
  for (; r < rows; ++r) {
    sums[row[r]] = sum_of_row(col, val, length[r], x);
    col += length[r];
    val = val + length[r];
  }
}

/// Calls body(columns, values) with the arrays of a slice's rest.
template <class A, class Body>
HWY_INLINE auto with_rest(const packed_view<A>& a, const packed_slice& s, Body body) {
  const auto with_values = [&](const auto* col) HWY_ATTR {
    switch (s.values) {
      case packed_values::one:
        return body(col, constant_values<A>{a.constant[s.value]});
      case packed_values::single:
        return body(col, a.single_value + s.value);
      default:
        return body(col, a.full_value + s.value);
    }
  };
  return s.columns == packed_columns::near ? with_values(a.near_column + s.column)
                                           : with_values(a.far_column + s.column);
}

template <class A, class V> void find_sums(const packed_view<A>& a, index slice, const V* x, V* sums) {
  const packed_slice &s = a.slices[slice], &next = a.slices[slice + 1];
  for (offset r = s.run; r < next.run; ++r) {
    const packed_run& run = a.runs[r];
    const index* diagonal = a.diagonal + run.diagonal;
    V* to = sums + (run.first_row - s.first_row);
    if (run.values == packed_values::one)
      sum_run_of_constants(diagonal, run.width, run.rows, a.constant + run.value, x + run.first_row, to);
    else if (run.values == packed_values::single)
      sum_run_of_values(diagonal, run.width, run.rows, a.single_value + run.value, x + run.first_row, to);
    else
      sum_run_of_values(diagonal, run.width, run.rows, a.full_value + run.value, x + run.first_row, to);
  }
  if (next.rest > s.rest)
    with_rest(a, s, [&](const auto* col, auto val) HWY_ATTR {
      sum_rest(a.rest_row + s.rest, a.rest_length + s.rest, next.rest - s.rest, col, val, x + s.first_column,
               sums);
    });
}

template <class A, class V>
V find_sum(const packed_view<A>& a, index slice, offset begin, offset end, const V* x) {
  const packed_slice& s = a.slices[slice];
  return with_rest(a, s, [&](const auto* col, auto val) HWY_ATTR {
    return sum_of_row(col + begin, val + begin, end - begin, x + s.first_column);
  });
}

NONZERO_ADD_FUNCTIONS(packed_functions, find_sums, find_sum);

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nz::cpu {
namespace {

template <class A, class V> class packed_slices final : public chunked_matrix<V> {
 public:
  packed_slices(csr_view<A> a, chunking chunks, std::string_view simd)
      : chunked_matrix<V>(a.rows, a.cols, std::move(chunks)),
        functions_(compiled_functions<packed_functions<A, V>>::find(simd)),
        a_(to_packed(
            a, this->chunks().first_row,
            this->chunks().cost_before.back() < least_parallel_cost ? run_in_order : for_each_in_team)),
        view_(a_) {}
  footprint storage() const override { return footprint_of(a_); }

 private:
  void find_sums(index chunk, const V* x, V* sums) const override {
    functions_.find_sums(view_, chunk, x, sums);
  }
  V find_segment_sum(const chunking::segment& segment, const V* x) const override {
    return functions_.find_sum(view_, this->chunk_of(segment.row), segment.begin, segment.end, x);
  }

  packed_functions<A, V> functions_;
  packed<A> a_;
  packed_view<A> view_;
};

}  // namespace

kernel_row packed_slices_row() {
  return row_with<[]<class A, class V>(csr_view<A> a, const prepare_options& options) {
    chunking chunks = with_segments_in_rows(split_into_chunks(a.row_begin), a.row_begin);
    return std::make_unique<packed_slices<A, V>>(a, std::move(chunks), options.simd);
  }>({.name = "packed_slices",
      .format = "packed",
      .summary = "runs of rows by vectors, other rows by groups of eight",
      .is_candidate = true});
}

}  // namespace nz::cpu
#endif
