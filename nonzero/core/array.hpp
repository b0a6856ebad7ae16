#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace nz {

/// Memory for matrix data: aligned for vector loads; for large blocks, aligned to and advised for huge pages.
/// `release` takes the size that was allocated. Throws std::bad_alloc.
void* allocate_aligned(std::size_t bytes);
void release_aligned(void* memory, std::size_t bytes) noexcept;

/// Elements start uninitialised, so that the threads that fill an array are the first to touch its pages
/// (NUMA). A zero-filled std::vector would be written twice, first by one thread.
template <class T> struct uninitialized_allocator {
  using value_type = T;
  uninitialized_allocator() = default;
  template <class U> uninitialized_allocator(const uninitialized_allocator<U>&) noexcept {}

  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_aligned(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) noexcept { release_aligned(p, n * sizeof(T)); }

  template <class U> void construct(U* p) noexcept { ::new (static_cast<void*>(p)) U; }
  template <class U, class... Args> void construct(U* p, Args&&... args) {
    ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
  }
  friend bool operator==(uninitialized_allocator, uninitialized_allocator) { return true; }
};

/// The arrays a matrix is made of. `array<T> a(n)` is NOT zero-filled; `array<T> a(n, 0)` is.
template <class T> using array = std::vector<T, uninitialized_allocator<T>>;

}  // namespace nz
