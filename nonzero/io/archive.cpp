#include <algorithm>
#include <cerrno>
#include <new>
#include <string_view>
#include <system_error>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/archive.hpp>

namespace nz {
namespace {

constexpr std::size_t block_bytes = std::size_t{256} << 10;  // stays in the cache until it is copied

}  // namespace

struct archive_reader::state {
  std::string path;
  std::string where;  // the path and, once there is one, the entry
  int descriptor = -1;
  std::uint64_t size = 0;
  ::archive* archive = nullptr;

  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    if (archive) archive_read_free(archive);
    if (descriptor >= 0) ::close(descriptor);
  }

  [[noreturn]] void fail(std::string_view reason) const {
    throw parse_error(fmt::format("{}: {}", where, reason));
  }
  [[noreturn]] void fail_with(int system_error) const { fail(std::generic_category().message(system_error)); }
  [[noreturn]] void fail_in_archive() const {
    const char* text = archive_error_string(archive);
    std::string_view reason = text ? text : "the compressed data is damaged or cut off";
    while (reason.ends_with('\n')) reason.remove_suffix(1);  // as some of libarchive's do
    fail(reason);
  }

  void open() {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) fail_with(errno);
    struct stat info {};
    if (::fstat(descriptor, &info) != 0) fail_with(errno);
    if (S_ISDIR(info.st_mode)) fail_with(EISDIR);
    if (S_ISREG(info.st_mode)) size = static_cast<std::uint64_t>(info.st_size);

    archive = archive_read_new();
    if (!archive) throw std::bad_alloc();
    // Not "all": that would let a file's first bytes start other programs (lrzip, lzop, grzip).
    archive_read_support_filter_gzip(archive);
    archive_read_support_filter_bzip2(archive);
    archive_read_support_filter_xz(archive);
    archive_read_support_filter_lz4(archive);
    archive_read_support_filter_zstd(archive);
    archive_read_support_format_tar(archive);
    archive_read_support_format_zip(archive);
    archive_read_support_format_raw(archive);
    archive_read_support_format_empty(archive);
    if (archive_read_open_fd(archive, descriptor, block_bytes) != ARCHIVE_OK) fail_in_archive();
  }
};

archive_reader::archive_reader(const std::filesystem::path& path) : state_(std::make_unique<state>()) {
  state_->path = state_->where = path.native();
  state_->open();
}

archive_reader::~archive_reader() = default;
archive_reader::archive_reader(archive_reader&&) noexcept = default;
archive_reader& archive_reader::operator=(archive_reader&&) noexcept = default;

std::optional<archive_reader::entry> archive_reader::next() {
  for (;;) {
    archive_entry* header = nullptr;
    state_->where = state_->path;
    const int status = archive_read_next_header(state_->archive, &header);
    if (status == ARCHIVE_EOF) {
      // A zip's directory follows its last entry: read it, or the writer of a pipe gets an error.
      char rest[4096];
      while (state_->size == 0 && ::read(state_->descriptor, rest, sizeof rest) > 0) {
      }
      return {};
    }
    // Warnings are about unused things, such as a name that the locale cannot show.
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) state_->fail_in_archive();
    if (archive_entry_filetype(header) != AE_IFREG || archive_entry_hardlink(header)) continue;
    // A few bytes can declare a hole of any size, which would be read as zeros.
    if (archive_entry_sparse_count(header) > 0) state_->fail("sparse entries are not read");

    entry found;
    if (archive_format(state_->archive) != ARCHIVE_FORMAT_RAW) {
      const char* name = archive_entry_pathname(header);
      found.name = name && *name ? name : "?";
      state_->where = fmt::format("{}: member {}", state_->path, found.name);
    }
    if (archive_entry_size_is_set(header))
      found.size = static_cast<std::uint64_t>(std::max<std::int64_t>(archive_entry_size(header), 0));
    return found;
  }
}

std::size_t archive_reader::read(std::span<char> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const la_ssize_t got = archive_read_data(state_->archive, into.data() + done, into.size() - done);
    if (got < 0) state_->fail_in_archive();
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

const std::string& archive_reader::where() const { return state_->where; }

std::uint64_t archive_reader::file_size() const { return state_->size; }

double archive_reader::progress() const {
  if (state_->size == 0) return 0;
  const auto consumed = static_cast<double>(archive_filter_bytes(state_->archive, -1));
  return std::clamp(consumed / static_cast<double>(state_->size), 0.0, 1.0);
}

}  // namespace nz
