#include <algorithm>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/io/generate_internal.hpp>

// Matrices of grids and bands.
namespace nz::generate {
namespace {

// Nodes numbered with x fastest. Grids of fewer dimensions are one node thick in the others.
struct grid {
  index nx, ny, nz;
  index nodes;
};

struct node {
  index x, y, z;
};

grid make_grid(std::string_view name, index nx, index ny = 1, index nz = 1, index rows_per_node = 1) {
  constexpr index most = std::numeric_limits<index>::max();
  if (nx < 0 || ny < 0 || nz < 0)
    throw shape_error(fmt::format("{}: a size of {} x {} x {} is negative", name, nx, ny, nz));
  if (nx == 0 || ny == 0 || nz == 0) return {0, 0, 0, 0};
  const offset plane = offset{nx} * ny;
  if (plane > most || plane * nz > most / rows_per_node)
    throw shape_error(fmt::format("{}: {} x {} x {} nodes make more rows than the {} an index holds", name,
                                  nx, ny, nz, most));
  return {nx, ny, nz, static_cast<index>(plane * nz)};
}

node node_at(const grid& g, index number) {
  const index line = number / g.nx;
  return {number % g.nx, line % g.ny, line / g.ny};
}

// How many of at-1, at, at+1 lie on a side of n nodes.
index reached(index at, index n) { return 1 + (at > 0) + (at + 1 < n); }

// The sum of reached() over a side: 3n - 2, of no nodes 0.
offset all_reached(index n) { return n == 0 ? 0 : 3 * offset{n} - 2; }

index neighbours(const grid& g, index number) {
  const node p = node_at(g, number);
  return reached(p.x, g.nx) * reached(p.y, g.ny) * reached(p.z, g.nz);
}

// The nodes at most one step away in each direction, the node itself among them, in rising order.
template <class Visit> void for_each_neighbour(const grid& g, index number, const Visit& visit) {
  const node p = node_at(g, number);
  const index x_first = std::max(p.x - 1, 0), x_last = std::min(p.x + 1, g.nx - 1);
  for (index z = std::max(p.z - 1, 0); z <= std::min(p.z + 1, g.nz - 1); ++z)
    for (index y = std::max(p.y - 1, 0); y <= std::min(p.y + 1, g.ny - 1); ++y)
      for (index x = x_first; x <= x_last; ++x) visit((z * g.ny + y) * g.nx + x);
}

// The sum of neighbours() over all nodes. A grid has fewer than 2^31 nodes: no overflow.
offset all_neighbours(const grid& g) { return all_reached(g.nx) * all_reached(g.ny) * all_reached(g.nz); }

// Makes a square matrix: visit(i, put) calls put(j, v) for each of the length_of(i) entries of row i.
template <class V, class Length, class Visit>
csr<V> put_rows(index rows, offset entries, const Length& length_of, const Visit& visit) {
  return fill_rows<V>(rows, rows, entries, length_of, [&](index i, offset, index* col, V* val) {
    visit(i, [&](index j, V v) {
      *col++ = j;
      *val++ = v;
    });
  });
}

// `centre` on the diagonal, `arm` at the next nodes along each axis: 3, 5 or 7 points.
template <class V> csr<V> cross_stencil(const grid& g, V centre, V arm) {
  const index line = g.nx, plane = g.nx * g.ny;
  const auto length_of = [&](index i) {
    const node p = node_at(g, i);
    return reached(p.x, g.nx) + reached(p.y, g.ny) + reached(p.z, g.nz) - 2;
  };
  const auto along = [&](index n) { return n == 0 ? 0 : 2 * offset{g.nodes} / n * (n - 1); };  // pairs
  const offset entries = g.nodes + along(g.nx) + along(g.ny) + along(g.nz);
  return put_rows<V>(g.nodes, entries, length_of, [&](index i, const auto& put) {
    const node p = node_at(g, i);
    if (p.z > 0) put(i - plane, arm);
    if (p.y > 0) put(i - line, arm);
    if (p.x > 0) put(i - 1, arm);
    put(i, centre);
    if (p.x + 1 < g.nx) put(i + 1, arm);
    if (p.y + 1 < g.ny) put(i + line, arm);
    if (p.z + 1 < g.nz) put(i + plane, arm);
  });
}

}  // namespace

template <class V> csr<V> diagonal(index n) {
  make_grid("diagonal", n);
  const auto one = [](index) { return 1; };
  return put_rows<V>(n, n, one, [](index i, const auto& put) { put(i, static_cast<V>(offset{i} + 1)); });
}

template <class V> csr<V> banded(index n, index reach, std::uint64_t seed) {
  make_grid("banded", n);
  if (reach < 0) throw shape_error(fmt::format("banded: a reach of {} is negative", reach));
  const index r = std::min(reach, std::max(n - 1, 0));
  const auto first_col = [=](index i) { return std::max(i - r, 0); };
  const auto length_of = [=](index i) { return (i < n - r ? i + r : n - 1) - first_col(i) + 1; };
  const std::uint64_t values = hash(seed, 0);
  const offset entries = offset{n} * (2 * offset{r} + 1) - offset{r} * (offset{r} + 1);
  return fill_rows<V>(n, n, entries, length_of, [&](index i, offset first, index* col, V* val) {
    const index length = length_of(i), from = first_col(i);
    for (index k = 0; k < length; ++k) {
      col[k] = from + k;
      val[k] = between_minus_one_and_one<V>(hash(values, first + k));
    }
  });
}

template <class V> csr<V> tridiagonal(index n) {
  return cross_stencil<V>(make_grid("tridiagonal", n), 2, -1);
}

template <class V> csr<V> heat(index n) { return cross_stencil<V>(make_grid("heat", n), -2, 1); }

template <class V> csr<V> poisson_1d(index n) { return cross_stencil<V>(make_grid("poisson_1d", n), 2, -1); }

template <class V> csr<V> poisson_2d(index nx, index ny) {
  return cross_stencil<V>(make_grid("poisson_2d", nx, ny), 4, -1);
}

template <class V> csr<V> poisson_3d(index nx, index ny, index nz) {
  return cross_stencil<V>(make_grid("poisson_3d", nx, ny, nz), 6, -1);
}

template <class V> csr<V> poisson_27(index nx, index ny, index nz) {
  const grid g = make_grid("poisson_27", nx, ny, nz);
  const auto length_of = [&](index i) { return neighbours(g, i); };
  return put_rows<V>(g.nodes, all_neighbours(g), length_of, [&](index i, const auto& put) {
    for_each_neighbour(g, i, [&](index j) { put(j, j == i ? V{26} : V{-1}); });
  });
}

template <class V> csr<V> fem_blocks(index nx, index ny, index nz, std::uint64_t seed) {
  const grid g = make_grid("fem_blocks", nx, ny, nz, 3);
  const std::uint64_t values = hash(seed, 0);
  // Equal for (i, j) and (j, i). Odd multiples of 2^-10 below 1 in size: the 80 of a row stay below 80
  // together, so 128 dominates, and their sum is exact in any order, in float too.
  const auto coupling = [=](index i, index j) {
    const auto [low, high] = std::minmax(i, j);
    const std::uint64_t bits = hash(values, (std::uint64_t(low) << 32) + std::uint64_t(high));
    return static_cast<V>(static_cast<int>(bits >> 53 | 1) - 1024) * V{0x1p-10};
  };
  const auto length_of = [&](index i) { return 3 * neighbours(g, i / 3); };
  return put_rows<V>(3 * g.nodes, 9 * all_neighbours(g), length_of, [&](index i, const auto& put) {
    for_each_neighbour(g, i / 3, [&](index neighbour) {
      for (index j = 3 * neighbour; j < 3 * neighbour + 3; ++j) put(j, j == i ? V{128} : coupling(i, j));
    });
  });
}

#define NONZERO_INSTANTIATE(V)                         \
  template csr<V> diagonal(index);                     \
  template csr<V> banded(index, index, std::uint64_t); \
  template csr<V> tridiagonal(index);                  \
  template csr<V> heat(index);                         \
  template csr<V> poisson_1d(index);                   \
  template csr<V> poisson_2d(index, index);            \
  template csr<V> poisson_3d(index, index, index);     \
  template csr<V> poisson_27(index, index, index);     \
  template csr<V> fem_blocks(index, index, index, std::uint64_t);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::generate
