#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/output_file.hpp>

namespace nz {
namespace {

namespace fs = std::filesystem;

// Temporary files for remove_unfinished_output: plain memory and lock-free states, safe in a signal handler.
struct unfinished {
  enum : int { vacant, filling, listed, removed };
  std::atomic<int> state{vacant};
  char path[4096] = {};
};
static_assert(std::atomic<int>::is_always_lock_free);
constinit std::array<unfinished, 16> table;

/// The slot of `path`; -1 if there is no room.
int enlist(const fs::path& path) {
  if (path.native().size() >= sizeof(unfinished::path)) return -1;
  for (std::size_t i = 0; i < table.size(); ++i) {
    int expected = unfinished::vacant;
    if (!table[i].state.compare_exchange_strong(expected, unfinished::filling)) continue;
    std::memcpy(table[i].path, path.c_str(), path.native().size() + 1);
    table[i].state = unfinished::listed;
    return static_cast<int>(i);
  }
  return -1;
}

void strike(int& slot) {
  if (slot < 0) return;
  // A slot that a handler is using is left alone: the process is about to end.
  int expected = unfinished::listed;
  table[static_cast<std::size_t>(slot)].state.compare_exchange_strong(expected, unfinished::vacant);
  slot = -1;
}

/// The number of the descriptor of this process that a path such as /dev/stdout or /dev/fd/3 stands for.
std::optional<int> own_descriptor(const fs::path& path) {
  std::error_code ignored;
  const fs::path folder = fs::canonical(path.parent_path(), ignored);
  if (folder.empty() || folder != fs::canonical("/proc/self/fd", ignored)) return {};
  const std::string name = path.filename();
  int number = -1;
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (wrong != std::errc{} || end != name.data() + name.size()) return {};
  return number;
}

/// Follows symbolic links, also to a file that is not there yet; stops at a descriptor of this process.
fs::path follow_links(fs::path path) {
  std::error_code not_a_link;
  for (int links = 0; links < 40 && !own_descriptor(path); ++links) {
    const fs::path to = fs::read_symlink(path, not_a_link);
    if (not_a_link) break;
    path = path.parent_path() / to;  // `to` alone where it is absolute
  }
  return path;
}

fs::path temporary_name(const fs::path& target) {
  constexpr std::size_t longest = 200;  // a file's name may have 255 bytes
  static constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string ending;
  for (int i = 0; i < 6; ++i) ending += letters[random() % (sizeof(letters) - 1)];
  return target.parent_path() /
         fmt::format(".{}.partial-{}", target.filename().native().substr(0, longest), ending);
}

}  // namespace

output_file::output_file(fs::path path) : path_(std::move(path)) {
  if (path_.empty()) throw error("cannot write to a file without a name");
  target_ = follow_links(fs::absolute(path_));
  struct stat old {};
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) fail("cannot write");
  if (!target_.has_filename() || (exists && S_ISDIR(old.st_mode))) fail("cannot write", EISDIR);
  const auto number = own_descriptor(target_);
  if (number || (exists && !S_ISREG(old.st_mode))) {
    // A duplicate continues at the current position; opening by name would start at the begin.
    descriptor_ = number ? ::fcntl(*number, F_DUPFD_CLOEXEC, 0)
                         : ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0) fail("cannot write");
  } else {
    // Renaming would also replace a write-protected file, which must be kept.
    if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail("cannot write");
    open_aside(exists, old.st_mode & 0777);
  }
}

output_file::~output_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  strike(slot_);
}

void output_file::open_aside(bool replaces, unsigned mode) {
  for (int tries = 0; tries < 100; ++tries) {
    temporary_ = temporary_name(target_);
    slot_ = enlist(temporary_);  // before it is made: a signal in between finds nothing to remove
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) {
      if (replaces) (void)::fchmod(descriptor_, mode);  // some file systems have no permissions to set
      return;
    }
    strike(slot_);
    if (errno != EEXIST) break;
  }
  fail("cannot write");
}

void output_file::write(const void* bytes, std::size_t size) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("writing failed");
    from += written;
    size -= static_cast<std::size_t>(written);
  }
}

void output_file::commit() {
  const bool is_direct = temporary_.empty();
  // Without the flush, a full disk may be noticed only after the old file is gone. Not all file systems can.
  if (!is_direct && ::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail("writing failed");
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 && errno != EINTR) fail("writing failed");
  if (is_direct) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("renaming the finished file failed");
  temporary_.clear();
  strike(slot_);
}

void output_file::fail(const char* doing, int reason) const {
  throw error(fmt::format("{}: {}: {}", path_.native(), doing, std::generic_category().message(reason)));
}

void remove_unfinished_output() noexcept {
  for (unfinished& file : table) {
    int expected = unfinished::listed;
    if (file.state.compare_exchange_strong(expected, unfinished::removed)) ::unlink(file.path);
  }
}

}  // namespace nz
