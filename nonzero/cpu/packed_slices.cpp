// A slice of rows at a time: its runs by whole vectors of rows, for which x is read in order and no columns
// are read; the rest in groups of eight rows, one entry of each at a time, or four where columns follow each
// other: x is then loaded by vectors too.
// Good: stencils and bands (runs), columns that follow each other, values that repeat or are exact in single,
// columns near each other, short rows of changing length (sorted within the slice, so that no branch depends
// on a single row).
// Bad: full values and far columns only: nothing is saved.
// Traffic: from x and y only (stencils) to 12 bytes per entry and 6 per row in double, plus the gather of x.
#include <algorithm>
#include <cstring>
#include <utility>

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

template <class D, class A> HWY_INLINE hn::VFromD<D> load_as(D d, constant_values<A> values) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(values.value));
}

/// In a run without holes every row has an entry on every diagonal.
struct no_masks {
  template <class D, class Vec> HWY_INLINE Vec keep(D, index, index, Vec sum, Vec) const { return sum; }
};

/// mask[k]: the rows that have an entry on diagonal k, from the block's first row at bit `first` on.
struct block_masks {
  const std::uint16_t* mask;
  index first;
  /// `sum` in rows that have an entry on diagonal k, `old` in others; lanes are rows, from row i of the block
  /// on.
  template <class D, class Vec> HWY_INLINE Vec keep(D d, index k, index i, Vec sum, Vec old) const {
    const hn::RebindToUnsigned<D> du;
    using word = hn::TFromD<decltype(du)>;
    const auto bits = hn::Set(du, static_cast<word>(mask[k] >> (first + i)));
    const auto own = hn::Shl(hn::Set(du, word{1}), hn::Iota(du, word{0}));
    return hn::IfThenElse(hn::RebindMask(d, hn::TestBit(bits, own)), sum, old);
  }
};

/// Sums of Rows rows whose columns are row + diagonal[k]; x points to that of the first row. vector_at(d, k,
/// i) gives the values of diagonal k from row i on.
template <int Rows, class V, class Vectors, class Masks>
HWY_INLINE void sum_block(const index* diagonal, index width, const V* x, V* sums, Vectors vector_at,
                          Masks masks) {
  const hn::CappedTag<V, Rows> d;
#if HWY_HAVE_SCALABLE  // vectors of unknown length cannot be in an array
  for (index i = 0; i < Rows; i += static_cast<index>(hn::Lanes(d))) {
    auto sum = hn::Zero(d);
    for (index k = 0; k < width; ++k)
      sum = masks.keep(d, k, i, hn::MulAdd(vector_at(d, k, i), hn::LoadU(d, x + i + diagonal[k]), sum), sum);
    hn::StoreU(sum, d, sums + i);
  }
#else
  constexpr auto lanes = static_cast<index>(hn::MaxLanes(d)), vectors = Rows / lanes;
  hn::Vec<decltype(d)> sum[vectors];
  for (index v = 0; v < vectors; ++v) sum[v] = hn::Zero(d);
  for (index k = 0; k < width; ++k)
    for (index v = 0; v < vectors; ++v)
      sum[v] = masks.keep(
          d, k, v * lanes,
          hn::MulAdd(vector_at(d, k, v * lanes), hn::LoadU(d, x + diagonal[k] + v * lanes), sum[v]), sum[v]);
  for (index v = 0; v < vectors; ++v) hn::StoreU(sum[v], d, sums + v * lanes);
#endif
}

/// Calls block(rows, i) for the blocks of a run's rows: of 16, and at its end of 8, 4, 2 and 1.
template <class Block> HWY_INLINE void for_each_block(index rows, Block block) {
  constexpr index high = packed_run::block_rows;
  static_assert(high == 16);
  index i = 0;
  for (; i + high <= rows; i += high) block(std::integral_constant<int, high>(), i);
  const auto last = [&](auto size) HWY_ATTR {
    if ((rows & size) == 0) return;
    block(size, i);
    i += size;
  };
  last(std::integral_constant<int, 8>());
  last(std::integral_constant<int, 4>());
  last(std::integral_constant<int, 2>());
  last(std::integral_constant<int, 1>());
}

/// A run; the block that starts at row i has its values at val + i * width, column by column. masks_at(i):
/// its masks.
template <class V, class S, class MasksAt>
void sum_run_of_values(const index* diagonal, index width, index rows, const S* val, const V* x, V* sums,
                       MasksAt masks_at) {
  for_each_block(rows, [&](auto size, index i) HWY_ATTR {
    const S* of_block = val + offset{i} * width;
    sum_block<size>(
        diagonal, width, x + i, sums + i,
        [&](auto d, index k, index j) HWY_ATTR { return load_as(d, of_block + offset{k} * size + j); },
        masks_at(i));
  });
}

template <class V, class A, class MasksAt>
void sum_run_of_constants(const index* diagonal, index width, index rows, const A* constant, const V* x,
                          V* sums, MasksAt masks_at) {
  for_each_block(rows, [&](auto size, index i) HWY_ATTR {
    sum_block<size>(
        diagonal, width, x + i, sums + i,
        [&](auto d, index k, index) HWY_ATTR { return hn::Set(d, static_cast<V>(constant[k])); },
        masks_at(i));
  });
}

template <class A, class V, class MasksAt>
void sum_run(const packed_view<A>& a, const packed_run& run, const V* x, V* sums, MasksAt masks_at) {
  const index* diagonal = a.diagonal + run.diagonal;
  if (run.values == packed_values::one)
    sum_run_of_constants(diagonal, run.width, run.rows, a.constant + run.value, x, sums, masks_at);
  else if (run.values == packed_values::single)
    sum_run_of_values(diagonal, run.width, run.rows, a.single_value + run.value, x, sums, masks_at);
  else
    sum_run_of_values(diagonal, run.width, run.rows, a.full_value + run.value, x, sums, masks_at);
}

/// Eight partial sums, so that additions do not wait.
template <class V, class Column, class Values>
HWY_INLINE V sum_of_row(const Column* col, Values val, offset entries, const V* x) {
  V sum = 0;
  offset k = 0;
  if (entries >= rows_at_once) {
    eight_sums<V> sums;
    for (; k + rows_at_once <= entries; k += rows_at_once)
      sums.add(val + k, eight_columns<Column>(col + k), x);
    sum = sums.total();
  }
  for (; k < entries; ++k) sum += static_cast<V>(val[k]) * x[col[k]];
  return sum;
}

constexpr index group = packed<double>::group_rows;
static_assert(group == rows_at_once);

/// The sums of a group's rows over their first `columns` entries; no row is shorter.
template <class V, class Column, class Values>
HWY_INLINE void sum_group(index columns, const Column* col, Values val, const V* x, V* sums) {
  eight_sums<V> sum;
  for (offset k = 0; k < offset{group} * columns; k += group)
    sum.add(val + k, eight_columns<Column>(col + k), x);
  sum.store(sums);
}

/// The rest of a slice but its quads. `row` and `length` have one element for each of its rows. Returns the
/// columns and values behind it.
template <class V, class Column, class Values>
std::pair<const Column*, Values> sum_rest(const std::uint16_t* row, const index* length, offset rows,
                                          const Column* col, Values val, const V* x, V* sums) {
  offset r = 0;
  for (; r + group <= rows; r += group) {
    V sum[group];
    const index together = length[r + group - 1];
    sum_group(together, col, val, x, sum);
    col += offset{group} * together;
    val = val + offset{group} * together;
    if (length[r] == together) {  // true for most groups: rows are sorted by length
      // Rows of equal length are in order, so that these follow each other.
      if (row[r + group - 1] - row[r] == group - 1)
        std::memcpy(sums + row[r], sum, sizeof sum);
      else
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
  return {col, val};
}

/// Four sums of a row, in vectors of the compiler: there can be arrays of them for every target.
template <class V> struct quad_sums {
  static constexpr int entries = packed<V>::quad_entries;
  template <class T> struct vector_of { using type [[gnu::vector_size(entries * sizeof(T))]] = T; };
  template <class T> using vec = typename vector_of<T>::type;
  vec<V> sums = {};

  /// Adds the products of four values and of four elements of x.
  template <class A> HWY_INLINE void add(const A* val, const V* x) {
    vec<A> values;
    std::memcpy(&values, val, sizeof values);
    vec<V> elements;
    std::memcpy(&elements, x, sizeof elements);
    sums += __builtin_convertvector(values, vec<V>) * elements;
  }
  template <class A> HWY_INLINE void add(constant_values<A> values, const V* x) {
    vec<V> elements;
    std::memcpy(&elements, x, sizeof elements);
    sums += static_cast<V>(values.value) * elements;
  }
  HWY_INLINE V total() const { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }
};

/// The sum over some quads of one row.
template <class V, class Column, class Values>
HWY_INLINE V sum_of_quads(const Column* col, Values val, offset quads, const V* x) {
  constexpr int at_once = 4;  // so that additions do not wait
  quad_sums<V> sum[at_once];
  offset k = 0;
  for (; k + at_once <= quads; k += at_once)
    for (int e = 0; e < at_once; ++e) sum[e].add(val + (k + e) * sum[e].entries, x + col[k + e]);
  for (; k < quads; ++k) sum[0].add(val + k * sum[0].entries, x + col[k]);
  return (sum[0].total() + sum[1].total()) + (sum[2].total() + sum[3].total());
}

/// Adds the quads of a slice. `row` and `length` have one element for each row that has any.
template <class V, class Column, class Values>
void add_quads(const std::uint16_t* row, const index* length, offset rows, const Column* col, Values val,
               const V* x, V* sums) {
  constexpr int entries = quad_sums<V>::entries;
  const auto add_row = [&](offset r, index quads) HWY_ATTR {
    sums[row[r]] += sum_of_quads(col, val, quads, x);
    col += quads;
    val = val + offset{entries} * quads;
  };
  offset r = 0;
  for (; r + group <= rows; r += group) {
    quad_sums<V> sum[group];
    const index together = length[r + group - 1];
    for (index k = 0; k < together; ++k) {
      const eight_columns<Column> columns(col);
      for (int e = 0; e < group; ++e) sum[e].add(val + e * entries, x + columns[e]);
      col += group;
      val = val + group * entries;
    }
    for (int e = 0; e < group; ++e) sums[row[r + e]] += sum[e].total();
    if (length[r] == together) continue;
    for (int e = 0; e < group; ++e)
      if (length[r + e] > together) add_row(r + e, length[r + e] - together);
  }
  for (; r < rows; ++r) add_row(r, length[r]);
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
    V* to = sums + (run.first_row - s.first_row);
    if (run.mask == run.none)
      sum_run(a, run, x + run.first_row, to, [](index) { return no_masks(); });
    else
      sum_run(a, run, x + run.first_row, to, [&](index i) {
        return block_masks{a.mask + run.mask_of(i), i % run.block_rows};
      });
  }
  if (next.rest > s.rest)
    with_rest(a, s, [&](const auto* col, auto val) HWY_ATTR {
      const V* const from = x + s.first_column;
      const auto behind =
          sum_rest(a.rest_row + s.rest, a.rest_length + s.rest, next.rest - s.rest, col, val, from, sums);
      if (next.quads > s.quads)
        add_quads(a.quad_row + s.quads, a.quad_length + s.quads, next.quads - s.quads, behind.first,
                  behind.second, from, sums);
    });
}

/// Entries outside quads come first.
template <class A, class V>
V find_sum(const packed_view<A>& a, index slice, offset begin, offset end, const V* x) {
  const packed_slice& s = a.slices[slice];
  constexpr int entries = quad_sums<V>::entries;
  const offset singles = a.rest_length[s.rest];
  // The quads that start in [begin, end).
  const auto quad_at = [&](offset k) { return k <= singles ? 0 : (k - singles + entries - 1) / entries; };
  const offset first_quad = quad_at(begin), last_quad = quad_at(end);
  return with_rest(a, s, [&](const auto* col, auto val) HWY_ATTR {
    const offset first = std::min(begin, singles), last = std::min(end, singles);
    const V* const from = x + s.first_column;
    return sum_of_row(col + first, val + first, last - first, from) +
           sum_of_quads(col + singles + first_quad, val + (singles + first_quad * entries),
                        last_quad - first_quad, from);
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
