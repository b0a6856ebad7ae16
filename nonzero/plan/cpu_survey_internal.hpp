#pragma once

#include <nonzero/formats/csr.hpp>

// What a plan finds out about a matrix before it looks at any kernel, within a few milliseconds.
namespace nz {

/// Whether it is so little that kernels start no team of threads for it.
template <class V> bool is_for_one_thread(csr_view<V> a);

/// As longest_row, by all threads.
template <class V> offset find_longest_row(csr_view<V> a);

/// Windows of consecutive rows from all over the matrix, one below the other, together about `entries` long;
/// all of it where that is not much more. Most windows start and end at multiples of a power of two, up to
/// 1024, so that what a kernel does with so many rows at a time is not disturbed where they meet. A row is
/// cut where it is longer than a window should be.
template <class V> csr<V> sample_windows(csr_view<V> a, offset entries);

/// The bytes per second at which all threads together read the matrix: out of memory, or out of the caches
/// where they hold it.
template <class V> double read_speed(csr_view<V> a);

}  // namespace nz
