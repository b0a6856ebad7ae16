#pragma once

#include <span>
#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz {

/// Throws `shape_error` or `unsupported`, saying where, unless A can be solved for b by conjugate gradients:
/// square, finite, symmetric but for rounding, with a positive diagonal.
template <class V> void require_solvable(csr_view<V> a, std::span<const V> b);

/// The diagonal of a square matrix; what is repeated adds up.
template <class V> std::vector<V> diagonal_of(csr_view<V> a);

}  // namespace nz
