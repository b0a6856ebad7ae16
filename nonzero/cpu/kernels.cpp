#include <nonzero/cpu/kernels.hpp>
#include <nonzero/cpu/kernels_internal.hpp>

namespace nz {
namespace {

/// Refuses another device before anything is converted.
template <auto Prepare, class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_here(const csr<A>& a, const prepare_options& options) {
  device_for(device_kind::cpu, options, cpu_device);
  return Prepare.template operator()<A, V>(a, options);
}

/// A kernel in single, double and mixed precision.
template <auto Prepare>
constexpr kernel_row row(std::string_view name, std::string_view format, std::string_view summary) {
  return {name,
          format,
          device_kind::cpu,
          true,
          false,
          summary,
          prepare_here<Prepare, float, float>,
          prepare_here<Prepare, double, double>,
          prepare_here<Prepare, float, double>};
}

constexpr kernel_row without_gathers(kernel_row of) {
  of.is_gather_free = true;
  return of;
}

constexpr kernel_row one_triangle(kernel_row of, std::string_view both_triangles) {
  of.both_triangles = both_triangles;
  return of;
}

/// Plans think of it.
constexpr kernel_row candidate(kernel_row of) {
  of.is_candidate = true;
  return of;
}

constexpr auto csr_balanced = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_csr_balanced<A, V>(a, options);
};
constexpr auto packed_slices = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_packed_slices<A, V>(a, options);
};
constexpr auto binned_one_pass = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_binned_one_pass<A, V>(a, options);
};
constexpr auto binned_two_pass = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_binned_two_pass<A, V>(a, options);
};
constexpr auto coo_runs = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_coo_runs<A, V>(a, options);
};
constexpr auto ell_blocks = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_ell_blocks<A, V>(a, options);
};
constexpr auto hyb_blocks = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_hyb_blocks<A, V>(a, options);
};
constexpr auto jds_balanced = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_jds_balanced<A, V>(a, options);
};
constexpr auto sell_slices = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_sell_slices<A, V>(a, options);
};
constexpr auto tjds_blocks = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_tjds_blocks<A, V>(a, options);
};
constexpr auto bsr_rows = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_bsr_rows<A, V>(a, options);
};
constexpr auto sbsr_chunks = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_sbsr_chunks<A, V>(a, options);
};

// Plans look at them in this order: those that win most often come first.
constexpr kernel_row table[] = {
    candidate(row<csr_balanced>("csr_balanced", "csr",
                                "equal shares of entries; short rows by loops for their length")),
    candidate(row<packed_slices>("packed_slices", "packed",
                                 "runs by vectors of rows, the rest by groups of eight rows")),
    candidate(
        row<bsr_rows>("bsr_rows", "bsr", "equal shares of entries; a block's column of values at a time")),
    candidate(one_triangle(
        row<sbsr_chunks>("sbsr_chunks", "sbsr", "each block of a triangle for its rows and columns at once"),
        "bsr_rows")),
    candidate(without_gathers(row<binned_one_pass>(
        "binned_one_pass", "binned", "bin of rows by bin of rows, and in each block of columns by block"))),
    candidate(without_gathers(row<binned_two_pass>(
        "binned_two_pass", "binned", "products by blocks of columns, then sums by bins of rows"))),
    candidate(row<sell_slices>("sell_slices", "sell",
                               "a slice of eight rows at a time; rows sorted within a chunk")),
    row<ell_blocks>("ell_blocks", "ell", "eight rows at a time, column by column"),
    row<jds_balanced>("jds_balanced", "jds", "csr_balanced over the rows sorted by length"),
    row<tjds_blocks>("tjds_blocks", "tjds", "eight sorted rows at a time, diagonal by diagonal"),
    row<coo_runs>("coo_runs", "coo", "each run of a row's entries summed at once"),
    row<hyb_blocks>("hyb_blocks", "hyb", "ell_blocks, then coo_runs, chunk by chunk"),
};

}  // namespace

std::span<const kernel_row> cpu_kernels() { return table; }

}  // namespace nz
