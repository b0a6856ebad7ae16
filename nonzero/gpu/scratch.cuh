#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <vector>

// What a multiply writes besides y: counters and partial sums. All of it is one scratch set, so that
// multiplies that run at once have a set each. Every number of a set is 0 when it is made; a multiply leaves
// its counters at 0, and needs nothing else of what is in the set.
//
// A Queue has a scratch_pool of sets, made from (device, layout):
//   lend(stream): a set, for as long as the result lives, with data(). Multiplies of one stream may have the
//     same set where they follow each other there;
//   bytes(): of all its sets.
namespace nz::gpu {

/// An array of every set.
template <class T> struct scratch_array {
  std::size_t at = 0;  // in bytes, from the set's begin

  T* in(std::byte* set) const { return reinterpret_cast<T*>(set + at); }
};

/// As what a GPU allocates is aligned.
constexpr std::size_t aligned_up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// The arrays of a set, one behind the other.
class scratch_layout {
 public:
  struct extent {
    std::size_t at, bytes;
  };

  template <class T> scratch_array<T> add(std::int64_t count) {
    constexpr std::size_t gap = 32;  // shows AddressSanitizer an array's end
    const auto numbers = static_cast<std::size_t>(count);
    if (numbers > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t at = aligned_up(bytes_);
    if (numbers == 0) return {at};
    arrays_.push_back({at, numbers * sizeof(T)});
    bytes_ = at + numbers * sizeof(T) + gap;
    return {at};
  }
  /// Of a set.
  std::size_t bytes() const { return bytes_; }
  std::span<const extent> arrays() const { return arrays_; }

 private:
  std::vector<extent> arrays_;
  std::size_t bytes_ = 0;
};

/// How many sets a pool begins with: two, or up to four where they are small.
inline int sets_to_begin_with(std::size_t bytes) {
  constexpr std::size_t small = 32 << 10;
  return bytes == 0 ? 0 : static_cast<int>(std::clamp<std::size_t>(small / bytes, 2, 4));
}

}  // namespace nz::gpu
