#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace nz {

/// A file read through libarchive, from front to back: a plain, gzip, bzip2, xz, lz4 or zstd stream as one
/// entry without a name, or the entries of a tar (compressed or not) or zip. It may be a pipe. An empty file,
/// compressed or not, has no entry. All errors are `parse_error` and start with the path. libarchive checks
/// zip's check sums (when an entry is read to its end) and xz's, but not gzip's.
class archive_reader {
 public:
  /// Throws if the file cannot be opened or read, or is a directory.
  explicit archive_reader(const std::filesystem::path& path);
  ~archive_reader();
  archive_reader(archive_reader&&) noexcept;
  archive_reader& operator=(archive_reader&&) noexcept;

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
  const std::string& where() const;
  /// The size of the file; 0 if unknown.
  std::uint64_t file_size() const;
  /// The fraction of the file read so far, 0 to 1 (0 if its size is unknown).
  double progress() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace nz
