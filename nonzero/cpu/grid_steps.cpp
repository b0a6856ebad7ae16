// Steps on a grid, tile by tile: a thread copies a tile and a halo around it into its cache, makes all steps
// of the pass there, each on a halo that is one cell narrower, and writes the tile.
// Good: grids larger than the last-level cache, where a single step is limited by memory.
// Bad: cubes, whose halos are large: they make only two steps in a pass.
// Traffic: 16 bytes per cell and pass in double, plus the halos: almost nothing on a line, a tenth in a
// square, a third in a cube.
// Source: overlapped tiling (Krishnamoorthy et al. 2007).
#include <nonzero/cpu/targets_internal.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nonzero/cpu/grid_steps.cpp"
#include <algorithm>
#include <array>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <nonzero/core/array.hpp>
#include <nonzero/cpu/back_end_internal.hpp>
#include <nonzero/cpu/chunk_ranges_internal.hpp>

#ifndef NONZERO_CPU_GRID_STEPS  // this file is included by itself, once for each target
#  define NONZERO_CPU_GRID_STEPS
namespace nz::cpu {

/// A row of cells, and the distances of its neighbours' rows; 0 for missing dimensions.
template <class V> struct row_of_cells {
  const V* from;
  V* to;
  V* change;  // (A q); null if not needed
  index count;
  offset to_y, to_z;
};

template <class V> struct grid_functions {
  void (*step_row[3])(const row_of_cells<V>& row, V factor);  // for each dimension
  double (*sum_squares)(const V* values, index count);
};

}  // namespace nz::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace nz::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// As many cells from i on as D has lanes. Rounding does not depend on the number of lanes.
template <int Dim, bool HasChange, class D, class V>
HWY_INLINE void step_cells(D d, row_of_cells<V> row, index i, hn::Vec<D> factor) {
  const V* at = row.from + i;
  const auto here = hn::LoadU(d, at);
  auto sum = hn::Add(hn::LoadU(d, at - 1), hn::LoadU(d, at + 1));
  if constexpr (Dim > 1)
    sum = hn::Add(sum, hn::Add(hn::LoadU(d, at - row.to_y), hn::LoadU(d, at + row.to_y)));
  if constexpr (Dim > 2)
    sum = hn::Add(sum, hn::Add(hn::LoadU(d, at - row.to_z), hn::LoadU(d, at + row.to_z)));
  const auto change = hn::MulAdd(hn::Set(d, static_cast<V>(-2 * Dim)), here, sum);
  hn::StoreU(hn::MulAdd(factor, change, here), d, row.to + i);
  if constexpr (HasChange) hn::StoreU(change, d, row.change + i);
}

template <int Dim, bool HasChange, class V> HWY_INLINE void step_cells_of(row_of_cells<V> row, V factor) {
  const hn::ScalableTag<V> many;
  const hn::CappedTag<V, 1> one;
  const auto lanes = static_cast<index>(hn::Lanes(many));
  const auto factors = hn::Set(many, factor);
  index i = 0;
  for (; i + 2 * lanes <= row.count; i += 2 * lanes) {
    step_cells<Dim, HasChange>(many, row, i, factors);
    step_cells<Dim, HasChange>(many, row, i + lanes, factors);
  }
  for (; i < row.count; ++i) step_cells<Dim, HasChange>(one, row, i, hn::Set(one, factor));
}

template <int Dim, class V> void step_row(const row_of_cells<V>& row, V factor) {
  if (row.change == nullptr)
    step_cells_of<Dim, false>(row, factor);
  else
    step_cells_of<Dim, true>(row, factor);
}

/// Eight sums, which the compiler puts into vectors, added in a fixed order.
template <class V> double sum_squares(const V* values, index count) {
  constexpr int sums = 8;
  double sum[sums] = {};
  index i = 0;
  for (; i + sums <= count; i += sums)
    for (int s = 0; s < sums; ++s) {
      const auto value = static_cast<double>(values[i + s]);
      sum[s] += value * value;
    }
  for (int s = 0; i < count; ++i, ++s)
    sum[s] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  double total = 0;
  for (const double lane_sum : sum) total += lane_sum;
  return total;
}

template <class V>
constexpr grid_functions<V> functions{{step_row<1, V>, step_row<2, V>, step_row<3, V>}, sum_squares<V>};
#define NONZERO_ADD(V) compiled_functions<grid_functions<V>>::add(HWY_TARGET, functions<V>),
NONZERO_MADE_FIRST const added_list are_added{NONZERO_FOR_EACH_VALUE(NONZERO_ADD)};
#undef NONZERO_ADD

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nz::cpu {
namespace {

/// How a grid is divided into tiles, so that two copies of a tile and its halo fit into a core's cache.
struct tiling {
  std::array<index, 3> length;  // of a tile in x, y and z
  int most_steps;
};
constexpr tiling tilings[] = {{{2048, 1, 1}, 32}, {{256, 64, 1}, 8}, {{128, 16, 16}, 2}};

/// Cells from begin to end in x, y and z.
struct cell_box {
  std::array<index, 3> begin, end;

  /// With a halo of so many cells, inside the grid.
  cell_box grown(index halo, int dim, index side) const {
    cell_box out = *this;
    for (int d = 0; d < dim; ++d) {
      out.begin[d] = std::max(begin[d] - halo, 0);
      out.end[d] = std::min<std::int64_t>(std::int64_t{end[d]} + halo, side);
    }
    return out;
  }
};

/// Two copies of a tile with its halo and one cell more on each side; which cell is where.
template <class V> class tile_copies {
 public:
  /// For a tile; `most` is the tile with its halo.
  void place(const cell_box& most, int dim) {
    for (int d = 0; d < 3; ++d) {
      const index around = d < dim ? 1 : 0;
      origin_[d] = most.begin[d] - around;
      length_[d] = most.end[d] - most.begin[d] + 2 * around;
    }
    const std::size_t cells = static_cast<std::size_t>(length_[0]) * length_[1] * length_[2];
    for (array<V>& copy : copies_)
      if (copy.size() < cells) copy.resize(cells);
    change_.resize(static_cast<std::size_t>(length_[0]));
  }
  offset to_y() const { return length_[0]; }
  offset to_z() const { return offset{length_[0]} * length_[1]; }
  V* at(int copy, index x, index y, index z) {
    return copies_[copy].data() + (z - origin_[2]) * to_z() + (y - origin_[1]) * to_y() + (x - origin_[0]);
  }
  V* change() { return change_.data(); }

 private:
  std::array<index, 3> origin_{}, length_{};
  std::array<array<V>, 2> copies_;
  array<V> change_;
};

template <class V> class tiled_steps final : public grid_steps<V> {
 public:
  tiled_steps(const cell_grid& grid, V factor, const std::shared_ptr<device>& on)
      : grid_steps<V>(grid, factor, on),
        functions_(compiled_functions<grid_functions<V>>::find({})),
        tiling_(tilings[grid.dim - 1]) {
    for (int d = 0; d < 3; ++d) {
      extent_[d] = d < grid.dim ? grid.side : 1;
      tiles_[d] = (std::int64_t{extent_[d]} + tiling_.length[d] - 1) / tiling_.length[d];
    }
    norms_.resize(static_cast<std::size_t>(tiles_[0] * tiles_[1] * tiles_[2]));
  }
  int steps_in_pass(std::int64_t wanted) const override {
    return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, tiling_.most_steps));
  }

 private:
  void run_pass(int steps, const V* from, V* to, double* norm, stream) override {
    copies_.resize(std::max(copies_.size(), static_cast<std::size_t>(thread_count())));
    in_team(norms_.size() > 1 ? 0 : 1, [&](const team_thread& me) {
      const chunk_range mine = me.equal_range(static_cast<offset>(norms_.size()));
      tile_copies<V>& near = copies_[static_cast<std::size_t>(me.number)];
      for (offset tile = mine.begin; tile < mine.end; ++tile)
        norms_[tile] = run_tile(tile, steps, from, to, norm != nullptr, near);
    });
    if (norm == nullptr) return;
    *norm = 0;
    for (const double of_tile : norms_) *norm += of_tile;
  }

  /// The sum of the squares of (A q) in the last step, if needed.
  double run_tile(offset number, int steps, const V* from, V* to, bool with_norm, tile_copies<V>& near) {
    const int dim = this->grid().dim;
    const index side = this->grid().side;
    cell_box tile;
    for (int d = 0; d < 3; ++d, number /= tiles_[d - 1]) {
      tile.begin[d] = static_cast<index>(number % tiles_[d] * tiling_.length[d]);
      tile.end[d] = static_cast<index>(
          std::min<std::int64_t>(std::int64_t{tile.begin[d]} + tiling_.length[d], extent_[d]));
    }
    const cell_box most = tile.grown(steps, dim, side);
    near.place(most, dim);
    for_each_row(most, [&](index y, index z, index x, index count) {
      std::copy_n(from + number_of(x, y, z), count, near.at(0, x, y, z));
    });
    double sum = 0;
    for (int s = 1; s <= steps; ++s) {
      fill_outside(near, (s - 1) % 2, tile.grown(steps - s + 1, dim, side));
      sum = step_box(near, s % 2, tile.grown(steps - s, dim, side), with_norm && s == steps);
    }
    for_each_row(tile, [&](index y, index z, index x, index count) {
      std::copy_n(near.at(steps % 2, x, y, z), count, to + number_of(x, y, z));
    });
    return sum;
  }

  /// One step of the cells in a box, into the copy `into`.
  double step_box(tile_copies<V>& near, int into, const cell_box& box, bool with_norm) const {
    double sum = 0;
    for_each_row(box, [&](index y, index z, index x, index count) {
      V* const change = with_norm ? near.change() : nullptr;
      functions_.step_row[this->grid().dim - 1](
          {near.at(1 - into, x, y, z), near.at(into, x, y, z), change, count, near.to_y(), near.to_z()},
          this->factor());
      if (with_norm) sum += functions_.sum_squares(change, count);
    });
    return sum;
  }

  /// Writes the cells outside of the grid that touch a box of a copy: 0, or the value at the edge.
  void fill_outside(tile_copies<V>& near, int copy, const cell_box& box) const {
    const bool mirrors = this->grid().edge == grid_edge::mirror;
    const index last = this->grid().side - 1;
    const int dim = this->grid().dim;
    for_each_row(box, [&](index y, index z, index x, index count) {
      const auto fill = [&](bool is_at_edge, V* outside, const V* inside, index cells) {
        for (index i = 0; is_at_edge && i < cells; ++i) outside[i] = mirrors ? inside[i] : V{0};
      };
      V* const row = near.at(copy, x, y, z);
      fill(x == 0, row - 1, row, 1);
      fill(x + count - 1 == last, row + count, row + count - 1, 1);
      fill(dim > 1 && y == 0, row - near.to_y(), row, count);
      fill(dim > 1 && y == last, row + near.to_y(), row, count);
      fill(dim > 2 && z == 0, row - near.to_z(), row, count);
      fill(dim > 2 && z == last, row + near.to_z(), row, count);
    });
  }

  template <class Body> static void for_each_row(const cell_box& box, const Body& body) {
    for (index z = box.begin[2]; z < box.end[2]; ++z)
      for (index y = box.begin[1]; y < box.end[1]; ++y) body(y, z, box.begin[0], box.end[0] - box.begin[0]);
  }
  offset number_of(index x, index y, index z) const {
    const offset side = this->grid().side;
    return (z * side + y) * side + x;
  }

  grid_functions<V> functions_;
  tiling tiling_;
  std::array<index, 3> extent_{};
  std::array<std::int64_t, 3> tiles_{};
  array<double> norms_;                 // of each tile, added up in order
  std::vector<tile_copies<V>> copies_;  // of each thread
};

}  // namespace

template <class V>
std::unique_ptr<grid_steps<V>> make_grid_steps(const cell_grid& grid, V factor,
                                               const std::shared_ptr<device>& on) {
  require_grid(grid);
  return std::make_unique<tiled_steps<V>>(grid, factor, on);
}

#  define NONZERO_INSTANTIATE(V)                                                 \
    template std::unique_ptr<grid_steps<V>> make_grid_steps(const cell_grid&, V, \
                                                            const std::shared_ptr<device>&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#  undef NONZERO_INSTANTIATE

}  // namespace nz::cpu
#endif
