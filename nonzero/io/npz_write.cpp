#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/npy_internal.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/output_file.hpp>

namespace nz {
namespace {

// libarchive counts the bytes of one call in 32 bits; a chunk stays in the cache from checksum to write.
constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

/// Writes a zip file. Entries have no time stamp, so that the same matrix gives the same bytes.
class zip_writer {
 public:
  zip_writer(output_file& file, bool compress)
      : file_(file), archive_(archive_write_new(), archive_write_free) {
    if (!archive_) throw std::bad_alloc();
    check(archive_write_set_format_zip(archive_.get()));
    check(compress ? archive_write_zip_set_compression_deflate(archive_.get())
                   : archive_write_zip_set_compression_store(archive_.get()));
    check(archive_write_set_bytes_per_block(archive_.get(), 0));  // no blocks: no padding, no copies
    check(archive_write_open(archive_.get(), this, nullptr, &zip_writer::pass_on, nullptr));
  }
  ~zip_writer() { is_over_ = true; }  // freeing an open archive closes it: drop that output
  zip_writer(const zip_writer&) = delete;
  zip_writer& operator=(const zip_writer&) = delete;

  void begin_entry(const std::string& name, std::uint64_t size) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                         archive_entry_free);
    if (!entry) throw std::bad_alloc();
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(size));
    check(archive_write_header(archive_.get(), entry.get()));
  }
  void write(const void* bytes, std::size_t size) {
    const char* from = static_cast<const char*>(bytes);
    while (size > 0) {
      const la_ssize_t written = archive_write_data(archive_.get(), from, std::min(size, chunk_bytes));
      if (written <= 0 || failure_) fail();
      from += written;
      size -= static_cast<std::size_t>(written);
    }
  }
  void close() { check(archive_write_close(archive_.get())); }

 private:
  // Called from C: an exception is kept in failure_ until libarchive returns. libarchive is not told, because
  // it leaks memory if closing fails.
  static la_ssize_t pass_on(::archive*, void* self, const void* bytes, std::size_t size) {
    auto* writer = static_cast<zip_writer*>(self);
    try {
      if (!writer->is_over_) writer->file_.write(bytes, size);
    } catch (...) {
      writer->failure_ = std::current_exception();
      writer->is_over_ = true;
    }
    return static_cast<la_ssize_t>(size);
  }
  void check(int status) {
    if (status != ARCHIVE_OK || failure_) fail();
  }
  [[noreturn]] void fail() {
    if (failure_) std::rethrow_exception(failure_);
    const char* reason = archive_error_string(archive_.get());
    throw error(
        fmt::format("{}: writing failed: {}", file_.path().native(), reason ? reason : "libarchive error"));
  }

  output_file& file_;
  bool is_over_ = false;  // further output is dropped
  std::exception_ptr failure_;
  std::unique_ptr<::archive, int (*)(::archive*)> archive_;  // last: freeing it calls pass_on
};

template <class T> constexpr const char* descr_of = nullptr;
template <> constexpr const char* descr_of<std::int32_t> = "<i4";
template <> constexpr const char* descr_of<std::int64_t> = "<i8";
template <> constexpr const char* descr_of<float> = "<f4";
template <> constexpr const char* descr_of<double> = "<f8";

/// Begins an entry of `count` elements of type T, which are to follow.
template <class T> void begin_array(zip_writer& zip, const std::string& name, std::size_t count) {
  const std::string header = npy::make_header(descr_of<T>, fmt::format("({},)", count));
  zip.begin_entry(name, header.size() + count * sizeof(T));
  zip.write(header.data(), header.size());
}

template <class T> void write_array(zip_writer& zip, const std::string& name, std::span<const T> values) {
  begin_array<T>(zip, name, values.size());
  zip.write(values.data(), values.size_bytes());
}

/// Writes 64-bit numbers as 32-bit ones.
void write_narrowed(zip_writer& zip, const std::string& name, std::span<const offset> values) {
  begin_array<std::int32_t>(zip, name, values.size());
  std::vector<std::int32_t> narrow;
  while (!values.empty()) {
    const auto chunk = values.first(std::min(values.size(), chunk_bytes / sizeof(std::int32_t)));
    narrow.assign(chunk.begin(), chunk.end());
    zip.write(narrow.data(), narrow.size() * sizeof(std::int32_t));
    values = values.subspan(chunk.size());
  }
}

}  // namespace

template <class V>
void write_npz(const std::filesystem::path& path, csr_view<V> a, const npz_options& options) {
  a = validated(a);
  output_file file(path);
  zip_writer zip(file, options.compress);
  write_array<index>(zip, "indices.npy", a.col);
  // SciPy gives both index arrays one type when it loads them. 32 bits, where they suffice, save that
  // conversion; otherwise it widens the columns itself.
  if (a.nnz() <= std::numeric_limits<std::int32_t>::max())
    write_narrowed(zip, "indptr.npy", a.row_begin);
  else
    write_array<offset>(zip, "indptr.npy", a.row_begin);
  const std::string format = npy::make_header("|S3", "()") + "csr";
  zip.begin_entry("format.npy", format.size());
  zip.write(format.data(), format.size());
  const std::int64_t shape[] = {a.rows, a.cols};
  write_array<std::int64_t>(zip, "shape.npy", shape);
  write_array<V>(zip, "data.npy", a.val);
  zip.close();
  file.commit();
}

#define NONZERO_INSTANTIATE(V) \
  template void write_npz(const std::filesystem::path&, csr_view<V>, const npz_options&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
