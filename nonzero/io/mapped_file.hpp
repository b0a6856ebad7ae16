#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace nz {

/// A memory-mapped file. A pipe or a device is not mapped: see is_mapped. An empty file is mapped as empty
/// text. If another program truncates the file while it is mapped, this process gets SIGBUS. Throws
/// `parse_error` if the path cannot be opened or is a folder.
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
