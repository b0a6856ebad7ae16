#pragma once

#include <span>

#include <nonzero/core/fused_step.hpp>
#include <nonzero/core/types.hpp>

namespace nz {

/// A fused step on the host, whose shift is read from memory once: an earlier step may have left it where
/// this one leaves its sums.
template <class V> fused_step<V> with_shift_read(fused_step<V> step);

/// What becomes of the sums of consecutive rows in such a step: writes y and scaled, and returns what the
/// rows add to the step's sums. In loops that compilers make vector instructions of.
template <class V>
step_sums finish_rows(const fused_step<V>& step, index first, std::span<const V> sums, V* y);

}  // namespace nz
