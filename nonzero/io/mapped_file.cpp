#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/mapped_file.hpp>

namespace nz {

mapped_file::mapped_file(const std::filesystem::path& path) {
  const auto fail = [&](int error) {
    throw parse_error(fmt::format("{}: {}", path.string(), std::generic_category().message(error)));
  };
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) fail(errno);
  if (S_ISDIR(facts.st_mode)) fail(EISDIR);
  if (!S_ISREG(facts.st_mode)) return;  // opening a pipe would disturb its reader
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(errno);
  size_ = static_cast<std::size_t>(facts.st_size);
  is_mapped_ = true;
  if (size_ > 0) {
    void* const memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) {
      is_mapped_ = false;
      size_ = 0;
    } else {
      memory_ = memory;
      ::madvise(memory_, size_, MADV_SEQUENTIAL);
    }
  }
  ::close(descriptor);
}

mapped_file::~mapped_file() {
  if (memory_) ::munmap(memory_, size_);
}

}  // namespace nz
