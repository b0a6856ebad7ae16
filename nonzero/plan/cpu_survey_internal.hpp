#pragma once

#include <nonzero/formats/csr.hpp>

// What the planner measures of a matrix in the host's memory before any kernel, in a few milliseconds.
namespace nz {

/// As longest_row, by all threads.
template <class V> offset find_longest_row(csr_view<V> a);

/// Windows of consecutive rows from all over the matrix, one below the other, with about `entries` entries in
/// all; the whole matrix where that is not much more. Most windows begin and end at multiples of a power of
/// two, up to 1024, so that slices of rows stay whole. Rows longer than a window are truncated.
template <class V> csr<V> sample_windows(csr_view<V> a, offset entries);

/// The bytes per second at which all threads together read the matrix: out of memory, or out of the caches
/// where they hold it.
template <class V> double read_speed(csr_view<V> a);

}  // namespace nz
