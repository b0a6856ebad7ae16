#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <nonzero/algorithms/cg_input_internal.hpp>
#include <nonzero/core/counted.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/core/values.hpp>

namespace nz {
namespace {

constexpr std::int64_t rows_per_task = 16 * 1024;

/// The first entry for which is_bad(row, entry).
template <class V, class IsBad> std::optional<offset> find_entry(csr_view<V> a, const IsBad& is_bad) {
  std::atomic<offset> first = a.nnz();
  parallel_ranges(a.rows, rows_per_task, 0, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = static_cast<index>(begin); row < end; ++row)
      for (offset k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k)
        if (is_bad(row, k)) {
          for (offset seen = first; k < seen && !first.compare_exchange_weak(seen, k);) {
          }
          return;
        }
  });
  return first == a.nnz() ? std::nullopt : std::optional(first.load());
}

template <class V> index row_of(csr_view<V> a, offset entry) {
  return static_cast<index>(std::upper_bound(a.row_begin.begin(), a.row_begin.end(), entry) -
                            a.row_begin.begin() - 1);
}

/// The value of A at (row, column), where rows are sorted.
template <class V> double value_at(csr_view<V> a, index row, index column) {
  const auto begin = a.col.begin() + a.row_begin[row], end = a.col.begin() + a.row_begin[row + 1];
  const auto at = std::lower_bound(begin, end, column);
  return at == end || *at != column
             ? 0.0
             : static_cast<double>(a.val[static_cast<std::size_t>(at - a.col.begin())]);
}

/// Rows in order, and no column twice.
template <class V> bool is_sorted(csr_view<V> a) {
  return !find_entry(a,
                     [&](index row, offset k) { return k > a.row_begin[row] && a.col[k - 1] >= a.col[k]; });
}

template <class V> csr<V> sorted(csr_view<V> a) {
  const csr<V> in_order = transpose(trusted(transpose(a)));
  csr<V> out{a.rows, a.cols, array<offset>(in_order.row_begin.size(), 0), {}, {}};
  for (index row = 0; row < a.rows; ++row) {
    for (offset k = in_order.row_begin[row]; k < in_order.row_begin[row + 1]; ++k) {
      if (static_cast<offset>(out.col.size()) > out.row_begin[row] && out.col.back() == in_order.col[k]) {
        out.val.back() += in_order.val[k];
        continue;
      }
      out.col.push_back(in_order.col[k]);
      out.val.push_back(in_order.val[k]);
    }
    out.row_begin[row + 1] = static_cast<offset>(out.col.size());
  }
  return out;
}

/// a(i, j) and a(j, i) may differ by rounding: by a small fraction of their size, or by what is negligible
/// compared with the diagonal.
template <class V> void require_symmetric(csr_view<V> a, const std::vector<V>& diagonal) {
  constexpr double eps = std::numeric_limits<V>::epsilon();
  const double of_pair = std::sqrt(eps), of_diagonal = 64 * eps;
  const auto entry = find_entry(a, [&](index row, offset k) {
    const index column = a.col[k];
    if (column == row) return false;
    const auto value = static_cast<double>(a.val[k]);
    const double mirrored = value_at(a, column, row), apart = std::abs(value - mirrored);
    const double scale = std::sqrt(std::abs(static_cast<double>(diagonal[static_cast<std::size_t>(row)]))) *
                         std::sqrt(std::abs(static_cast<double>(diagonal[static_cast<std::size_t>(column)])));
    return apart > of_pair * std::max(std::abs(value), std::abs(mirrored)) && apart > of_diagonal * scale;
  });
  if (!entry) return;
  const index row = row_of(a, *entry), column = a.col[*entry];
  throw unsupported(
      fmt::format("the matrix is not symmetric: row {}, column {} is {:g}, and row {}, column {} is {:g} "
                  "(counted from 1)",
                  row + 1, column + 1, a.val[*entry], column + 1, row + 1, value_at(a, column, row)));
}

template <class V> void require_finite(csr_view<V> a, std::span<const V> b) {
  if (const auto entry = find_entry(a, [&](index, offset k) { return !std::isfinite(a.val[k]); }))
    throw unsupported(fmt::format("row {}, column {} of the matrix is {} (counted from 1)",
                                  row_of(a, *entry) + 1, a.col[*entry] + 1, a.val[*entry]));
  const auto bad = std::find_if(b.begin(), b.end(), [](V value) { return !std::isfinite(value); });
  if (bad != b.end())
    throw unsupported(fmt::format("entry {} of b is {} (counted from 1)", bad - b.begin() + 1, *bad));
}

}  // namespace

template <class V> std::vector<V> diagonal_of(csr_view<V> a) {
  std::vector<V> out(static_cast<std::size_t>(a.rows), 0);
  parallel_ranges(a.rows, rows_per_task, 0, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = static_cast<index>(begin); row < end; ++row)
      for (offset k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k)
        if (a.col[k] == row) out[static_cast<std::size_t>(row)] += a.val[k];
  });
  return out;
}

template <class V> void require_solvable(csr_view<V> a, std::span<const V> b) {
  if (a.rows != a.cols)
    throw shape_error(
        fmt::format("only a square matrix can be solved for, and this is {} x {}", a.rows, a.cols));
  if (b.size() != static_cast<std::size_t>(a.rows))
    throw shape_error(
        fmt::format("b must have {} to fit the matrix, and has {}", counted(a.rows, "entry"), b.size()));
  require_finite(a, b);
  const std::vector<V> diagonal = diagonal_of(a);
  if (is_sorted(a))
    require_symmetric(a, diagonal);
  else
    require_symmetric<V>(sorted(a), diagonal);
  const auto bad = std::find_if(diagonal.begin(), diagonal.end(), [](V value) { return !(value > 0); });
  if (bad != diagonal.end())
    throw unsupported(
        fmt::format("the matrix is not positive definite: entry {} of its diagonal is {:g} (counted from 1)",
                    bad - diagonal.begin() + 1, *bad));
}

#define NONZERO_INSTANTIATE(V)                                     \
  template void require_solvable(csr_view<V>, std::span<const V>); \
  template std::vector<V> diagonal_of(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
