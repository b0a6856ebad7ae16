#include <algorithm>
#include <bit>
#include <new>

#include <nonzero/io/zip_internal.hpp>

namespace nz {

using namespace zip;

namespace {

constexpr std::uint64_t most_32 = in_extra_field;
constexpr unsigned version = 20, version_64 = 45;

/// Numbers one after the other, as zip has them: little-endian, without padding.
class record {
 public:
  explicit record(std::string_view magic = {}) : bytes_(magic) {}
  template <class T> record& add(T number) {
    static_assert(std::endian::native == std::endian::little);
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  record& add_16(std::uint64_t number) { return add(static_cast<std::uint16_t>(number)); }
  record& add_32(std::uint64_t number) { return add(static_cast<std::uint32_t>(number)); }
  record& add_text(std::string_view text) {
    bytes_.append(text);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace

zip_writer::zip_writer(output_file& file, bool compress)
    : file_(file), compress_(compress), deflated_(compress ? chunk_bytes / 4 : 0) {
  if (compress && deflateInit2(&deflate_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL,
                               Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

zip_writer::~zip_writer() {
  if (compress_) deflateEnd(&deflate_);
}

void zip_writer::begin_entry(const std::string& name, std::uint64_t size) {
  end_entry();
  members_.push_back({.name = name, .begin = done_, .is_large = size + size / 1000 + chunk_bytes >= most_32});
  const member& m = members_.back();
  const std::uint64_t known = compress_ ? 0 : size;  // a reader of a pipe must know where it ends
  record header(local_magic);
  header.add_text(facts_of(m)).add_32(0);
  header.add_32(m.is_large ? most_32 : known).add_32(m.is_large ? most_32 : known);
  header.add_16(name.size()).add_16(m.is_large ? 20 : 0).add_text(name);
  if (m.is_large) header.add_16(id_64).add_16(16).add(known).add(known);
  put(header.bytes());
  content_begin_ = done_;
  if (compress_) deflateReset(&deflate_);
}

void zip_writer::write(const void* bytes, std::size_t size) {
  const auto* from = static_cast<const unsigned char*>(bytes);
  while (size > 0) {
    const std::size_t chunk = std::min(size, chunk_bytes);
    member& m = members_.back();
    m.crc = static_cast<std::uint32_t>(crc32(m.crc, from, static_cast<uInt>(chunk)));
    m.size += chunk;
    compress_ ? put_deflated(from, chunk, Z_NO_FLUSH) : put({reinterpret_cast<const char*>(from), chunk});
    from += chunk;
    size -= chunk;
  }
}

void zip_writer::close() {
  end_entry();
  const std::uint64_t begin = done_, count = members_.size();
  for (const member& m : members_) put_in_directory(m);
  const std::uint64_t end = done_, bytes = end - begin;
  if (begin >= most_32) {  // the directory itself is small
    record large(end_64_magic);
    large.add(std::uint64_t{44}).add_16(version_64).add_16(version_64).add_32(0).add_32(0);
    large.add(count).add(count).add(bytes).add(begin);
    large.add_text(locator_magic).add_32(0).add(end).add_32(1);
    put(large.bytes());
  }
  record last(end_magic);
  last.add_16(0).add_16(0).add_16(count).add_16(count);
  last.add_32(bytes).add_32(std::min(begin, most_32)).add_16(0);
  put(last.bytes());
}

/// What a member's header and its entry in the directory begin with: version, flags, method, and 1 January
/// 1980.
std::string zip_writer::facts_of(const member& m) const {
  record out;
  out.add_16(m.is_large ? version_64 : version).add_16(has_descriptor).add_16(compress_ ? deflated : stored);
  return out.add_16(0).add_16(0x21).bytes();
}

void zip_writer::put_in_directory(const member& m) {
  const bool is_far = m.begin >= most_32;
  record extra;
  if (m.is_large) extra.add(m.size).add(m.packed);
  if (is_far) extra.add(m.begin);
  const std::size_t bytes = extra.bytes().size();
  constexpr unsigned made_by_unix = 3 << 8 | version_64;
  record entry(central_magic);
  entry.add_16(made_by_unix).add_text(facts_of(m)).add_32(m.crc);
  entry.add_32(m.is_large ? most_32 : m.packed).add_32(m.is_large ? most_32 : m.size);
  entry.add_16(m.name.size()).add_16(bytes > 0 ? bytes + 4 : 0);
  constexpr std::uint64_t regular_file_0644 = std::uint64_t{0100644} << 16;
  entry.add_16(0).add_16(0).add_16(0).add_32(regular_file_0644).add_32(is_far ? most_32 : m.begin);
  entry.add_text(m.name);
  if (bytes > 0) entry.add_16(id_64).add_16(bytes).add_text(extra.bytes());
  put(entry.bytes());
}

void zip_writer::end_entry() {
  if (members_.empty()) return;
  if (compress_) put_deflated(nullptr, 0, Z_FINISH);
  member& m = members_.back();
  m.packed = done_ - content_begin_;
  record after(descriptor_magic);
  after.add(m.crc);
  m.is_large ? after.add(m.packed).add(m.size) : after.add_32(m.packed).add_32(m.size);
  put(after.bytes());
}

void zip_writer::put_deflated(const unsigned char* from, std::size_t size, int flush) {
  deflate_.next_in = const_cast<unsigned char*>(from);
  deflate_.avail_in = static_cast<uInt>(size);
  do {
    deflate_.next_out = reinterpret_cast<unsigned char*>(deflated_.data());
    deflate_.avail_out = static_cast<uInt>(deflated_.size());
    deflate(&deflate_, flush);
    put({deflated_.data(), deflated_.size() - deflate_.avail_out});
  } while (deflate_.avail_out == 0);
}

void zip_writer::put(std::string_view bytes) {
  file_.write(bytes.data(), bytes.size());
  done_ += bytes.size();
}

}  // namespace nz
