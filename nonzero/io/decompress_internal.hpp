#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <zlib.h>

#include <nonzero/io/input_file.hpp>

struct archive;  // libarchive's

// Compressed streams and tars, read from any stream of bytes. Messages start with `where`.
namespace nz {

/// The state of a decompression by zlib. Throws std::bad_alloc.
class inflater {
 public:
  /// With `window_bits` as zlib's inflateInit2 takes them: 31 is gzip, -15 the bare deflate of a zip.
  explicit inflater(int window_bits);
  ~inflater() { inflateEnd(&z); }
  inflater(const inflater&) = delete;
  inflater& operator=(const inflater&) = delete;

  enum class states { going_on, at_end };
  /// Decompresses from z.next_in to z.next_out. Throws `parse_error` for damaged data.
  states run(const std::string& where);

  z_stream z{};
};

/// Gzip: members one after the other, then zeros if any. Verifies each member's check sum and length.
class gzip_stream final : public byte_stream {
 public:
  gzip_stream(byte_stream& source, std::string where);

 private:
  std::size_t produce(std::span<char> into) override;
  bool refill();          // false at the end of the source
  void end_member();      // looks for another one
  void end_in_padding();  // the rest must be zeros

  byte_stream& source_;
  std::string where_;
  inflater inflate_{31};
  std::unique_ptr<char[]> input_;
  std::uint64_t idle_bytes_ = 0;  // of input since the last byte of output
  bool is_at_end_ = false;
};

/// A libarchive reader over a stream. libarchive prints and exits where it cannot get memory for a string, so
/// it is asked for little, and only after some memory was seen to be there.
class archive_source {
 public:
  archive_source(byte_stream& source, std::string where);
  ::archive* get() const { return archive_.get(); }
  /// From now on, so much input may be read without a call of this function.
  void limit_idle(std::uint64_t bytes) { idle_bytes_left_ = bytes; }
  void open();
  /// Throws the exception of the source, std::bad_alloc, or `parse_error` with libarchive's reason.
  [[noreturn]] void fail(const std::string& where) const;

 private:
  static long pass_on(::archive*, void* self, const void** bytes);

  byte_stream& source_;
  std::string where_;
  std::unique_ptr<char[]> input_;
  std::exception_ptr failure_;  // of the source: libarchive is C
  std::uint64_t idle_bytes_left_ = std::numeric_limits<std::uint64_t>::max();
  std::unique_ptr<::archive, int (*)(::archive*)> archive_;
};

/// bzip2, xz, lz4 or zstd, by libarchive.
class filter_stream final : public byte_stream {
 public:
  filter_stream(byte_stream& source, std::string where);

 private:
  std::size_t produce(std::span<char> into) override;

  std::string where_;
  archive_source archive_;
  bool is_empty_ = false;
};

/// The regular files of a tar, by libarchive.
class tar_reader {
 public:
  tar_reader(byte_stream& source, std::string where);
  /// The name of the next one; nothing at the end of the archive.
  std::optional<std::string> next();
  std::size_t read(std::span<char> into, const std::string& where);

 private:
  std::string where_;
  archive_source archive_;
};

}  // namespace nz
