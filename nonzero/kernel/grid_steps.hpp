#pragma once

#include <cstdint>
#include <utility>

#include <nonzero/core/types.hpp>
#include <nonzero/core/vector.hpp>

namespace nz {

/// What lies outside of a grid: cells that are always 0, or ones that mirror the cell at the edge.
enum class grid_edge : std::uint8_t { zero, mirror };

/// side^dim cells; the one at (x, y, z) has the number (z * side + y) * side + x.
struct cell_grid {
  int dim = 1;  // 1, 2 or 3
  index side = 0;
  grid_edge edge = grid_edge::zero;

  std::int64_t cells() const {
    std::int64_t out = 1;
    for (int d = 0; d < dim; ++d) out *= side;
    return out;
  }
};

/// Throws `shape_error` unless dim is 1, 2 or 3, there is a cell, and their number fits into 40 bits.
void require_grid(const cell_grid& grid);

/// Steps q += factor * (A q) on a grid, where (A q) of a cell is the sum over its 2*dim neighbours of
/// neighbour minus cell. A is not stored. A pass over memory reads q once, makes several steps while it is in
/// cache or registers, and writes it once. The numbers of steps per pass and of threads change no bit of the
/// result.
template <class V> class grid_steps {
 public:
  virtual ~grid_steps() = default;
  grid_steps(const grid_steps&) = delete;
  grid_steps& operator=(const grid_steps&) = delete;

  /// `to` is `from` after `steps` steps, a number that one pass can have. The square of ||A q|| in the last
  /// step is written to `norm`, unless null. In a stream: on a GPU it returns before the work is done, and
  /// waits for nothing. Throws `shape_error` if a vector does not fit, or if both are the same.
  void run(int steps, const vector<V>& from, vector<V>& to, vector<double>* norm = nullptr, stream in = {});

  /// The most steps, no more than `wanted`, that one pass can have.
  virtual int steps_in_pass(std::int64_t wanted) const = 0;
  const cell_grid& grid() const { return grid_; }
  const std::shared_ptr<device>& where() const { return on_; }

 protected:
  grid_steps(const cell_grid& grid, V factor, std::shared_ptr<device> on);
  V factor() const { return factor_; }

 private:
  /// For vectors that fit, in the device's memory; norm may be null.
  virtual void run_pass(int steps, const V* from, V* to, double* norm, stream in) = 0;

  cell_grid grid_;
  V factor_;
  std::shared_ptr<device> on_;
};

}  // namespace nz
