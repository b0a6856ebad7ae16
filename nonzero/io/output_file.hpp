#pragma once

#include <cerrno>
#include <cstddef>
#include <filesystem>

namespace nz {

/// A file that is written atomically: under a temporary name in the same folder, which `commit` renames.
/// Without commit the destructor removes the temporary file, and an old file of that name stays. A symbolic
/// link stays one: its target is written. A replaced file's permissions are kept.
class output_file {
 public:
  /// Throws `nz::error` if the file cannot be created or replaced. Files that are not regular (/dev/null, a
  /// pipe) and descriptors of this process (/dev/stdout) are written directly.
  explicit output_file(std::filesystem::path path);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  /// The temporary name; empty after commit, and for what is written directly.
  const std::filesystem::path& temporary() const { return temporary_; }
  const std::filesystem::path& path() const { return path_; }
  /// Writes all of `bytes`; throws with the system's reason (disk full, …).
  void write(const void* bytes, std::size_t size);
  /// Flushes to disk and renames. Throws with the system's reason; an old file is then still there.
  void commit();

 private:
  void open_aside(bool replaces, unsigned mode);
  [[noreturn]] void fail(const char* doing, int reason = errno) const;

  std::filesystem::path path_;    // as given
  std::filesystem::path target_;  // behind its symbolic links, absolute; what commit renames to
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  int slot_ = -1;  // in the table of remove_unfinished_output
};

/// Removes the temporary files that are not committed yet. For signal handlers that end the process: it is
/// async-signal-safe. The library installs no handler. Covers up to 16 files at a time with paths of up to
/// 4095 bytes.
void remove_unfinished_output() noexcept;

}  // namespace nz
