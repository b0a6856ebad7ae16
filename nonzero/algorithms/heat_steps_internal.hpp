#pragma once

#include <memory>
#include <span>
#include <string>

#include <nonzero/algorithms/heat.hpp>

namespace nz {

/// The temperatures of a grid, on a device, and a way to make steps of them.
template <class V> class heat_steps {
 public:
  virtual ~heat_steps() = default;
  heat_steps(const heat_steps&) = delete;
  heat_steps& operator=(const heat_steps&) = delete;

  /// Makes so many steps, at least one.
  virtual void advance(std::int64_t steps) = 0;
  /// ||A q|| in the last step. Waits for it: it is all that crosses to the host.
  virtual double norm() = 0;
  /// What go_back() goes back to.
  virtual void remember() = 0;
  virtual void go_back() = 0;
  virtual const vector<V>& q() const = 0;

  std::string kernel;
  int steps_per_pass = 1;
  std::int64_t block = 1;  // steps between two looks at the norm

 protected:
  heat_steps() = default;
};

/// By the method, the kernel and the steps per pass that the options name, on a device. factor: c dt / dx^2.
template <class V>
std::unique_ptr<heat_steps<V>> make_heat_steps(const cell_grid& grid, std::span<const V> initial,
                                               double factor, const heat_options& options,
                                               const std::shared_ptr<device>& on);

}  // namespace nz
