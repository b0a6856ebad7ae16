#pragma once

#include <cerrno>
#include <cstddef>
#include <filesystem>

namespace nz {

/// A file that is written atomically: in the same folder, and `commit` gives it its name. Without commit an
/// old file of that name stays, and nothing else. A symbolic link stays one: its target is written. A
/// replaced file's permissions are kept.
///
/// Until commit the file has no name where the system can do that (O_TMPFILE), so that however the process
/// ends, nothing is left. Elsewhere, and while commit replaces a file, it is `.NAME.partial-xxxxxx`, locked;
/// what a killed process left of that kind, the next output_file of that name removes. (Where there are no
/// locks either, it is `.NAME.partial-xxxxxx-unlocked`, and nobody removes it.)
class output_file {
 public:
  /// Throws `nz::error` if the file cannot be created or replaced. Files that are not regular (/dev/null, a
  /// pipe) and descriptors of this process (/dev/stdout) are written directly.
  explicit output_file(std::filesystem::path path);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Writes all of `bytes`; throws with the system's reason (disk full, …).
  void write(const void* bytes, std::size_t size);
  /// Flushes to disk and gives the file its name. Throws with the system's reason; an old file is then still
  /// there.
  void commit();

 private:
  void open_direct();
  bool open_unnamed();  // false where that cannot be done
  void open_named();
  /// make(path) makes a file of a temporary name; false if it fails, with its errno.
  template <class Make> bool make_temporary(const char* ending, const Make& make);
  void flush() const;
  /// From no name to that of the target, or to a temporary name: then false.
  bool link_to_target();
  /// The same with a copy, where there are no links.
  void copy_aside();
  /// What is not committed yet.
  void discard();
  [[noreturn]] void fail(const char* doing, int reason = errno) const;

  std::filesystem::path path_;    // as given
  std::filesystem::path target_;  // behind its symbolic links, absolute; what commit writes
  std::filesystem::path temporary_;
  bool has_temporary_ = false;  // whether there is a file of that name
  bool is_direct_ = false;
  int descriptor_ = -1;
  int slot_ = -1;  // in the table of remove_unfinished_output
};

/// Removes the temporary files that have a name and are not committed yet. For signal handlers that end the
/// process: it is async-signal-safe. The library installs no handler. Covers up to 16 files at a time with
/// paths of up to 4095 bytes; others stay until the next write.
void remove_unfinished_output() noexcept;

}  // namespace nz
