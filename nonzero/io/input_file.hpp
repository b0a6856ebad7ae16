#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nz {

/// Bytes that are read from front to back.
class byte_stream {
 public:
  virtual ~byte_stream() = default;
  /// Reads until `into` is full or the stream ends; returns the number of bytes. Damaged or truncated data
  /// throws: fewer bytes than requested always mean the end.
  std::size_t read(std::span<char> into);
  /// Reads at least one byte, unless the stream has ended or `into` is empty. Does not wait for more.
  std::size_t read_some(std::span<char> into);
  /// The next 512 bytes, or fewer at the end. They are still to be read.
  std::string_view peek();

 protected:
  byte_stream() = default;
  byte_stream(const byte_stream&) = default;
  virtual std::size_t produce(std::span<char> into) = 0;  // as read_some; `into` is not empty

 private:
  std::string ahead_;  // what was peeked at; taken_ bytes of it have been read since
  std::size_t taken_ = 0;
};

/// A file, pipe or device, opened once. All errors are `parse_error` and start with the path.
class input_file final : public byte_stream {
 public:
  /// Throws if the path cannot be opened or is a folder.
  explicit input_file(const std::filesystem::path& path);
  ~input_file() override;
  input_file(const input_file&) = delete;
  input_file& operator=(const input_file&) = delete;

  const std::string& path() const { return path_; }
  /// The whole file, memory-mapped; nothing for a pipe or a device. If another program truncates the file
  /// while it is mapped, this process gets SIGBUS.
  std::optional<std::string_view> text();
  /// Whether it starts as a zip does.
  bool is_zip() { return peek().starts_with("PK\3\4") || peek().starts_with("PK\5\6"); }
  /// The fraction read so far, 0 to 1; 0 if the size is unknown.
  double progress() const;

 private:
  std::size_t produce(std::span<char> into) override;

  std::string path_;
  int descriptor_ = -1;
  std::optional<std::uint64_t> size_;  // of a regular file
  std::uint64_t consumed_ = 0;
  std::string_view mapped_;
};

class tar_reader;

/// A file with one text, plain or compressed (gzip, bzip2, xz, lz4, zstd), as one entry without a name, or
/// the entries of a tar, compressed or not. An empty file, compressed or not, has no entry. All errors are
/// `parse_error` and start with the path. Check sums are verified where the compression has them, at the end.
class archive_reader {
 public:
  /// Throws if the file cannot be read, or is a zip.
  explicit archive_reader(input_file& file);
  ~archive_reader();

  struct entry {
    std::string name;  // empty for a text that is not in an archive
  };
  /// Moves to the next entry that is a regular file; nothing at the end.
  std::optional<entry> next();
  /// Reads until `into` is full or the current entry ends; returns the number of bytes. Truncated or damaged
  /// data throws: fewer bytes than requested always mean the end of the entry.
  std::size_t read(std::span<char> into);
  bool is_archive() const { return tar_ != nullptr; }
  /// The start of messages about the current entry: `a.tar: member b.mtx`, or the path.
  const std::string& where() const { return where_; }
  double progress() const { return file_.progress(); }

 private:
  input_file& file_;
  std::string where_;
  std::unique_ptr<byte_stream> decompressed_;  // empty for a file that is not compressed
  byte_stream& content_;
  std::unique_ptr<tar_reader> tar_;  // empty where content_ is no tar
  bool is_at_end_ = false;           // of a text that is not in an archive
};

}  // namespace nz
