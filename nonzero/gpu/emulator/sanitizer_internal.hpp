#pragma once

#include <cstddef>

#ifdef __has_feature
#  if __has_feature(address_sanitizer)
#    define NONZERO_ADDRESS_SANITIZER
#  endif
#endif
#ifdef __SANITIZE_ADDRESS__
#  define NONZERO_ADDRESS_SANITIZER
#endif

#ifdef NONZERO_ADDRESS_SANITIZER
#  include <sanitizer/asan_interface.h>
#  include <sanitizer/common_interface_defs.h>
#endif

// What AddressSanitizer must be told of stacks that change under it; nothing without it.
namespace nz::emulator::sanitizer {

#ifdef NONZERO_ADDRESS_SANITIZER
inline constexpr bool is_on = true;

/// About to go on with another stack. `kept`: where to keep this stack's state, or null if it ends.
inline void leave_for(void** kept, const void* bottom, std::size_t bytes) {
  __sanitizer_start_switch_fiber(kept, bottom, bytes);
}
/// Now on a stack, either new (`kept` null) or left before; says which stack it was come from.
inline void arrive(void* kept, const void** from_bottom, std::size_t* from_bytes) {
  __sanitizer_finish_switch_fiber(kept, from_bottom, from_bytes);
}
/// Forgets the red zones of frames that a fiber never returned from.
inline void forget_frames(void* bottom, std::size_t bytes) { __asan_unpoison_memory_region(bottom, bytes); }
#else
inline constexpr bool is_on = false;

inline void leave_for(void**, const void*, std::size_t) {}
inline void arrive(void*, const void**, std::size_t*) {}
inline void forget_frames(void*, std::size_t) {}
#endif

}  // namespace nz::emulator::sanitizer
