#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct archive;  // libarchive's

namespace nz {

/// A file descriptor open for reading. Throws `parse_error` if the path cannot be opened.
struct open_file {
  explicit open_file(const std::filesystem::path& path);
  ~open_file();
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;

  int descriptor;
};

/// A memory-mapped file. If another program truncates it while it is mapped, this process gets SIGBUS.
/// Throws `parse_error` if the path cannot be opened or is a folder.
class mapped_file {
 public:
  explicit mapped_file(const std::filesystem::path& path);
  ~mapped_file();
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  /// Nothing for a pipe or a device, which cannot be mapped.
  const std::optional<std::string_view>& text() const { return text_; }

 private:
  std::optional<std::string_view> text_;
};

/// A file read through libarchive, from front to back: a plain, gzip, bzip2, xz, lz4 or zstd stream as one
/// entry without a name, or the entries of a tar (compressed or not) or zip. It may be a pipe. An empty file,
/// compressed or not, has no entry. All errors are `parse_error` and start with the path. libarchive checks
/// zip's check sums (when an entry is read to its end) and xz's, but not gzip's.
class archive_reader {
 public:
  /// Throws if the file cannot be opened or read, or is a folder.
  explicit archive_reader(const std::filesystem::path& path);

  struct entry {
    std::string name;                   // empty for a plain stream
    std::optional<std::uint64_t> size;  // as declared; not to be trusted
  };
  /// Moves to the next entry that is a regular file; nothing at the end.
  std::optional<entry> next();
  /// Reads until `into` is full or the current entry ends; returns the number of bytes. Truncated or damaged
  /// data throws: fewer bytes than requested always mean the end of the entry.
  std::size_t read(std::span<char> into);
  /// The start of messages about the current entry: `a.npz: member data.npy`, or the path for a plain stream.
  const std::string& where() const { return where_; }
  /// The size of the file; 0 if unknown.
  std::uint64_t file_size() const { return size_; }
  /// The fraction of the file read so far, 0 to 1 (0 if its size is unknown).
  double progress() const;

 private:
  [[noreturn]] void fail() const;  // with libarchive's reason

  std::string path_, where_;
  std::uint64_t size_;
  open_file file_;
  std::unique_ptr<::archive, int (*)(::archive*)> archive_;
};

}  // namespace nz
