#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include <nonzero/core/array.hpp>
#include <nonzero/io/npy_internal.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/output_file.hpp>

namespace nz {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;  // stays in the cache from check sum to write

/// Numbers one after the other, as zip has them: little-endian, without padding.
class record {
 public:
  template <class T> record& add(T number) {
    static_assert(std::endian::native == std::endian::little);
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  record& add_16(unsigned number) { return add(static_cast<std::uint16_t>(number)); }
  record& add_32(std::uint64_t number) { return add(static_cast<std::uint32_t>(number)); }
  record& add_text(std::string_view text) {
    bytes_.append(text);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Writes a zip file from front to back: check sum and compressed size follow each member, as the output may
/// be a pipe. Members have no time stamp, so that the same matrix gives the same bytes.
class zip_writer {
 public:
  zip_writer(output_file& file, bool compress) : file_(file), compress_(compress) {
    if (compress && deflateInit2(&deflate_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL,
                                 Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~zip_writer() {
    if (compress_) deflateEnd(&deflate_);
  }
  zip_writer(const zip_writer&) = delete;
  zip_writer& operator=(const zip_writer&) = delete;

  /// `size`: of what is then written; deflate makes it longer by less than a thousandth.
  void begin_entry(const std::string& name, std::uint64_t size) {
    end_entry();
    members_.push_back(
        {.name = name, .begin = done_, .is_large = size + size / 1000 + chunk_bytes >= most_32});
    const member& m = members_.back();
    const std::uint64_t known = compress_ ? 0 : size;  // a reader of a pipe must know where it ends
    record header;
    header.add_32(0x04034b50).add_text(facts_of(m).bytes());
    header.add_32(0).add_32(m.is_large ? most_32 : known).add_32(m.is_large ? most_32 : known);
    header.add_16(static_cast<unsigned>(name.size())).add_16(m.is_large ? 20 : 0).add_text(name);
    if (m.is_large) header.add_16(id_64).add_16(16).add(known).add(known);
    put(header.bytes());
    content_begin_ = done_;
    if (compress_) deflateReset(&deflate_);
  }

  void write(const void* bytes, std::size_t size) {
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

  void close() {
    end_entry();
    const std::uint64_t begin = done_;
    for (const member& m : members_) put_in_directory(m);
    const std::uint64_t bytes = done_ - begin, count = members_.size();
    if (done_ >= most_32) {
      const std::uint64_t end = done_;
      record large;
      large.add_32(0x06064b50)
          .add(std::uint64_t{44})
          .add_16(version_64)
          .add_16(version_64)
          .add_32(0)
          .add_32(0);
      large.add(count).add(count).add(bytes).add(begin);
      large.add_32(0x07064b50).add_32(0).add(end).add_32(1);
      put(large.bytes());
    }
    record last;
    last.add_32(0x06054b50).add_16(0).add_16(0);
    last.add_16(static_cast<unsigned>(count)).add_16(static_cast<unsigned>(count));
    last.add_32(std::min(bytes, most_32)).add_32(std::min(begin, most_32)).add_16(0);
    put(last.bytes());
  }

 private:
  static constexpr std::uint64_t most_32 = 0xffffffff;
  static constexpr unsigned id_64 = 1, version = 20, version_64 = 45;

  struct member {
    std::string name;
    std::uint64_t begin;
    bool is_large;  // its sizes are written with 64 bits
    std::uint64_t packed = 0, size = 0;
    std::uint32_t crc = 0;
  };

  /// What a member's header and its entry in the directory begin with: version, flags (sizes follow), method,
  /// and 1 January 1980.
  record facts_of(const member& m) const {
    record out;
    out.add_16(m.is_large ? version_64 : version).add_16(8).add_16(compress_ ? 8 : 0).add_16(0).add_16(0x21);
    return out;
  }

  void put_in_directory(const member& m) {
    const bool is_far = m.begin >= most_32;
    record extra;
    if (m.is_large) extra.add(m.size).add(m.packed);
    if (is_far) extra.add(m.begin);
    const auto bytes = static_cast<unsigned>(extra.bytes().size());
    record entry;
    constexpr unsigned made_by_unix = 3 << 8 | version_64;
    entry.add_32(0x02014b50).add_16(made_by_unix).add_text(facts_of(m).bytes()).add_32(m.crc);
    entry.add_32(m.is_large ? most_32 : m.packed).add_32(m.is_large ? most_32 : m.size);
    entry.add_16(static_cast<unsigned>(m.name.size())).add_16(bytes > 0 ? bytes + 4 : 0);
    constexpr std::uint64_t regular_file_0644 = std::uint64_t{0100644} << 16;
    entry.add_16(0).add_16(0).add_16(0).add_32(regular_file_0644).add_32(is_far ? most_32 : m.begin);
    entry.add_text(m.name);
    if (bytes > 0) entry.add_16(id_64).add_16(bytes).add_text(extra.bytes());
    put(entry.bytes());
  }

  void end_entry() {
    if (members_.empty()) return;
    if (compress_) put_deflated(nullptr, 0, Z_FINISH);
    member& m = members_.back();
    m.packed = done_ - content_begin_;
    record after;
    after.add_32(0x08074b50).add(m.crc);
    m.is_large ? after.add(m.packed).add(m.size) : after.add_32(m.packed).add_32(m.size);
    put(after.bytes());
  }

  void put_deflated(const unsigned char* from, std::size_t size, int flush) {
    deflate_.next_in = const_cast<unsigned char*>(from);
    deflate_.avail_in = static_cast<uInt>(size);
    do {
      deflate_.next_out = reinterpret_cast<unsigned char*>(deflated_.data());
      deflate_.avail_out = static_cast<uInt>(deflated_.size());
      deflate(&deflate_, flush);
      put({deflated_.data(), deflated_.size() - deflate_.avail_out});
    } while (deflate_.avail_out == 0);
  }

  void put(std::string_view bytes) {
    file_.write(bytes.data(), bytes.size());
    done_ += bytes.size();
  }

  output_file& file_;
  bool compress_;
  z_stream deflate_{};
  array<char> deflated_{array<char>(compress_ ? chunk_bytes / 4 : 0)};
  std::vector<member> members_;
  std::uint64_t done_ = 0, content_begin_ = 0;  // bytes written; before the member's content
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
