#include <algorithm>
#include <cerrno>
#include <numeric>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/decompress_internal.hpp>
#include <nonzero/io/input_file.hpp>

namespace nz {
namespace {

constexpr std::size_t tar_block = 512;

[[noreturn]] void fail_with(int system_error, const std::string& path) {
  throw parse_error(fmt::format("{}: {}", path, std::generic_category().message(system_error)));
}

/// Whether a text starts with the header of a tar's entry, whose check sum is the sum of its bytes, the check
/// sum itself counted as blanks.
bool is_tar(std::string_view start) {
  constexpr std::size_t sum_at = 148, sum_length = 8;
  if (start.size() < tar_block) return false;
  std::string_view digits = start.substr(sum_at, sum_length);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find_first_not_of("01234567"));
  const unsigned declared =
      std::accumulate(digits.begin(), digits.end(), 0U, [](unsigned n, char c) { return 8 * n + (c - '0'); });
  unsigned as_unsigned = sum_length * ' ';
  int as_signed = sum_length * ' ';  // as some old programs wrote it
  for (std::size_t i = 0; i < tar_block; ++i) {
    if (i - sum_at < sum_length) continue;
    as_unsigned += static_cast<unsigned char>(start[i]);
    as_signed += static_cast<signed char>(start[i]);
  }
  return !digits.empty() && (declared == as_unsigned || static_cast<int>(declared) == as_signed);
}

/// The file's content, or nothing if it is not compressed.
std::unique_ptr<byte_stream> decompress(input_file& file) {
  if (file.is_zip())
    throw parse_error(file.path() +
                      ": a zip; the only zips that are read are .npz, where a matrix is needed");
  const std::string_view start = file.peek();
  if (start.starts_with("\x1f\x8b")) return std::make_unique<gzip_stream>(file, file.path());
  for (const std::string_view magic : {"BZh",
                                       "\xfd"
                                       "7zXZ",
                                       "\x04\x22\x4d\x18", "\x28\xb5\x2f\xfd"})
    if (start.starts_with(magic)) return std::make_unique<filter_stream>(file, file.path());
  return nullptr;
}

}  // namespace

std::size_t byte_stream::read_some(std::span<char> into) {
  if (into.empty()) return 0;
  if (taken_ == ahead_.size()) return produce(into);
  const std::size_t got = ahead_.copy(into.data(), into.size(), taken_);
  taken_ += got;
  return got;
}

std::size_t byte_stream::read(std::span<char> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const std::size_t got = read_some(into.subspan(done));
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::string_view byte_stream::peek() {
  if (ahead_.size() - taken_ < tar_block) {
    std::string next(tar_block, '\0');
    next.resize(read(next));
    ahead_ = std::move(next);
    taken_ = 0;
  }
  return std::string_view(ahead_).substr(taken_);
}

input_file::input_file(const std::filesystem::path& path)
    : path_(path.native()), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)) {
  if (descriptor_ < 0) fail_with(errno, path_);
  struct stat facts {};
  const int problem = ::fstat(descriptor_, &facts) != 0 ? errno : S_ISDIR(facts.st_mode) ? EISDIR : 0;
  if (problem != 0) {
    ::close(descriptor_);
    fail_with(problem, path_);
  }
  if (S_ISREG(facts.st_mode)) size_ = static_cast<std::uint64_t>(facts.st_size);
}

input_file::~input_file() {
  if (!mapped_.empty()) ::munmap(const_cast<char*>(mapped_.data()), mapped_.size());
  ::close(descriptor_);
}

std::optional<std::string_view> input_file::text() {
  // mmap refuses an empty file.
  if (!size_ || !mapped_.empty() || *size_ == 0) return size_ ? std::optional(mapped_) : std::nullopt;
  void* const memory = ::mmap(nullptr, *size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (memory == MAP_FAILED) return std::nullopt;
  ::madvise(memory, *size_, MADV_SEQUENTIAL);
  mapped_ = {static_cast<const char*>(memory), *size_};
  return mapped_;
}

double input_file::progress() const {
  if (!size_ || *size_ == 0) return 0;
  return std::min(1.0, static_cast<double>(consumed_) / static_cast<double>(*size_));
}

std::size_t input_file::produce(std::span<char> into) {
  ssize_t got;
  do got = ::read(descriptor_, into.data(), into.size());
  while (got < 0 && errno == EINTR);
  if (got < 0) fail_with(errno, path_);
  consumed_ += static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

archive_reader::archive_reader(input_file& file)
    : file_(file),
      where_(file.path()),
      decompressed_(decompress(file)),
      content_(decompressed_ ? *decompressed_ : file),
      tar_(is_tar(content_.peek()) ? std::make_unique<tar_reader>(content_, file.path()) : nullptr) {}

archive_reader::~archive_reader() = default;

std::optional<archive_reader::entry> archive_reader::next() {
  if (!tar_) {
    if (is_at_end_ || content_.peek().empty()) return {};
    is_at_end_ = true;
    return entry{};
  }
  where_ = file_.path();
  std::optional<std::string> name = tar_->next();
  if (name) {
    where_ = fmt::format("{}: member {}", file_.path(), *name);
    return entry{std::move(*name)};
  }
  // Blocks of zeros fill up a tar.
  constexpr std::size_t most_padding = std::size_t{1} << 20;
  std::string rest(most_padding, '\0');
  if (content_.read(rest) == most_padding)
    throw parse_error(file_.path() + ": it goes on after the end of the archive");
  return {};
}

std::size_t archive_reader::read(std::span<char> into) {
  return tar_ ? tar_->read(into, where_) : content_.read(into);
}

}  // namespace nz
