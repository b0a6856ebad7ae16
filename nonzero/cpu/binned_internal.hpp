#pragma once

#include <algorithm>

#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/formats/binned.hpp>

namespace nz::cpu {

/// The rows that were split into segments: `binned` stores them apart.
inline std::vector<index> long_rows_of(const chunking& chunks) {
  std::vector<index> out;
  for (const chunking::segment& segment : chunks.segments)
    if (out.empty() || out.back() != segment.row) out.push_back(segment.row);
  return out;
}

/// Segments of `from`, moved to the rows that are stored apart.
template <class A> chunking with_segments_apart(chunking chunks, const binned<A>& a, csr_view<A> from) {
  return with_segments_moved(std::move(chunks), [&](index row) {
    const auto at = std::lower_bound(a.long_row.begin(), a.long_row.end(), row) - a.long_row.begin();
    return a.long_rows.row_begin[at] - from.row_begin[row];
  });
}

}  // namespace nz::cpu
