// Any bytes as a file: what is read or refused is the same for any number of threads; what zlib's gzread and
// the plain reader of its text give, the reader of the compressed file gives too, and it refuses the rest.
// The first byte says what becomes of the others: the file itself, its text, or a .tar of one .mtx, each as
// it is or compressed here so that the check sums are right.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <archive.h>
#include <archive_entry.h>
#include <fuzz/npz_check.hpp>
#include <zlib.h>

#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/read.hpp>

namespace fuzz {
namespace {

constexpr std::size_t most_text = std::size_t{1} << 20;

template <class V> std::optional<csr<V>> read_any(const memory_file& file, int threads) try {
  return nz::read<V>(file.path(), {.threads = threads, .block_bytes = 256});
} catch (const nz::error& e) {
  require(std::string_view(e.what()).starts_with(file.path().native()));
  return {};
} catch (const std::bad_alloc&) {
  return {};
}

/// What a gzip file holds, by one call for each member; nothing if it is damaged, followed by something else,
/// or too long for this check.
std::optional<std::string> gunzip(std::string_view bytes) {
  std::string out;
  while (!bytes.empty() && bytes[0] != 0) {
    std::string text(most_text, '\0');
    z_stream z{};
    require(inflateInit2(&z, 31) == Z_OK);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    z.avail_in = static_cast<uInt>(bytes.size());
    z.next_out = reinterpret_cast<Bytef*>(text.data());
    z.avail_out = static_cast<uInt>(text.size());
    const int status = inflate(&z, Z_FINISH);
    text.resize(z.total_out);
    bytes.remove_prefix(bytes.size() - z.avail_in);
    inflateEnd(&z);
    if (status != Z_STREAM_END) return {};
    out += text;
  }
  if (bytes.find_first_not_of('\0') != bytes.npos) return {};
  return out;
}

std::string gzip(std::string_view text) {
  z_stream z{};
  require(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  require(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

la_ssize_t append(archive*, void* to, const void* bytes, std::size_t size) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

std::string tar(std::string_view text) {
  std::string out;
  archive* a = archive_write_new();
  archive_write_set_format_ustar(a);
  archive_write_open(a, &out, nullptr, append, nullptr);
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, "web/web.mtx");
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_size(entry, static_cast<la_int64_t>(text.size()));
  archive_write_header(a, entry);
  archive_write_data(a, text.data(), text.size());
  archive_entry_free(entry);
  archive_write_close(a);
  archive_write_free(a);
  return out;
}

/// Reads the bytes as a file, with one thread and two.
std::optional<csr<double>> read_twice(std::string_view bytes) {
  const memory_file file;
  file.fill(bytes.data(), bytes.size());
  const auto a = read_any<double>(file, 1);
  const auto b = read_any<double>(file, 2);
  require(a.has_value() == b.has_value());
  if (a) {
    nz::validate(*a);
    require_identical(*a, *b);
  }
  return a;
}

void require_same(const std::optional<csr<double>>& a, const std::optional<csr<double>>& b) {
  require(a.has_value() == b.has_value());
  if (a) require_identical(*a, *b);
}

void check(std::string_view bytes) {
  const auto found = read_twice(bytes);
  if (!bytes.starts_with("\x1f\x8b")) return;
  const auto text = gunzip(bytes);
  if (!text) return require(!found || bytes.size() > most_text / 1100);
  // A text that looks like another kind of file is read as text, when it was compressed.
  if (text->empty() || (*text)[0] == '%') require_same(found, read_twice(*text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  switch (bytes[0] % 4) {
    case 0:
      check(rest);
      break;
    case 1:
      check(gzip(rest));
      break;
    case 2:
      check(tar(rest));
      break;
    case 3:
      check(gzip(tar(rest)));
      break;
  }
  return 0;
}

}  // namespace fuzz
