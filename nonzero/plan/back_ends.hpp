#pragma once

#include <span>

#include <nonzero/kernel/back_end.hpp>

namespace nz {

/// The back ends of this build: the CPU's, then those of GPUs, then the emulator's. find_kernel prefers them
/// in this order.
std::span<const back_end* const> back_ends();

/// The back end of a kind of device. Throws `unsupported` where the library was built without it.
const back_end& back_end_for(device_kind kind);

/// What a device's back end has for values of type V: kernels for vectors, conjugate gradients and grids.
template <class V> const back_end_functions<V>& functions_on(const device& on) {
  return back_end_for(on.kind()).functions_for<V>();
}

}  // namespace nz
