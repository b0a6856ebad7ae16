#pragma once

#include <filesystem>

namespace nz {

/// A file that is whole or not there: written under another name in the same folder, and given its own name
/// by `commit`. Without commit the destructor removes what was written, and an old file of that name stays.
class output_file {
 public:
  /// Throws `nz::error` when the folder cannot be written to. What is no regular file (/dev/stdout, a pipe)
  /// is written to directly.
  explicit output_file(std::filesystem::path path);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  /// Where to write for now.
  const std::filesystem::path& temporary() const { return temporary_; }
  const std::filesystem::path& path() const { return path_; }
  /// The file descriptor of `temporary`, open for writing; closed by commit.
  int descriptor() const { return descriptor_; }
  /// Writes all of `bytes`; throws with the system's reason (disk full, …).
  void write(const void* bytes, std::size_t size);
  /// Flushes to disk and renames. Throws with the system's reason.
  void commit();

 private:
  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
  bool is_direct_ = false;
};

}  // namespace nz
