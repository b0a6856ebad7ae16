#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include <nonzero/gpu/steps/line_steps.cuh>
#include <nonzero/gpu/steps/plane_steps.cuh>
#include <nonzero/kernel/grid_steps.hpp>

// grid_steps by the kernels of line_steps.cuh and plane_steps.cuh, for one Queue. Which cells a block has
// depends on the grid and the device, not on the steps of a pass, so that norms have the same bits for any
// number of steps.
namespace nz::gpu {

template <class Queue, class V> class line_steps_on final : public grid_steps<V> {
 public:
  line_steps_on(const cell_grid& grid, V factor, const std::shared_ptr<device>& on)
      : grid_steps<V>(grid, factor, on),
        blocks_(blocks_of(grid)),
        sums_(layout_, blocks_),
        scratch_(on, layout_) {}
  int steps_in_pass(std::int64_t wanted) const override {
    return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, line_cells));
  }

 private:
  static std::int64_t blocks_of(const cell_grid& grid) {
    const std::int64_t warps = (std::int64_t{grid.side} + line_owned - 1) / line_owned;
    return blocks_for(warps * 32);
  }
  void run_pass(int steps, const V* from, V* to, double* norm, stream in) override {
    Queue queue(*this->where(), in);
    const auto set = scratch_.lend(in);
    queue.launch("line_steps", blocks_, threads_per_block, line_steps_kernel<V>, this->grid().side,
                 this->grid().edge == grid_edge::mirror, this->factor(), steps, from, to,
                 norm == nullptr ? nullptr : sums_.data(set.data()));
    if (norm != nullptr) sums_.add_up(queue, 1, norm, set.data());
  }

  std::int64_t blocks_;
  scratch_layout layout_;
  step_scratch sums_;
  typename Queue::scratch_pool scratch_;
};

template <class Queue, int Dim, class V> class plane_steps_on final : public grid_steps<V> {
  using tile = plane_tile<Dim>;

 public:
  plane_steps_on(const cell_grid& grid, V factor, const std::shared_ptr<device>& on)
      : grid_steps<V>(grid, factor, on),
        tiles_across_(tiles_of(grid.side, tile::width)),
        tiles_(std::int64_t{tiles_across_} * (Dim == 2 ? 1 : tiles_of(grid.side, tile::height))),
        chunk_(chunk_for(grid.side, tiles_, Queue(*on, {}).multiprocessors())),
        blocks_(tiles_ * ((grid.side + chunk_ - 1) / chunk_)),
        sums_(layout_, blocks_),
        scratch_(on, layout_) {}
  /// Powers of two: each is a kernel of its own.
  int steps_in_pass(std::int64_t wanted) const override {
    int steps = 1;
    while (2 * steps <= tile::halo && 2 * steps <= wanted) steps *= 2;
    return steps;
  }

 private:
  static int tiles_of(index side, int length) {
    const int owned = length - 2 * tile::halo;
    return (side + owned - 1) / owned;
  }
  /// Planes for a block: many, since the first few are computed for their neighbours only; but few enough
  /// that every multiprocessor has blocks.
  static index chunk_for(index side, std::int64_t tiles, int multiprocessors) {
    constexpr index most = 256, fewest = 16;
    index chunk = most;
    while (chunk > fewest && tiles * ((side + chunk - 1) / chunk) < std::int64_t{4} * multiprocessors)
      chunk /= 2;
    return chunk;
  }

  void run_pass(int steps, const V* from, V* to, double* norm, stream in) override {
    const plane_work<V> work{this->grid().side,
                             this->grid().edge == grid_edge::mirror,
                             this->factor(),
                             tiles_across_,
                             static_cast<int>(tiles_),
                             chunk_,
                             from,
                             to};
    Queue queue(*this->where(), in);
    const auto set = scratch_.lend(in);
    double* const sums = norm == nullptr ? nullptr : sums_.data(set.data());
    with_one_of<1, 2, 4, 8>(steps, [&](auto now) {
      if constexpr (now.value <= tile::halo)
        queue.launch("plane_steps", blocks_, plane_threads<Dim>, plane_steps_kernel<Dim, now.value, V>, work,
                     sums);
    });
    if (norm != nullptr) sums_.add_up(queue, 1, norm, set.data());
  }

  int tiles_across_;
  std::int64_t tiles_;
  index chunk_;
  std::int64_t blocks_;
  scratch_layout layout_;
  step_scratch sums_;
  typename Queue::scratch_pool scratch_;
};

template <class Queue, class V>
std::unique_ptr<grid_steps<V>> make_grid_steps(const cell_grid& grid, V factor,
                                               const std::shared_ptr<device>& on) {
  require_grid(grid);
  if (grid.dim == 1) return std::make_unique<line_steps_on<Queue, V>>(grid, factor, on);
  if (grid.dim == 2) return std::make_unique<plane_steps_on<Queue, 2, V>>(grid, factor, on);
  return std::make_unique<plane_steps_on<Queue, 3, V>>(grid, factor, on);
}

}  // namespace nz::gpu
