// The width of vector registers, for kernels that use the compiler's own vectors. Compiled once for each
// instruction set; hence this guard instead of a pragma.
#if defined(NONZERO_CPU_REGISTERS_INTERNAL) == defined(HWY_TARGET_TOGGLE)
#  ifdef NONZERO_CPU_REGISTERS_INTERNAL
#    undef NONZERO_CPU_REGISTERS_INTERNAL
#  else
#    define NONZERO_CPU_REGISTERS_INTERNAL
#  endif

#  include <hwy/highway.h>

namespace nz::cpu::HWY_NAMESPACE {
namespace {

#  if HWY_TARGET == HWY_AVX3
constexpr int register_bytes = 64;
#  elif HWY_TARGET == HWY_AVX2
constexpr int register_bytes = 32;
#  else
constexpr int register_bytes = 16;
#  endif

}  // namespace
}  // namespace nz::cpu::HWY_NAMESPACE

#endif
