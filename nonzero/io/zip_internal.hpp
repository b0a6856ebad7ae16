#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

#include <nonzero/core/array.hpp>
#include <nonzero/io/decompress_internal.hpp>
#include <nonzero/io/input_file.hpp>
#include <nonzero/io/output_file.hpp>

// The layout: each member's header and content, the directory, the end record. A member or a file of more
// than 2^32 - 1 bytes has numbers of 64 bits in an extra field, or in a second end record before the first.
namespace nz {

namespace zip {

/// What each kind of record begins with.
constexpr std::string_view local_magic = "PK\3\4", central_magic = "PK\1\2", end_magic = "PK\5\6",
                           end_64_magic = "PK\6\6", locator_magic = "PK\6\7", descriptor_magic = "PK\7\x08";
/// Flags of a member: its content cannot be read, or its check sum and sizes follow it.
constexpr unsigned is_encrypted = 1, has_descriptor = 8;
constexpr unsigned stored = 0, deflated = 8;          // methods
constexpr unsigned id_64 = 1;                         // of the extra field with numbers of 64 bits
constexpr std::uint32_t in_extra_field = 0xffffffff;  // instead of a number that is there

}  // namespace zip

struct zip_entry {
  std::string name;
  bool is_deflated;  // otherwise it is stored as it is
  std::uint32_t crc;
  std::uint64_t size;
  std::string_view content;  // as it lies in the file
};

/// A zip file in memory: mapped, or read from a pipe. Only a file whose directory is whole, agrees with the
/// headers before the members, and accounts for every byte is accepted; anything else is a `parse_error`.
class zip_file {
 public:
  explicit zip_file(input_file& file);
  const std::string& path() const { return path_; }
  const std::vector<zip_entry>& entries() const { return entries_; }

 private:
  std::string path_;
  array<char> piped_;
  std::vector<zip_entry> entries_;
};

/// A member's content, decompressed. Where it ends, its length and check sum are compared.
class zip_member final : public byte_stream {
 public:
  zip_member(const zip_file& file, const zip_entry& entry);
  const zip_entry& entry() const { return entry_; }
  /// The start of messages: `a.npz: member data.npy`.
  const std::string& where() const { return where_; }
  /// Reads what is left, so that it is verified.
  void skip_rest();

 private:
  std::size_t produce(std::span<char> into) override;

  const zip_entry& entry_;
  std::string where_;
  std::string_view left_;  // of the content
  std::optional<inflater> inflate_;
  std::uint64_t done_ = 0;
  std::uint32_t crc_ = 0;
  bool is_at_end_ = false;
};

/// Writes a zip file from front to back: check sum and compressed size follow each member, as the output may
/// be a pipe. Members have no time stamp, so that the same matrix gives the same bytes.
class zip_writer {
 public:
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 20;  // in the cache from check sum to write

  zip_writer(output_file& file, bool compress);
  ~zip_writer();
  zip_writer(const zip_writer&) = delete;
  zip_writer& operator=(const zip_writer&) = delete;

  /// `size`: of what is then written; deflate makes it longer by less than a thousandth.
  void begin_entry(const std::string& name, std::uint64_t size);
  void write(const void* bytes, std::size_t size);
  void close();

 private:
  struct member {
    std::string name;
    std::uint64_t begin;
    bool is_large;  // its sizes are written with 64 bits
    std::uint64_t packed = 0, size = 0;
    std::uint32_t crc = 0;
  };

  std::string facts_of(const member& m) const;
  void put_in_directory(const member& m);
  void end_entry();
  void put_deflated(const unsigned char* from, std::size_t size, int flush);
  void put(std::string_view bytes);

  output_file& file_;
  bool compress_;
  z_stream deflate_{};
  array<char> deflated_;
  std::vector<member> members_;
  std::uint64_t done_ = 0, content_begin_ = 0;  // bytes written; before the member's content
};

}  // namespace nz
