// Any bytes as the members of an .npz, which are packed here so that every check sum is right. Each member: a
// byte that picks its name, two for its length (low byte first; cut to what is there), then its content.

#include <algorithm>
#include <string>

#include <archive.h>
#include <archive_entry.h>
#include <fuzz/npz_check.hpp>

namespace {

constexpr const char* names[] = {"indices.npy", "indptr.npy", "format.npy", "shape.npy",
                                 "data.npy",    "row.npy",    "col.npy",    "_is_array.npy"};

la_ssize_t append(archive*, void* zip, const void* bytes, std::size_t size) {
  static_cast<std::string*>(zip)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

std::string pack(const std::uint8_t* bytes, std::size_t size) {
  std::string zip;
  archive* out = archive_write_new();
  archive_write_set_format_zip(out);
  archive_write_zip_set_compression_store(out);
  archive_write_set_bytes_per_block(out, 0);
  archive_write_open(out, &zip, nullptr, append, nullptr);
  archive_entry* entry = archive_entry_new();
  while (size >= 3) {
    const std::size_t length = std::min<std::size_t>(bytes[1] | bytes[2] << 8, size - 3);
    archive_entry_clear(entry);
    archive_entry_set_pathname(entry, names[bytes[0] % std::size(names)]);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, static_cast<la_int64_t>(length));
    archive_write_header(out, entry);
    archive_write_data(out, bytes + 3, length);
    bytes += 3 + length;
    size -= 3 + length;
  }
  archive_entry_free(entry);
  archive_write_close(out);
  archive_write_free(out);
  return zip;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string zip = pack(bytes, size);
  fuzz::check_npz(zip.data(), zip.size());
  return 0;
}
