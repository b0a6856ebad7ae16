#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace nz {

/// A file read through libarchive, front to back: a plain, gzip, bzip2, xz, lz4 or zstd stream as one
/// nameless entry, or the entries of a tar (compressed or not) or zip. It may be a pipe. A file of no bytes,
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
  /// Reads on in the current entry until `into` is full or the entry ends; how many bytes were read. Data
  /// that is cut off or damaged throws: fewer bytes than asked for always means the entry's true end.
  std::size_t read(std::span<char> into);
  /// What a message about the current entry starts with: `a.npz: member data.npy`, or the path alone for a
  /// plain stream.
  const std::string& where() const;
  /// The size of the file itself; 0 where it is not known.
  std::uint64_t file_size() const;
  /// The part of the file consumed so far, 0 to 1 (0 where its size is not known).
  double progress() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace nz
