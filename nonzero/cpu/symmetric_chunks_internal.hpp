#pragma once

#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz::cpu {

/// How the block rows of a symmetric matrix are cut, of which the lower triangle is multiplied: what a
/// chunk finds for rows above its own, its spill, it keeps in slots of its own. The cut depends on the
/// matrix alone, never on how many threads there are.
struct symmetric_chunks {
  std::vector<index> first{0};        // count()+1 long; the block rows [first[s], first[s+1]) are chunk s
  std::vector<index> lowest;          // count() long; the lowest block row that it has something for
  std::vector<offset> slot_begin{0};  // count()+1 long; where its slots begin, for the block rows from
                                      // lowest[s] to first[s+1]; never less than lowest[s]

  index count() const { return static_cast<index>(lowest.size()); }
  /// Block rows above their chunks that there are slots for.
  offset spilt() const { return slot_begin.back() - first.back(); }
};

/// As many chunks as keep the spills small against the triangle. Takes time for the rows, not for the
/// entries. Throws `unsupported` where there would be too few for several threads.
template <class V>
symmetric_chunks cut_into_symmetric_chunks(csr_view<V> a, index block_size, int slot_bytes);

}  // namespace nz::cpu
