#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include <nonzero/core/memory.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/plan/features.hpp>

namespace nz {
namespace {

/// The middle of the lengths, or the mean of the two middle ones. Reorders them.
double find_median(std::vector<offset>& lengths) {
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  const auto upper = static_cast<double>(*middle);
  if (lengths.size() % 2 == 1) return upper;
  return (static_cast<double>(*std::max_element(lengths.begin(), middle)) + upper) / 2;
}

template <class V> row_length_features find_row_lengths(csr_view<V> a) {
  row_length_features out;
  if (a.rows == 0) return out;
  std::vector<offset> lengths(a.rows);
  out.mean = static_cast<double>(a.nnz()) / a.rows;
  double squares = 0;
  for (index i = 0; i < a.rows; ++i) {
    lengths[i] = a.row_length(i);
    const auto bucket = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(lengths[i])));
    if (out.histogram.size() <= bucket) out.histogram.resize(bucket + 1);
    ++out.histogram[bucket];
    const double off = static_cast<double>(lengths[i]) - out.mean;
    squares += off * off;
  }
  out.deviation = std::sqrt(squares / a.rows);
  const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
  out.shortest = *shortest;
  out.longest = *longest;
  out.empty = out.histogram[0];
  out.median = find_median(lengths);
  return out;
}

/// Bandwidth, diagonal, zeros, NaN and infinities, in one pass over the entries.
template <class V> void look_at_entries(csr_view<V> a, matrix_features& out) {
  for (index i = 0; i < a.rows; ++i) {
    bool on_diagonal = false;
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
      const index below = i - a.col[k];
      out.lower_bandwidth = std::max(out.lower_bandwidth, below);
      out.upper_bandwidth = std::max(out.upper_bandwidth, -below);
      on_diagonal |= below == 0;
      out.explicit_zeros += a.val[k] == V{0};
      out.nans += std::isnan(a.val[k]);
      out.infinities += std::isinf(a.val[k]);
    }
    out.diagonal_entries += on_diagonal;
  }
}

template <class V> bool rows_are_sorted(csr_view<V> a) {
  for (index i = 0; i < a.rows; ++i)
    if (!std::is_sorted(a.col.begin() + a.row_begin[i], a.col.begin() + a.row_begin[i + 1])) return false;
  return true;
}

template <class V> bool are_same(V a, V b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// `a` and its transpose `t`, both with sorted rows.
template <class V> void compare(csr_view<V> a, csr_view<V> t, matrix_features& out) {
  out.has_symmetric_pattern =
      std::ranges::equal(a.row_begin, t.row_begin) && std::ranges::equal(a.col, t.col);
  if (!out.has_symmetric_pattern) return;
  out.is_symmetric = out.is_skew_symmetric = true;
  for (std::size_t k = 0; k < a.val.size() && (out.is_symmetric || out.is_skew_symmetric); ++k) {
    out.is_symmetric = out.is_symmetric && are_same(a.val[k], t.val[k]);
    out.is_skew_symmetric = out.is_skew_symmetric && are_same(a.val[k], -t.val[k]);
  }
}

template <class V>
void look_for_symmetry(csr_view<V> a, const std::vector<offset>& col_lengths, matrix_features& out) {
  if (a.rows != a.cols) return;
  for (index i = 0; i < a.rows; ++i)
    if (a.row_length(i) != col_lengths[i]) return;
  require_memory("out of memory: the transposed matrix, by which symmetry is found, takes",
                 (static_cast<std::uint64_t>(a.rows) + 1) * sizeof(offset) +
                     static_cast<std::uint64_t>(a.nnz()) * (sizeof(index) + sizeof(V)));
  const csr<V> t = transpose(trusted(a));
  if (rows_are_sorted(a))
    compare<V>(a, t, out);
  else
    compare<V>(transpose(trusted(t)), t, out);
}

}  // namespace

template <class V> matrix_features find_features(csr_view<V> a) {
  matrix_features out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.entries = a.nnz();
  out.row_length = find_row_lengths(a);
  look_at_entries(a, out);
  std::vector<offset> col_lengths(a.cols);
  for (const index j : a.col) ++col_lengths[j];
  out.empty_cols = static_cast<index>(std::count(col_lengths.begin(), col_lengths.end(), 0));
  look_for_symmetry(a, col_lengths, out);
  return out;
}

#define NONZERO_INSTANTIATE(V) template matrix_features find_features(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
