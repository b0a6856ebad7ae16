#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/sendfile.h>
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

constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::size_t random_letters = 6;

/// The temporary names of a target begin with this, and end with random letters.
std::string temporary_start(const fs::path& target) {
  constexpr std::size_t longest = 200;  // a file's name may have 255 bytes
  return fmt::format(".{}.partial-", target.filename().native().substr(0, longest));
}

fs::path temporary_name(const fs::path& target, std::string_view ending) {
  std::random_device random;
  std::string name = temporary_start(target);
  for (std::size_t i = 0; i < random_letters; ++i) name += letters[random() % (sizeof(letters) - 1)];
  return target.parent_path() / name.append(ending);
}

bool is_temporary_name(std::string_view name, std::string_view start) {
  return name.size() == start.size() + random_letters && name.starts_with(start) &&
         name.find_first_not_of(letters, start.size()) == std::string_view::npos;
}

/// Whether nobody else has the lock. It ends with the process, however that ends.
bool lock(int descriptor) { return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

/// Removes a temporary file that nobody writes any more: its writer would have it locked.
void remove_abandoned(const fs::path& path) {
  struct stat named {
  }, opened{};
  const auto is_own_file = [&named, &path] {
    return ::lstat(path.c_str(), &named) == 0 && S_ISREG(named.st_mode) && named.st_uid == ::geteuid() &&
           named.st_nlink == 1;
  };
  if (!is_own_file()) return;  // not even opened
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  // Once it is locked, the name must still stand for the same file: its writer may just have finished.
  if (lock(descriptor) && ::fstat(descriptor, &opened) == 0 && is_own_file() &&
      named.st_dev == opened.st_dev && named.st_ino == opened.st_ino)
    ::unlink(path.c_str());
  ::close(descriptor);
}

void remove_all_abandoned(const fs::path& target) {
  const std::string start = temporary_start(target);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(target.parent_path().c_str()), ::closedir);
  if (!folder) return;  // it cannot be listed, but perhaps written
  while (const dirent* const entry = ::readdir(folder.get()))
    if (is_temporary_name(entry->d_name, start)) remove_abandoned(target.parent_path() / entry->d_name);
}

}  // namespace

output_file::output_file(fs::path path) : path_(std::move(path)) {
  if (path_.empty()) throw error("cannot write to a file without a name");
  target_ = follow_links(fs::absolute(path_));
  struct stat old {};
  // By the path as given: the system may refuse to follow a link that another user has put into a shared
  // folder.
  const bool exists = ::stat(path_.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) fail("cannot write");
  if (!target_.has_filename() || (exists && S_ISDIR(old.st_mode))) fail("cannot write", EISDIR);
  is_direct_ = own_descriptor(target_) || (exists && !S_ISREG(old.st_mode));
  if (is_direct_) {
    open_direct();
    return;
  }
  // Renaming would also replace a write-protected file, which must be kept.
  if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail("cannot write");
  remove_all_abandoned(target_);
  if (!open_unnamed()) open_named();
  if (exists)
    (void)::fchmod(descriptor_, old.st_mode & 0777);  // some file systems have no permissions to set
}

output_file::~output_file() { discard(); }

void output_file::open_direct() {
  const auto number = own_descriptor(target_);
  // A duplicate continues at the current position; opening by name would start at the begin.
  descriptor_ = number ? ::fcntl(*number, F_DUPFD_CLOEXEC, 0)
                       : ::open(target_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
  if (descriptor_ < 0) fail("cannot write");
  struct stat opened {};
  if (number || (::fstat(descriptor_, &opened) == 0 && !S_ISREG(opened.st_mode))) return;
  discard();  // a regular file has just taken its place
  fail("cannot write", EAGAIN);
}

bool output_file::open_unnamed() {
  if (::access("/proc/self/fd", X_OK) != 0) return false;  // there linkat finds the file
  descriptor_ = ::open(target_.parent_path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return false;
  if (lock(descriptor_)) return true;
  discard();
  return false;
}

void output_file::open_named() {
  const auto create = [this](const char* name) {
    descriptor_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return descriptor_ >= 0;
  };
  if (!make_temporary("", create)) fail("cannot write");
  struct stat made {};
  if (lock(descriptor_) && ::fstat(descriptor_, &made) == 0 && made.st_nlink > 0) return;
  // No locks here, or another process was faster. Under this name nobody takes the file for abandoned.
  discard();
  if (!make_temporary("-unlocked", create)) fail("cannot write");
}

template <class Make> bool output_file::make_temporary(const char* ending, const Make& make) {
  for (int tries = 0; tries < 100; ++tries) {
    temporary_ = temporary_name(target_, ending);
    slot_ = enlist(temporary_);  // before it is made: a signal in between finds nothing to remove
    has_temporary_ = make(temporary_.c_str());
    if (has_temporary_) return true;
    strike(slot_);
    if (errno != EEXIST) return false;
  }
  return false;
}

void output_file::discard() {
  if (has_temporary_) ::unlink(temporary_.c_str());  // still locked
  has_temporary_ = false;
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  strike(slot_);
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
  if (!is_direct_) flush();
  // Closing a duplicate reports what closing would, and the file stays locked.
  const int closing = is_direct_ ? std::exchange(descriptor_, -1) : ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (closing >= 0 && ::close(closing) != 0 && errno != EINTR) fail("writing failed");
  if (is_direct_) return;
  if (has_temporary_ || !link_to_target()) {
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("renaming the finished file failed");
    has_temporary_ = false;
  }
  discard();
}

void output_file::flush() const {
  // Without it, a full disk may be noticed only after the old file is gone. Not all file systems can.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail("writing failed");
}

bool output_file::link_to_target() {
  const std::string from = fmt::format("/proc/self/fd/{}", descriptor_);
  const auto link = [&from](const char* name) {
    return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
  };
  if (link(target_.c_str())) return true;
  // A link replaces no file, a rename does. Nothing is between the two that could fail.
  if (!make_temporary("", link)) copy_aside();
  return false;
}

void output_file::copy_aside() {
  struct closed_at_end {
    int descriptor;
    ~closed_at_end() { ::close(descriptor); }
  } const unnamed{std::exchange(descriptor_, -1)};
  open_named();
  struct stat facts {};
  if (::fstat(unnamed.descriptor, &facts) == 0) (void)::fchmod(descriptor_, facts.st_mode & 0777);
  off_t at = 0;
  ssize_t copied = 0;
  do {
    copied = ::sendfile(descriptor_, unnamed.descriptor, &at, std::size_t{1} << 30);
    if (copied < 0 && errno != EINTR) fail("writing failed");
  } while (copied != 0);
  flush();
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
