#pragma once

#include <string_view>
#include <vector>

namespace nz {

/// The instruction sets that the CPU kernels were compiled for and that this processor supports, best first:
/// "AVX3" (AVX-512), "AVX2", "SSE4", "SVE", "NEON", and "EMU128" or "SCALAR", which are plain C++.
std::vector<std::string_view> simd_targets();

}  // namespace nz
