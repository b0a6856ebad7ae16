// Panel by panel, in two passes. The first multiplies, one block of columns after the other while the block's
// x is in the cache, and writes each product to its bin of rows. The second adds the products, bin by bin
// while the bin's sums are in the cache. The products of one panel are stored between the passes.
// Good: x gathered from everywhere (graphs, random columns) and larger than the L2 cache.
// Bad: anything else: each product is written and read once more.
// Traffic: 12 bytes per entry in double, x once per panel, the products twice through the last-level cache.
// Source: Beamer, Asanović, Patterson, "Reducing Pagerank communication via propagation blocking" (2017).
#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/binned_two_pass.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <nonzero/core/scratch.hpp>
#include <nonzero/cpu/binned_internal.hpp>
#include <nonzero/cpu/chunk_ranges_internal.hpp>
#include <nonzero/cpu/kernels_internal.hpp>
#include <nonzero/cpu/row_functions_internal.hpp>

#ifndef NONZERO_CPU_BINNED_TWO_PASS  // this file is included by itself, once for each target
#  define NONZERO_CPU_BINNED_TWO_PASS
namespace nz::cpu {

/// S: the type of stored values, V: of x and the sums.
template <class S, class V> struct binned_functions {
  /// product[k] = val[k] * x[col[k]]
  void (*multiply)(const std::uint16_t* col, const S* val, offset entries, const V* x, V* product);
  /// The same where all values are one.
  void (*scale)(const std::uint16_t* col, S val, offset entries, const V* x, V* product);
  /// sums[row[k]] += product[k]
  void (*add)(const std::uint16_t* row, const V* product, offset entries, V* sums);
};

}  // namespace nz::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

template <class S, class V>
void multiply(const std::uint16_t* HWY_RESTRICT col, const S* HWY_RESTRICT val, offset entries,
              const V* HWY_RESTRICT x, V* HWY_RESTRICT product) {
  constexpr int width = 8;
  offset k = 0;
  for (; k + width <= entries; k += width)
    for (int e = 0; e < width; ++e) product[k + e] = static_cast<V>(val[k + e]) * x[col[k + e]];
  for (; k < entries; ++k) product[k] = static_cast<V>(val[k]) * x[col[k]];
}

template <class S, class V>
void scale(const std::uint16_t* HWY_RESTRICT col, S val, offset entries, const V* HWY_RESTRICT x,
           V* HWY_RESTRICT product) {
  constexpr int width = 8;
  const auto factor = static_cast<V>(val);
  offset k = 0;
  for (; k + width <= entries; k += width)
    for (int e = 0; e < width; ++e) product[k + e] = factor * x[col[k + e]];
  for (; k < entries; ++k) product[k] = factor * x[col[k]];
}

template <class V>
void add(const std::uint16_t* HWY_RESTRICT row, const V* HWY_RESTRICT product, offset entries,
         V* HWY_RESTRICT sums) {
  constexpr int width = 8;
  offset k = 0;
  for (; k + width <= entries; k += width)
    for (int e = 0; e < width; ++e) sums[row[k + e]] += product[k + e];
  for (; k < entries; ++k) sums[row[k]] += product[k];
}

NONZERO_ADD_FUNCTIONS(binned_functions, multiply, scale, add);

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nz::cpu {
namespace {

constexpr index most_bin_rows = 4096;            // their sums fit into L1
constexpr offset bin_cost = 16 * most_bin_rows;  // entries and sixteen times the rows of a bin
constexpr index panels = 6;                      // the products of one take little memory
constexpr index least_block_cols = 8192;         // their x fits into L1
constexpr offset cell_entries = 64;              // a block gets more columns if cells would have fewer

/// Panels of about the same cost.
std::vector<index> split_into_panels(const chunking& chunks) {
  std::vector<index> panel_bin{0};
  const double cost = static_cast<double>(chunks.cost_before.back()) / panels;
  for (index p = 1; p <= panels; ++p) {
    const auto bin = std::lower_bound(chunks.cost_before.begin(), chunks.cost_before.end(),
                                      static_cast<offset>(cost * p)) -
                     chunks.cost_before.begin();
    const index end = p == panels ? chunks.count() : static_cast<index>(bin);
    if (end > panel_bin.back()) panel_bin.push_back(end);
  }
  return panel_bin;
}

binned_layout split_into_bins(const chunking& chunks, offset entries, index cols) {
  binned_layout out{least_block_cols,
                    {chunks.first_row.begin(), chunks.first_row.end()},
                    split_into_panels(chunks),
                    long_rows_of(chunks)};
  while (out.block_cols < binned<double>::most_block_cols &&
         cols / out.block_cols * offset{chunks.count()} > entries / cell_entries)
    out.block_cols *= 2;
  return out;
}

template <class A, class V> class binned_two_pass final : public prepared_matrix<V> {
 public:
  binned_two_pass(csr_view<A> a, const chunking& chunks, std::string_view simd)
      : prepared_matrix<V>(a.rows, a.cols, cpu_device()),
        full_(compiled_functions<binned_functions<A, V>>::find(simd)),
        single_(compiled_functions<binned_functions<float, V>>::find(simd)),
        long_rows_(compiled_functions<csr_functions<A, V>>::find(simd)),
        a_(to_binned(a, split_into_bins(chunks, a.nnz(), a.cols), for_each_in_team)),
        chunks_(with_segments_apart(chunks, a_, a)),
        scratch_([products = longest_panel(), segments = chunks_.segments.size()] {
          return scratch_arrays{array<V>(products), array<V>(segments)};
        }) {}
  footprint storage() const override {
    footprint out = footprint_of(a_);
    out.bytes += longest_panel() * sizeof(V);
    return out;
  }
  /// The products are written and read. (x, read once per panel from the last-level cache, is not counted.)
  std::uint64_t traffic() const override {
    return prepared_matrix<V>::traffic() + 2 * static_cast<std::uint64_t>(a_.cell_begin.back()) * sizeof(V);
  }

 private:
  struct scratch_arrays {
    array<V> products, segment_sums;
  };

  std::size_t longest_panel() const {
    offset longest = 0;
    for (index p = 0; p < a_.panels(); ++p) longest = std::max(longest, panel_begin(p + 1) - panel_begin(p));
    return static_cast<std::size_t>(longest);
  }

  offset panel_begin(index panel) const { return a_.cell_begin[offset{a_.panel_bin[panel]} * a_.blocks()]; }

  /// Where the row numbers of a bin begin.
  offset bin_begin(index bin) const {
    if (a_.blocks() == 0) return 0;
    if (bin == a_.bins()) return a_.cell_begin.back();
    const auto panel =
        std::upper_bound(a_.panel_bin.begin(), a_.panel_bin.end(), bin) - a_.panel_bin.begin() - 1;
    return a_.cell_row[a_.cell(static_cast<index>(panel), 0, bin)];
  }

  void run(V alpha, const V* x, V beta, V* y, stream) const override {
    const scale_and_add<V> epilogue{alpha, beta};
    run_bins(x, [&](index, index first, std::span<V> sums) {
      for (const V sum : sums) epilogue(sum, y[first++]);
    });
  }

  step_sums run_fused(const V* x, const chunk_epilogue<V>& epilogue) const override {
    array<step_sums> of_bins(static_cast<std::size_t>(a_.bins()));
    run_bins(x, [&](index bin, index first, std::span<V> sums) { of_bins[bin] = epilogue(first, sums); });
    return add_up(of_bins);
  }

  /// for_bin(bin, first row, sums) in parallel.
  template <class ForBin> void run_bins(const V* x, ForBin for_bin) const {
    const typename scratch<scratch_arrays>::lease use(scratch_);
    const auto all_segments = static_cast<offset>(chunks_.segments.size());
    const bool is_small = chunks_.cost_before.back() + all_segments * segment_length < least_parallel_cost;
    in_team(is_small ? 1 : 0, [&](const team_thread& me) {
      const chunk_range segments = me.equal_range(all_segments);
      for (offset p = segments.begin; p < segments.end; ++p)
        use->segment_sums[p] = long_rows_.sum(a_.long_rows, chunks_.segments[p], x);
      for (index panel = 0; panel < a_.panels(); ++panel) {
        multiply_panel(me, panel, x, use->products.data());
        me.wait_for_others();
        add_panel(me, panel, *use, for_bin);
        me.wait_for_others();
      }
    });
  }

  /// This thread's products.
  void multiply_panel(const team_thread& me, index panel, const V* x, V* products) const {
    const offset first = offset{a_.panel_bin[panel]} * a_.blocks(),
                 bins = a_.panel_bin[panel + 1] - a_.panel_bin[panel];
    const offset count = bins * a_.blocks();
    const chunk_range mine =
        equal_cost_range(me, {a_.cell_begin.data() + first, static_cast<std::size_t>(count) + 1});
    for (offset s = mine.begin; s < mine.end; ++s) {
      const offset from = a_.cell_begin[first + s], entries = a_.cell_begin[first + s + 1] - from;
      if (entries > 0)
        multiply_entries(from, entries, x + s / bins * a_.block_cols,
                         products + (a_.cell_row[first + s] - panel_begin(panel)));
    }
  }

  void multiply_entries(offset from, offset entries, const V* x, V* product) const {
    if (a_.values == packed_values::one)
      full_.scale(a_.col.data() + from, a_.val[0], entries, x, product);
    else if (a_.values == packed_values::single)
      single_.multiply(a_.col.data() + from, a_.single_val.data() + from, entries, x, product);
    else
      full_.multiply(a_.col.data() + from, a_.val.data() + from, entries, x, product);
  }

  /// This thread's bins.
  template <class ForBin>
  void add_panel(const team_thread& me, index panel, const scratch_arrays& use, ForBin& for_bin) const {
    const index first = a_.panel_bin[panel], last = a_.panel_bin[panel + 1];
    const chunk_range mine = equal_cost_range(
        me, {chunks_.cost_before.data() + first, static_cast<std::size_t>(last - first) + 1});
    for (index bin = first + static_cast<index>(mine.begin); bin < first + mine.end; ++bin) {
      alignas(64) V sums[most_bin_rows];
      const index rows = a_.bin_row[bin + 1] - a_.bin_row[bin];
      std::fill_n(sums, rows, V{0});
      const offset begin = bin_begin(bin);
      full_.add(a_.row.data() + begin, use.products.data() + (begin - panel_begin(panel)),
                bin_begin(bin + 1) - begin, sums);
      if (chunks_.is_long_row(bin)) sums[0] = sum_of_segments<V>(chunks_, use.segment_sums, a_.bin_row[bin]);
      for_bin(bin, a_.bin_row[bin], {sums, static_cast<std::size_t>(rows)});
    }
  }

  binned_functions<A, V> full_;
  binned_functions<float, V> single_;
  csr_functions<A, V> long_rows_;
  binned<A> a_;
  chunking chunks_;
  scratch<scratch_arrays> scratch_;
};

}  // namespace

kernel_row binned_two_pass_row() {
  return row_with<[]<class A, class V>(csr_view<A> a, const prepare_options& options) {
    return std::make_unique<binned_two_pass<A, V>>(
        a, split_into_chunks(a.row_begin, {.most_rows = most_bin_rows, .cost = bin_cost, .row_cost = 16}),
        options.simd);
  }>({.name = "binned_two_pass",
      .format = "binned",
      .summary = "products by blocks of columns, then sums by bins of rows",
      .is_candidate = true,
      .is_gather_free = true});
}

}  // namespace nz::cpu
#endif
