#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/input_file.hpp>

namespace nz {
namespace {

constexpr std::size_t block_bytes = std::size_t{256} << 10;  // stays in the cache until it is copied

[[noreturn]] void fail_with(int system_error, const std::filesystem::path& path) {
  throw parse_error(fmt::format("{}: {}", path.native(), std::generic_category().message(system_error)));
}

/// The size of a regular file; nothing for a pipe or a device. Does not open it: that would disturb the
/// writer of a pipe.
std::optional<std::size_t> size_of(const std::filesystem::path& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) fail_with(errno, path);
  if (S_ISDIR(facts.st_mode)) fail_with(EISDIR, path);
  return S_ISREG(facts.st_mode) ? std::optional<std::size_t>(facts.st_size) : std::nullopt;
}

}  // namespace

open_file::open_file(const std::filesystem::path& path)
    : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)) {
  if (descriptor < 0) fail_with(errno, path);
}
open_file::~open_file() { ::close(descriptor); }

mapped_file::mapped_file(const std::filesystem::path& path) {
  const std::optional<std::size_t> size = size_of(path);
  if (!size) return;
  const open_file file(path);
  // mmap refuses an empty file.
  void* const memory =
      *size == 0 ? nullptr : ::mmap(nullptr, *size, PROT_READ, MAP_PRIVATE, file.descriptor, 0);
  if (memory == MAP_FAILED) return;
  ::madvise(memory, *size, MADV_SEQUENTIAL);
  text_.emplace(static_cast<const char*>(memory), *size);
}

mapped_file::~mapped_file() {
  if (text_ && !text_->empty()) ::munmap(const_cast<char*>(text_->data()), text_->size());
}

archive_reader::archive_reader(const std::filesystem::path& path)
    : path_(path.native()),
      where_(path_),
      size_(size_of(path).value_or(0)),
      file_(path),
      archive_(archive_read_new(), archive_read_free) {
  if (!archive_) throw std::bad_alloc();
  // Not "all": that would let a file's first bytes start other programs (lrzip, lzop, grzip).
  for (const auto support :
       {archive_read_support_filter_gzip, archive_read_support_filter_bzip2, archive_read_support_filter_xz,
        archive_read_support_filter_lz4, archive_read_support_filter_zstd, archive_read_support_format_tar,
        archive_read_support_format_zip, archive_read_support_format_raw, archive_read_support_format_empty})
    support(archive_.get());
  if (archive_read_open_fd(archive_.get(), file_.descriptor, block_bytes) != ARCHIVE_OK) fail();
}

std::optional<archive_reader::entry> archive_reader::next() {
  for (;;) {
    archive_entry* header = nullptr;
    where_ = path_;
    const int status = archive_read_next_header(archive_.get(), &header);
    if (status == ARCHIVE_EOF) {
      // A zip's directory follows its last entry: read it, or the writer of a pipe gets an error.
      char rest[4096];
      while (size_ == 0 && ::read(file_.descriptor, rest, sizeof rest) > 0) {
      }
      return {};
    }
    // Warnings are about unused things, such as a name that the locale cannot show.
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) fail();
    if (archive_entry_filetype(header) != AE_IFREG || archive_entry_hardlink(header)) continue;
    // A few bytes can declare a hole of any size, which would be read as zeros.
    if (archive_entry_sparse_count(header) > 0) throw parse_error(where_ + ": sparse entries are not read");

    entry found;
    if (archive_format(archive_.get()) != ARCHIVE_FORMAT_RAW) {
      const char* name = archive_entry_pathname(header);
      found.name = name && *name ? name : "?";
      where_ = fmt::format("{}: member {}", path_, found.name);
    }
    if (archive_entry_size_is_set(header))
      found.size = static_cast<std::uint64_t>(std::max<std::int64_t>(archive_entry_size(header), 0));
    return found;
  }
}

std::size_t archive_reader::read(std::span<char> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const la_ssize_t got = archive_read_data(archive_.get(), into.data() + done, into.size() - done);
    if (got < 0) fail();
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

double archive_reader::progress() const {
  if (size_ == 0) return 0;
  const auto consumed = static_cast<double>(archive_filter_bytes(archive_.get(), -1));
  return std::clamp(consumed / static_cast<double>(size_), 0.0, 1.0);
}

void archive_reader::fail() const {
  const char* text = archive_error_string(archive_.get());
  std::string_view reason = text ? text : "the compressed data is damaged or cut off";
  while (reason.ends_with('\n')) reason.remove_suffix(1);  // as some of libarchive's do
  throw parse_error(fmt::format("{}: {}", where_, reason));
}

}  // namespace nz
