#pragma once

#include <cmath>
#include <cstdint>

#include <nonzero/core/types.hpp>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/shared.cuh>
#include <nonzero/gpu/threads.cuh>

namespace nz::gpu {

/// A block's tile of a plane (in two dimensions: of a row), a cell per thread. Halo: the cells at its edges,
/// which are wrong after a pass for lack of neighbours; other blocks write them.
template <int Dim> struct plane_tile;
template <> struct plane_tile<2> { static constexpr int width = 256, height = 1, halo = 8; };
template <> struct plane_tile<3> { static constexpr int width = 32, height = 16, halo = 2; };
template <int Dim> constexpr int plane_threads = plane_tile<Dim>::width* plane_tile<Dim>::height;

/// The arguments of a launch.
template <class V> struct plane_work {
  index side;
  bool mirrors;
  V factor;
  int tiles_across, tiles;  // of a plane: in x, and all
  index chunk;              // planes of a block
  const V* from;
  V* to;
};

/// Where a thread's column is.
template <int Dim> struct plane_column {
  index x, y;                     // y is 0 in two dimensions
  bool is_inside, is_owned;       // of the grid; by this block
  int left, right, front, back;   // threads: itself at the tile's edge, in the halo
  std::int64_t in_plane, stride;  // the number of its first cell; from plane to plane

  template <class V> __device__ explicit plane_column(const plane_work<V>& work) {
    using tile = plane_tile<Dim>;
    const int thread = threadIdx.x, tx = thread % tile::width, ty = thread / tile::width;
    const int block = blockIdx.x % work.tiles;
    x = block % work.tiles_across * (tile::width - 2 * tile::halo) - tile::halo + tx;
    y = Dim == 2 ? 0 : block / work.tiles_across * (tile::height - 2 * tile::halo) - tile::halo + ty;
    is_inside = x >= 0 && x < work.side && y >= 0 && y < (Dim == 2 ? 1 : work.side);
    is_owned = is_inside && tx >= tile::halo && tx < tile::width - tile::halo &&
               (Dim == 2 || (ty >= tile::halo && ty < tile::height - tile::halo));
    left = tx > 0 ? thread - 1 : thread;
    right = tx + 1 < tile::width ? thread + 1 : thread;
    front = ty > 0 ? thread - tile::width : thread;
    back = ty + 1 < tile::height ? thread + tile::width : thread;
    in_plane = std::int64_t{y} * work.side + x;
    stride = Dim == 2 ? std::int64_t{work.side} : std::int64_t{work.side} * work.side;
  }
};

/// The sum of a cell's neighbours; `planes` from its level's plane on. Beyond the grid's edge is the boundary
/// value.
template <int Dim, bool AtEdge, class V, class Planes>
__device__ V sum_of_neighbours(Planes& planes, int level, const plane_column<Dim>& at, index plane,
                               const plane_work<V>& work, V here, V below, V above) {
  const V outside = work.mirrors ? here : V{0};
  const auto unless = [&](bool is_at_edge, V neighbour) {
    return AtEdge && is_at_edge ? outside : neighbour;
  };
  const V left = unless(at.x == 0, planes[level + at.left]);
  const V right = unless(at.x == work.side - 1, planes[level + at.right]);
  V sum = (left + right) + (unless(plane == 0, below) + unless(plane == work.side - 1, above));
  if (Dim == 3) {
    const V front = unless(at.y == 0, planes[level + at.front]);
    sum += front + unless(at.y == work.side - 1, planes[level + at.back]);
  }
  return sum;
}

/// Goes through the planes of a block's chunk. Of the state after t steps a thread keeps two planes of its
/// column; a plane of the tile is in shared memory. Each plane that is read moves all Steps states on by one.
template <int Dim, int Steps, bool AtEdge, class V, class Planes>
__device__ double stream_planes(Planes& planes, const plane_work<V>& work, index begin, index end) {
  constexpr int threads = plane_threads<Dim>, buffer = Steps * threads;
  const plane_column<Dim> at(work);
  const auto read = [&](index plane) {
    const bool is_there = at.is_inside && plane >= 0 && plane < work.side;
    return is_there ? work.from[plane * at.stride + at.in_plane] : V{0};
  };
  V below[Steps], here[Steps];
  for (int t = 0; t < Steps; ++t) {
    below[t] = here[t] = 0;
    planes[t * threads + threadIdx.x] = V{0};
  }
  __syncthreads();
  double sum = 0;
  V next = read(begin - Steps);
  int old = 0;  // where the last round's planes are; this round's go to the other half
  for (index i = begin - Steps; i < end + Steps; ++i, old = buffer - old) {
    V newest = next, change = 0;
    next = read(i + 1);  // in flight meanwhile
    for (int t = 0; t < Steps; ++t) {
      const int level = t * threads;
      change =
          sum_of_neighbours<Dim, AtEdge>(planes, old + level, at, i - t - 1, work, here[t], below[t], newest);
      change = std::fma(V{-2 * Dim}, here[t], change);
      const V stepped = std::fma(work.factor, change, here[t]);
      planes[buffer - old + level + threadIdx.x] = newest;
      below[t] = here[t];
      here[t] = newest;
      newest = stepped;
    }
    if (at.is_owned && i - Steps >= begin) {
      work.to[(i - Steps) * at.stride + at.in_plane] = newest;
      sum += static_cast<double>(change) * static_cast<double>(change);
    }
    __syncthreads();
  }
  return sum;
}

// Steps on a square or in a cube: a block goes through a stack of planes, a cell of the tile per thread, and
// advances each by several steps; it writes its tile without the halo.
// Good: grids of a thousand cells a side (a hundred, in a cube), many steps.
// Bad: small grids, few blocks.
// Traffic: 16 bytes per cell and pass in double; for halos a tenth more in a square, half more in a cube; 24
// (40) bytes of shared memory per cell and step.
// Source: Nguyen, Satish, Chhugani, Kim, Dubey 2010 (3.5-D blocking).
template <int Dim, int Steps, class V>
__global__ void __launch_bounds__(plane_threads<Dim>)
    plane_steps_kernel(plane_work<V> work, double* __restrict__ sums) {
  using tile = plane_tile<Dim>;
  __shared__ shared_array<V, 2 * Steps * plane_threads<Dim>> planes;
  const index begin = blockIdx.x / work.tiles * work.chunk;
  const index end = begin + work.chunk < work.side ? begin + work.chunk : work.side;
  const int tile_x = blockIdx.x % work.tiles % work.tiles_across;
  const int tile_y = blockIdx.x % work.tiles / work.tiles_across, tiles_down = work.tiles / work.tiles_across;
  const bool is_at_edge = tile_x == 0 || tile_x + 1 >= work.tiles_across - 1 || begin < tile::halo ||
                          end + tile::halo > work.side ||
                          (Dim == 3 && (tile_y == 0 || tile_y + 1 >= tiles_down - 1));
  const double sum = is_at_edge ? stream_planes<Dim, Steps, true>(planes, work, begin, end)
                                : stream_planes<Dim, Steps, false>(planes, work, begin, end);
  if (sums == nullptr) return;  // all threads of the grid
  const step_sums total = block_sum({sum, 0}, 1);
  if (threadIdx.x == 0) sums[blockIdx.x] = total.first;
}

}  // namespace nz::gpu
