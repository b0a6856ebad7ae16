#pragma once

#include <span>
#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz {

/// Entries in any order, as a reader or generator makes them. `val` empty stands for a value of 1 in each.
template <class V> struct entry_list {
  array<index> row, col;  // equally long; within the matrix they are for
  array<V> val;           // as long, or empty
};

/// A CSR matrix out of lists of entries: rows sorted by column, duplicates summed in the order of the lists.
/// The lists are emptied on the way, so that the peak is about one copy of them plus the matrix.
/// The same result for any number of threads. `duplicates` receives the number of entries that were added to
/// others.
template <class V>
csr<V> assemble(index rows, index cols, std::vector<entry_list<V>> lists, int threads = 0,
                offset* duplicates = nullptr);

}  // namespace nz
