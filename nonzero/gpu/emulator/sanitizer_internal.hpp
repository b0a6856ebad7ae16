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

// Tells AddressSanitizer when the stack changes, and where arrays end; does nothing without it.
namespace nz::emulator::sanitizer {

#ifdef NONZERO_ADDRESS_SANITIZER
inline constexpr bool is_on = true;

/// Call before changing to another stack. `kept`: where to keep this stack's state, or null if it ends.
inline void leave_for(void** kept, const void* bottom, std::size_t bytes) {
  __sanitizer_start_switch_fiber(kept, bottom, bytes);
}
/// Call on the stack after the change, either new (`kept` null) or used before. Gives the stack before it.
inline void arrive(void* kept, const void** from_bottom, std::size_t* from_bytes) {
  __sanitizer_finish_switch_fiber(kept, from_bottom, from_bytes);
}
/// Forgets the red zones of frames that a fiber never returned from.
inline void forget_frames(void* bottom, std::size_t bytes) { __asan_unpoison_memory_region(bottom, bytes); }
/// Reports who touches memory between arrays, until it is freed.
inline void forbid(void* memory, std::size_t bytes) { __asan_poison_memory_region(memory, bytes); }
inline void allow(void* memory, std::size_t bytes) { __asan_unpoison_memory_region(memory, bytes); }
#else
inline constexpr bool is_on = false;

inline void leave_for(void**, const void*, std::size_t) {}
inline void arrive(void*, const void**, std::size_t*) {}
inline void forget_frames(void*, std::size_t) {}
inline void forbid(void*, std::size_t) {}
inline void allow(void*, std::size_t) {}
#endif

}  // namespace nz::emulator::sanitizer
