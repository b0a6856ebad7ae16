#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <nonzero/core/vector.hpp>
#include <nonzero/kernel/gradient_kernels.hpp>
#include <nonzero/kernel/prepared_matrix.hpp>

namespace nz {

/// What a solve works on, on the device. Its matrix may be held by another kernel after any iteration.
template <class V> struct cg_system {
  const prepared_matrix<V>* a = nullptr;
  vector<V> x, r, p, q;
  vector<V> inverse_diagonal;  // none: no preconditioner
};

/// What a few iterations have come to: their states in order. Only the first that is not going_on counts,
/// and what comes after it.
class cg_loop {
 public:
  virtual ~cg_loop() = default;
  cg_loop() = default;
  cg_loop(const cg_loop&) = delete;
  cg_loop& operator=(const cg_loop&) = delete;

  /// From x and r = b - A x; how that stands.
  virtual gradient_state begin(double threshold) = 0;
  /// `count` iterations, at most as many as the loop was made for; then the host looks. How each ended.
  virtual std::span<const gradient_state> advance(int count, double threshold) = 0;
  virtual std::string_view vectors() const = 0;
};

/// `most`: of iterations between two looks. The system outlives the loop.
template <class V> std::unique_ptr<cg_loop> make_fused_cg(cg_system<V>& of, int most);
/// One that has converged goes on to the end of its `count`, which changes x for the better if anything.
template <class V> std::unique_ptr<cg_loop> make_blas_cg(cg_system<V>& of, int most);

}  // namespace nz
