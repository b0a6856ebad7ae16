#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <nonzero/formats/csr.hpp>

// Generated matrices: bit-identical on every platform and for any number of threads. Rows are sorted by
// column, without duplicates. A size of 0 gives a matrix without entries. Throws `shape_error` if a size is
// negative or exceeds what an index holds, `not_enough_memory` (a std::bad_alloc) if the matrix does not fit
// into the memory that is available: before anything is allocated. Random values are uniform in (-1, 1) and
// never 0.
namespace nz::generate {

template <class V> csr<V> diagonal(index n);     // 1, 2, 3, …
template <class V> csr<V> tridiagonal(index n);  // -1 2 -1
/// All |i-j| <= reach, random values; not symmetric.
template <class V> csr<V> banded(index n, index reach, std::uint64_t seed = 1);

// On grids, the node at (x, y, z) is row (z * ny + y) * nx + x. Nodes outside the grid are left out of a
// stencil (their value is 0), the diagonal is the same everywhere.
template <class V> csr<V> poisson_1d(index n);                       // 3 points: -1 2 -1
template <class V> csr<V> poisson_2d(index nx, index ny);            // 5 points: 4 inside
template <class V> csr<V> poisson_3d(index nx, index ny, index nz);  // 7 points: 6 inside
template <class V>
csr<V> poisson_27(index nx, index ny, index nz);  // 27 points: 26 inside, -1 to each neighbour
template <class V> csr<V> heat(index n);          // 1 -2 1, the lecture's stencil
/// Like linear elasticity on a grid of nodes with three unknowns each, rows 3 * node + (0, 1, 2): 3x3 blocks,
/// one for each of a node's (up to) 27 neighbours. Symmetric; 128 on the diagonal, which dominates the random
/// multiples of 2^-10 beside it.
template <class V> csr<V> fem_blocks(index nx, index ny, index nz, std::uint64_t seed = 1);

/// Each row has `per_row` random columns, without duplicates (all columns if there are fewer).
template <class V> csr<V> uniform(index rows, index cols, index per_row, std::uint64_t seed = 1);
/// A power-law graph of 2^scale vertices (scale 0 … 30) by the R-MAT recursion with a, b, c = 0.57, 0.19,
/// 0.19, as Graph500 sets them, to within 2^-16. Each edge is a 1; edges that fall together are summed, so
/// there are somewhat fewer than per_vertex * 2^scale entries. Vertices keep the numbers of the recursion:
/// low numbers have the most edges.
template <class V> csr<V> rmat(int scale, index per_vertex, std::uint64_t seed = 1);
/// `dense` full rows (at most n), evenly spaced from row 0 on, among rows of `per_row` random columns.
template <class V> csr<V> dense_rows(index n, index per_row, index dense, std::uint64_t seed = 1);
/// Only rows 0, every, 2 * every, … have entries: `per_row` random columns.
template <class V> csr<V> empty_rows(index n, index per_row, index every, std::uint64_t seed = 1);
/// Row i has lengths[i] random columns; `shape_error` where that is more than `cols`.
template <class V> csr<V> row_lengths(index cols, std::span<const index> lengths, std::uint64_t seed = 1);

/// A row of the table of generators: what `nz generate` and a matrix argument such as `poisson2d:300` name.
struct kind {
  std::string_view name;        // "rmat"
  std::string_view parameters;  // "SCALE[:PER_VERTEX=16]": what follows the name and a colon
  std::string_view summary;
};
std::span<const kind> kinds();

/// Whether `spec` starts with the name of a kind, alone or followed by ':'.
bool is_spec(std::string_view spec);
/// The matrix that a spec such as `poisson2d:300:200` or `rmat:16:8` names. Throws `unsupported` for an
/// unknown kind (naming those there are), `parse_error` for parameters that are missing, too many or not
/// whole numbers, and what the generator throws. Kinds without random numbers ignore `seed`.
template <class V> csr<V> from_spec(std::string_view spec, std::uint64_t seed = 1);

}  // namespace nz::generate
