#include <new>

#ifdef __linux__
#  include <sys/mman.h>
#endif

#include <nonzero/core/array.hpp>

namespace nz {
namespace {

constexpr std::size_t vector_alignment = 64;             // a cache line; the widest SIMD register
constexpr std::size_t huge_page = std::size_t{2} << 20;  // the usual size on x86-64 and 4K-page ARM
constexpr std::size_t huge_from = std::size_t{4} << 20;  // below this a huge page mostly wastes memory

std::align_val_t alignment_for(std::size_t bytes) {
  return std::align_val_t{bytes >= huge_from ? huge_page : vector_alignment};
}

}  // namespace

void* allocate_aligned(std::size_t bytes) {
  void* memory = ::operator new(bytes, alignment_for(bytes));
#ifdef __linux__
  if (bytes >= huge_from) madvise(memory, bytes, MADV_HUGEPAGE);  // only advice: a refusal costs nothing
#endif
  return memory;
}

void release_aligned(void* memory, std::size_t bytes) noexcept {
  ::operator delete(memory, alignment_for(bytes));
}

}  // namespace nz
