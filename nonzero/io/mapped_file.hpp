#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace nz {

/// A file seen as memory. What cannot be mapped (a pipe, a device) is not, and is_mapped says so; an empty
/// file is, as an empty text. Another program that cuts the file short while it is mapped ends this one with
/// SIGBUS, as it does to all that maps files. Throws `parse_error` for what cannot be opened, and for a
/// folder.
class mapped_file {
 public:
  explicit mapped_file(const std::filesystem::path& path);
  ~mapped_file();
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  bool is_mapped() const { return is_mapped_; }
  std::string_view text() const { return {static_cast<const char*>(memory_), size_}; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
  bool is_mapped_ = false;
};

}  // namespace nz
