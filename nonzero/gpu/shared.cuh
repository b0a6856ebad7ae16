#pragma once

namespace nz::gpu {

#ifdef __CUDACC__
/// What a kernel keeps in `__shared__` memory: on the card just a T. In the emulator a cell that knows when
/// it was written, so that reading it too soon is an error (gpu/emulator/language_internal.hpp).
template <class T> using shared = T;
#endif

}  // namespace nz::gpu
