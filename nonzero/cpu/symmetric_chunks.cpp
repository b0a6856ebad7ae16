#include <algorithm>

#include <fmt/format.h>

#include <nonzero/cpu/share.hpp>
#include <nonzero/cpu/symmetric_chunks_internal.hpp>

namespace nz::cpu {
namespace {

/// The number of chunks, unless the matrix is small.
constexpr index least_chunks = 16, most_chunks = 64;
/// The most bytes of spills, relative to the values of the triangle.
constexpr double most_spilt = 0.08;

/// most_chunks chunks of about the same number of entries.
template <class V> symmetric_chunks cut_finely(csr_view<V> a, index block_size) {
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
  run_in_team(most_chunks, [&](offset chunk) {
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

}  // namespace

template <class V>
symmetric_chunks cut_into_symmetric_chunks(csr_view<V> a, index block_size, int slot_bytes) {
  const symmetric_chunks fine = cut_finely(a, block_size);
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

#define NONZERO_INSTANTIATE(V) template symmetric_chunks cut_into_symmetric_chunks(csr_view<V>, index, int);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::cpu
