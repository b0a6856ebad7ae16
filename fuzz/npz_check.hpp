#pragma once

// Any bytes given as an .npz must give an nz::error, or a matrix that is valid, the same for any number of
// threads, and bit-identical after writing and reading it back.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <optional>
#include <string>

#include <fuzz/checks.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/npz.hpp>

// The library's arrays are allocated here. A few bytes may declare a matrix of millions of empty rows: an
// array past this limit fails. Each target is a single source, which may define these operators.
void* operator new(std::size_t size, std::align_val_t alignment) {
  constexpr std::size_t limit = std::size_t{16} << 20;
  const auto align = static_cast<std::size_t>(alignment);
  void* memory = size > limit ? nullptr : std::aligned_alloc(align, (size + align - 1) / align * align);
  if (!memory && size > 0) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace fuzz {

/// A file in memory, by a path that opens it anew.
class memory_file {
 public:
  memory_file() : descriptor_(memfd_create("npz", MFD_CLOEXEC)) { require(descriptor_ >= 0); }
  ~memory_file() { close(descriptor_); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  void fill(const void* bytes, std::size_t size) const {
    require(write(descriptor_, bytes, size) == static_cast<ssize_t>(size));
  }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

template <class V> std::optional<csr<V>> read(const memory_file& file, int threads) try {
  return nz::read_npz<V>(file.path(), {.threads = threads});
} catch (const nz::error&) {
  return {};
} catch (const std::bad_alloc&) {
  return {};
}

template <class V> void require_identical(const csr<V>& a, const csr<V>& b) {
  require(a.rows == b.rows && a.cols == b.cols && a.row_begin == b.row_begin && a.col == b.col &&
          have_same_bits(a.val, b.val));
}

template <class V> void check_npz(const memory_file& file, bool compress) {
  const auto a = read<V>(file, 1);
  const auto b = read<V>(file, 2);
  require(a.has_value() == b.has_value());
  if (!a) return;
  nz::validate(*a);
  require_identical(*a, *b);

  const memory_file copy;
  nz::write_npz(copy.path(), *a, {.compress = compress});
  const auto c = read<V>(copy, 1);
  require(c.has_value());
  require_identical(*a, *c);
}

inline void check_npz(const void* bytes, std::size_t size) {
  const memory_file file;
  file.fill(bytes, size);
  check_npz<double>(file, size % 2 == 0);
  check_npz<float>(file, size % 2 == 1);
}

}  // namespace fuzz
