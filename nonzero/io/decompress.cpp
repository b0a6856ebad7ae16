#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/decompress_internal.hpp>

namespace nz {
namespace {

constexpr std::size_t input_bytes = std::size_t{128} << 10;  // stays in the cache until it is decompressed
// Endless input could otherwise be read without end, in headers or in members of nothing.
constexpr std::uint64_t most_idle_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t most_padding_bytes = std::uint64_t{1} << 20;  // tapes have blocks of less

[[noreturn]] void refuse_idle(const std::string& where) {
  throw parse_error(
      fmt::format("{}: more than {} bytes of compressed data in a row hold nothing", where, most_idle_bytes));
}

}  // namespace

inflater::inflater(int window_bits) {
  if (inflateInit2(&z, window_bits) != Z_OK) throw std::bad_alloc();
}

inflater::states inflater::run(const std::string& where) {
  const int status = inflate(&z, Z_NO_FLUSH);
  if (status == Z_STREAM_END) return states::at_end;
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  // A "buffer error" only says that there was nothing to do.
  if (status != Z_OK && status != Z_BUF_ERROR)
    throw parse_error(fmt::format("{}: the compressed data is damaged: {}", where,
                                  z.msg ? z.msg : "no valid deflate data"));
  return states::going_on;
}

gzip_stream::gzip_stream(byte_stream& source, std::string where)
    : source_(source), where_(std::move(where)), input_(new char[input_bytes]) {}

bool gzip_stream::refill() {
  const std::size_t got = source_.read_some({input_.get(), input_bytes});
  inflate_.z.next_in = reinterpret_cast<Bytef*>(input_.get());
  inflate_.z.avail_in = static_cast<uInt>(got);
  return got > 0;
}

std::size_t gzip_stream::produce(std::span<char> into) {
  z_stream& z = inflate_.z;
  const auto wanted = static_cast<uInt>(std::min<std::size_t>(into.size(), std::size_t{1} << 30));
  z.next_out = reinterpret_cast<Bytef*>(into.data());
  z.avail_out = wanted;
  while (z.avail_out == wanted && !is_at_end_) {
    if (z.avail_in == 0 && !refill()) throw parse_error(where_ + ": the compressed data is cut off");
    const uInt before = z.avail_in;
    const auto state = inflate_.run(where_);
    idle_bytes_ = z.avail_out < wanted ? 0 : idle_bytes_ + (before - z.avail_in);
    if (idle_bytes_ > most_idle_bytes) refuse_idle(where_);
    if (state == inflater::states::at_end) end_member();
  }
  return wanted - z.avail_out;
}

void gzip_stream::end_member() {
  z_stream& z = inflate_.z;
  if (z.avail_in == 0 && !refill()) {
    is_at_end_ = true;
    return;
  }
  if (*z.next_in == 0) return end_in_padding();
  if (*z.next_in != 0x1f) throw parse_error(where_ + ": there are other bytes after the compressed data");
  inflateReset(&z);
}

void gzip_stream::end_in_padding() {
  z_stream& z = inflate_.z;
  std::uint64_t zeros = 0;
  do {
    if (std::any_of(z.next_in, z.next_in + z.avail_in, [](Bytef b) { return b != 0; }))
      throw parse_error(where_ + ": there are other bytes after the compressed data");
    zeros += z.avail_in;
    if (zeros > most_padding_bytes)
      throw parse_error(
          fmt::format("{}: more than {} zeros follow the compressed data", where_, most_padding_bytes));
  } while (refill());
  is_at_end_ = true;
}

archive_source::archive_source(byte_stream& source, std::string where)
    : source_(source),
      where_(std::move(where)),
      input_(new char[input_bytes]),
      archive_(archive_read_new(), archive_read_free) {
  if (!archive_) throw std::bad_alloc();
}

void archive_source::open() {
  if (archive_read_open(archive_.get(), this, nullptr, &archive_source::pass_on, nullptr) != ARCHIVE_OK)
    fail(where_);
}

la_ssize_t archive_source::pass_on(::archive* archive, void* self, const void** bytes) {
  auto* source = static_cast<archive_source*>(self);
  try {
    *bytes = source->input_.get();
    if (!source->failure_) {
      const std::size_t got = source->source_.read_some({source->input_.get(), input_bytes});
      if (got > source->idle_bytes_left_) refuse_idle(source->where_);
      source->idle_bytes_left_ -= got;
      return static_cast<la_ssize_t>(got);
    }
  } catch (...) {
    source->failure_ = std::current_exception();
  }
  archive_set_error(archive, EIO, "reading failed");
  return -1;
}

void archive_source::fail(const std::string& where) const {
  if (failure_) std::rethrow_exception(failure_);
  if (archive_errno(archive_.get()) == ENOMEM) throw std::bad_alloc();
  const char* text = archive_error_string(archive_.get());
  std::string_view reason = text ? text : "the compressed data is damaged or cut off";
  while (reason.ends_with('\n')) reason.remove_suffix(1);  // as some of libarchive's do
  throw parse_error(fmt::format("{}: {}", where, reason));
}

filter_stream::filter_stream(byte_stream& source, std::string where)
    : where_(where), archive_(source, std::move(where)) {
  // Not "all": that would let a file's first bytes start other programs (lrzip, lzop, grzip).
  for (const auto support :
       {archive_read_support_filter_bzip2, archive_read_support_filter_xz, archive_read_support_filter_lz4,
        archive_read_support_filter_zstd, archive_read_support_format_raw, archive_read_support_format_empty})
    support(archive_.get());
  archive_.limit_idle(most_idle_bytes);
  archive_.open();
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(archive_.get(), &entry);
  is_empty_ = status == ARCHIVE_EOF;
  if (!is_empty_ && status != ARCHIVE_OK && status != ARCHIVE_WARN) archive_.fail(where_);
}

std::size_t filter_stream::produce(std::span<char> into) {
  if (is_empty_) return 0;
  const la_ssize_t got = archive_read_data(archive_.get(), into.data(), into.size());
  if (got < 0) archive_.fail(where_);
  is_empty_ = got == 0;
  archive_.limit_idle(most_idle_bytes);
  return static_cast<std::size_t>(got);
}

tar_reader::tar_reader(byte_stream& source, std::string where)
    : where_(where), archive_(source, std::move(where)) {
  archive_read_support_format_tar(archive_.get());
  archive_.open();
}

std::optional<std::string> tar_reader::next() {
  for (;;) {
    // More than libarchive needs for the names and attributes of an entry, which it limits to 1 MiB each.
    ::operator delete(::operator new (std::size_t{8} << 20));
    archive_entry* header = nullptr;
    const int status = archive_read_next_header(archive_.get(), &header);
    if (status == ARCHIVE_EOF) return {};
    // Warnings are about unused things, such as a name that the locale cannot show.
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) archive_.fail(where_);
    if (archive_entry_filetype(header) != AE_IFREG || archive_entry_hardlink(header)) continue;
    // A few bytes can declare a hole of any size, which would be read as zeros.
    if (archive_entry_sparse_count(header) > 0) throw parse_error(where_ + ": sparse entries are not read");
    const char* const name = archive_entry_pathname(header);
    return name && *name ? name : "?";
  }
}

std::size_t tar_reader::read(std::span<char> into, const std::string& where) {
  std::size_t done = 0;
  while (done < into.size()) {
    const la_ssize_t got = archive_read_data(archive_.get(), into.data() + done, into.size() - done);
    if (got < 0) archive_.fail(where);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace nz
