#pragma once

#include <cstddef>
#include <filesystem>

namespace nz {

/// A file that is whole or not there: written under another name in the same folder, and given its own name
/// by `commit`. Without commit the destructor removes what was written, and an old file of that name stays.
/// A symbolic link stays one: what it points to is written. A file that is replaced hands on its permissions.
class output_file {
 public:
  /// Throws `nz::error` when the file cannot be made or replaced. What is no regular file (/dev/null, a pipe)
  /// and what is a descriptor of this process (/dev/stdout) is written to directly.
  explicit output_file(std::filesystem::path path);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  /// Where to write for now; empty once it has its own name.
  const std::filesystem::path& temporary() const { return temporary_; }
  const std::filesystem::path& path() const { return path_; }
  /// The file descriptor of `temporary`, open for writing; closed by commit.
  int descriptor() const { return descriptor_; }
  /// Writes all of `bytes`; throws with the system's reason (disk full, …).
  void write(const void* bytes, std::size_t size);
  /// Flushes to disk and renames. Throws with the system's reason; what was there before is then still there.
  void commit();

 private:
  void open_directly();
  void open_aside(bool replaces, unsigned mode);
  [[noreturn]] void fail(const char* doing) const;

  std::filesystem::path path_;    // as given
  std::filesystem::path target_;  // behind its symbolic links, absolute; what commit renames to
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  int slot_ = -1;  // in the table that remove_unfinished_output walks
  bool is_direct_ = false;
};

/// Removes the temporaries of all files that are not committed yet. Safe to call in a signal handler that
/// then ends the process, which is what it is for: the library itself installs no handler. Covers up to 16
/// files at a time with paths of up to 4095 bytes.
void remove_unfinished_output() noexcept;

}  // namespace nz
