#pragma once

#include <nonzero/cpu/chunked_matrix.hpp>
#include <nonzero/formats/binned.hpp>

namespace nz::cpu {

/// The rows that were split into segments: `binned` stores them apart.
inline std::vector<index> long_rows_of(const chunking& cut) {
  std::vector<index> out;
  for (const chunking::segment& segment : cut.segments)
    if (out.empty() || out.back() != segment.row) out.push_back(segment.row);
  return out;
}

/// Segments of `from`, changed to point into the rows that are stored apart.
template <class A> chunking with_segments_apart(chunking cut, const binned<A>& a, csr_view<A> from) {
  auto segment = cut.segments.begin();
  for (std::size_t i = 0; i < a.long_row.size(); ++i) {
    const offset before = a.long_rows.row_begin[i] - from.row_begin[a.long_row[i]];
    for (; segment != cut.segments.end() && segment->row == a.long_row[i]; ++segment) {
      segment->begin += before;
      segment->end += before;
    }
  }
  return cut;
}

}  // namespace nz::cpu
