#pragma once

#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz::cpu {

/// Chunks of block rows of a symmetric matrix, of which the lower triangle is stored. The sums that a chunk
/// computes for rows above its own, its spill, are in slots of its own. Depends on the matrix alone, not on
/// the number of threads.
struct symmetric_chunks {
  std::vector<index> first{0};        // count()+1 long; the block rows [first[s], first[s+1]) are chunk s
  std::vector<index> lowest;          // count() long; the lowest block row for which it has sums
  std::vector<offset> slot_begin{0};  // count()+1 long; its first slot, for the block rows from lowest[s] to
                                      // first[s+1]; >= lowest[s]

  index count() const { return static_cast<index>(lowest.size()); }
  /// The number of block rows in all spills.
  offset spilt() const { return slot_begin.back() - first.back(); }
};

/// As many chunks as keep the spills small. Takes time for the rows, not for the entries. Throws
/// `unsupported` if there would be too few for several threads.
template <class V>
symmetric_chunks cut_into_symmetric_chunks(csr_view<V> a, index block_size, int slot_bytes);

}  // namespace nz::cpu
