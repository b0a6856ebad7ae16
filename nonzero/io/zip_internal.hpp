#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nonzero/core/array.hpp>
#include <nonzero/io/decompress_internal.hpp>
#include <nonzero/io/input_file.hpp>

namespace nz {

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

}  // namespace nz
