#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace nz {

/// A file read through libarchive, front to back: a plain, gzip, bzip2, xz or zstd stream as one nameless
/// entry, or the entries of a tar (compressed or not) or zip.
class archive_reader {
 public:
  /// Throws `parse_error` if the file cannot be opened or is no archive that libarchive knows.
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
  /// Reads on in the current entry until `into` is full or the entry ends; how many bytes were read.
  std::size_t read(std::span<char> into);
  /// The part of the file consumed so far, 0 to 1 (0 where its size is not known).
  double progress() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace nz
