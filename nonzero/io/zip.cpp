#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/npy_internal.hpp>
#include <nonzero/io/zip_internal.hpp>

namespace nz {

using namespace zip;

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie in memory");

constexpr std::size_t local_bytes = 30, central_bytes = 46, end_bytes = 22, end_64_bytes = 56,
                      locator_bytes = 20;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;

[[noreturn]] void fail(const std::string& path, std::string_view what) {
  throw parse_error(fmt::format("{}: the zip is damaged or cut off: {}", path, what));
}

template <class T> T load(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
std::uint64_t load_16(std::string_view bytes, std::size_t at) { return load<std::uint16_t>(bytes, at); }

/// `count` bytes from `at`, or an error.
std::string_view cut(std::string_view zip, std::uint64_t at, std::uint64_t count, const std::string& path,
                     std::string_view what) {
  if (at > zip.size() || count > zip.size() - at) fail(path, what);
  return zip.substr(at, count);
}

/// What a member's header and its entry in the directory both say.
struct facts {
  unsigned flags, method;
  std::uint32_t crc;
  std::uint64_t packed, size, offset;
  std::string_view name;
};

/// Takes the numbers that did not fit into 32 bits from the extra field, in the order in which they are
/// there.
void take_64(std::string_view extra, std::initializer_list<std::uint64_t*> numbers, const std::string& path) {
  if (std::none_of(numbers.begin(), numbers.end(), [](auto* n) { return *n == in_extra_field; })) return;
  while (extra.size() >= 4 && load_16(extra, 0) != id_64)
    extra.remove_prefix(std::min<std::size_t>(4 + load_16(extra, 2), extra.size()));
  if (extra.size() < 4) return;  // it is just that number
  std::string_view field = cut(extra, 4, load_16(extra, 2), path, "an extra field");
  for (std::uint64_t* number : numbers) {
    if (*number != in_extra_field) continue;
    *number = load<std::uint64_t>(cut(field, 0, 8, path, "a size of 64 bits"), 0);
    field.remove_prefix(8);
    if (*number > most_bytes) fail(path, "a size");
  }
}

/// `header` has the fixed part and what follows it.
facts local_facts(std::string_view header, const std::string& path) {
  const std::uint64_t name = load_16(header, 26);
  facts f{static_cast<unsigned>(load_16(header, 6)), static_cast<unsigned>(load_16(header, 8)),
          load<std::uint32_t>(header, 14),           load<std::uint32_t>(header, 18),
          load<std::uint32_t>(header, 22),           0,
          header.substr(local_bytes, name)};
  take_64(header.substr(local_bytes + name), {&f.size, &f.packed}, path);
  return f;
}

facts central_facts(std::string_view header, const std::string& path) {
  const std::uint64_t name = load_16(header, 28), extra = load_16(header, 30);
  facts f{static_cast<unsigned>(load_16(header, 8)), static_cast<unsigned>(load_16(header, 10)),
          load<std::uint32_t>(header, 16),           load<std::uint32_t>(header, 20),
          load<std::uint32_t>(header, 24),           load<std::uint32_t>(header, 42),
          header.substr(central_bytes, name)};
  take_64(header.substr(central_bytes + name, extra), {&f.size, &f.packed, &f.offset}, path);
  return f;
}

std::uint64_t local_length(std::string_view header) {
  return local_bytes + load_16(header, 26) + load_16(header, 28);
}
std::uint64_t central_length(std::string_view header) {
  return central_bytes + load_16(header, 28) + load_16(header, 30) + load_16(header, 32);
}

/// Where the directory begins, and where it ends; the number of its entries.
struct directory {
  std::uint64_t begin, end, count;
};

directory find_directory(std::string_view zip, const std::string& path) {
  constexpr std::size_t longest_comment = 65535;
  const std::string_view tail = zip.substr(zip.size() - std::min(zip.size(), end_bytes + longest_comment));
  std::size_t at = tail.rfind(end_magic);
  while (at != tail.npos &&
         (tail.size() - at < end_bytes || load_16(tail, at + 20) != tail.size() - at - end_bytes))
    at = at == 0 ? tail.npos : tail.rfind(end_magic, at - 1);
  if (at == tail.npos) fail(path, "its directory, which comes last, is missing");
  const std::string_view end = tail.substr(at);
  const std::uint64_t end_at = zip.size() - end.size();
  directory d{load<std::uint32_t>(end, 16), end_at, load_16(end, 10)};
  std::uint64_t bytes = load<std::uint32_t>(end, 12);
  if (load_16(end, 4) != 0 || load_16(end, 6) != 0 || load_16(end, 8) != d.count)
    fail(path, "its end record");
  if (d.count == 0xffff || bytes == in_extra_field || d.begin == in_extra_field) {
    const bool has_room = end_at >= locator_bytes + end_64_bytes;
    const std::string_view locator = has_room ? zip.substr(end_at - locator_bytes, locator_bytes) : "";
    if (!locator.starts_with(locator_magic)) fail(path, "its end record of 64 bits is missing");
    d.end = load<std::uint64_t>(locator, 8);
    const std::string_view end_64 = cut(zip, d.end, end_64_bytes, path, "its end record of 64 bits");
    if (!end_64.starts_with(end_64_magic) ||
        load<std::uint64_t>(end_64, 4) != end_at - locator_bytes - d.end - 12)
      fail(path, "its end record of 64 bits");
    d.count = load<std::uint64_t>(end_64, 32);
    bytes = load<std::uint64_t>(end_64, 40);
    d.begin = load<std::uint64_t>(end_64, 48);
  }
  if (d.begin > d.end || d.end - d.begin != bytes) fail(path, "its directory does not end where it should");
  return d;
}

std::vector<facts> read_directory(std::string_view zip, const directory& d, const std::string& path) {
  std::vector<facts> out;
  std::string_view left = zip.substr(d.begin, d.end - d.begin);
  while (!left.empty()) {
    const std::string_view fixed = cut(left, 0, central_bytes, path, "an entry of its directory");
    const std::string_view header = cut(left, 0, central_length(fixed), path, "an entry of its directory");
    if (!header.starts_with(central_magic)) fail(path, "an entry of its directory");
    out.push_back(central_facts(header, path));
    left.remove_prefix(header.size());
  }
  if (out.size() != d.count) fail(path, "its directory does not have the entries it declares");
  return out;
}

/// Whether `bytes` are the check sum and the sizes of `f`, as they may follow a member of unknown size.
bool is_descriptor(std::string_view bytes, const facts& f) {
  const bool is_64 = bytes.size() >= 20;
  if (bytes.size() == 16 || bytes.size() == 24) {
    if (!bytes.starts_with(descriptor_magic)) return false;
    bytes.remove_prefix(4);
  }
  if (bytes.size() != (is_64 ? 20U : 12U) || load<std::uint32_t>(bytes, 0) != f.crc) return false;
  return is_64 ? load<std::uint64_t>(bytes, 4) == f.packed && load<std::uint64_t>(bytes, 12) == f.size
               : load<std::uint32_t>(bytes, 4) == f.packed && load<std::uint32_t>(bytes, 8) == f.size;
}

/// The member that directory entry `f` is about. It must lie at `f.offset` and end at `end`.
zip_entry member_of(std::string_view zip, const facts& f, std::uint64_t end, const std::string& path) {
  const std::string name(f.name);
  const auto wrong = [&](std::string_view what) { fail(path, fmt::format("member {}: {}", name, what)); };
  const std::string_view space = cut(zip, f.offset, end - f.offset, path, "a member");
  if (space.size() < local_bytes || !space.starts_with(local_magic) || space.size() < local_length(space))
    wrong("its header");
  const std::string_view header = space.substr(0, local_length(space));
  const facts local = local_facts(header, path);
  const bool is_streamed = (local.flags & has_descriptor) != 0;
  // Of a streamed member, what was not known at its begin is 0 there.
  const auto agree = [&](std::uint64_t there, std::uint64_t in_directory) {
    return there == in_directory || (is_streamed && there == 0);
  };
  if (local.name != f.name || local.method != f.method || ((local.flags ^ f.flags) & is_encrypted) ||
      !agree(local.crc, f.crc) || !agree(local.packed, f.packed) || !agree(local.size, f.size))
    wrong("its header does not agree with the directory");
  if (f.flags & is_encrypted) throw unsupported(fmt::format("{}: member {} is encrypted", path, name));
  if (f.method != stored && f.method != deflated)
    throw unsupported(fmt::format("{}: member {}: compression method {} is not read", path, name, f.method));
  const std::string_view rest = space.substr(header.size());
  if (f.packed > rest.size()) wrong("it is cut off");
  const std::string_view after = rest.substr(f.packed);
  if (!after.empty() && !(is_streamed && is_descriptor(after, f))) wrong("it is followed by other bytes");
  return {name, f.method == deflated, f.crc, f.size, rest.substr(0, f.packed)};
}

std::vector<zip_entry> read_entries(std::string_view zip, const std::string& path) {
  const directory d = find_directory(zip, path);
  const std::vector<facts> all = read_directory(zip, d, path);
  std::vector<std::uint64_t> begins;
  begins.reserve(all.size() + 1);
  for (const facts& f : all) begins.push_back(f.offset);
  begins.push_back(d.begin);
  std::sort(begins.begin(), begins.end());
  const bool has_twins = std::adjacent_find(begins.begin(), begins.end()) != begins.end();
  if (begins.front() != 0 || begins.back() != d.begin || has_twins)
    fail(path, "its members are not where they should be");
  std::vector<zip_entry> out;
  out.reserve(all.size());
  for (const facts& f : all)
    out.push_back(member_of(zip, f, *std::upper_bound(begins.begin(), begins.end(), f.offset), path));
  return out;
}

/// Follows the headers of a zip that is still arriving: throws as soon as it cannot be one, or goes on after
/// its end, so that a pipe without end is not read for long.
class zip_follower {
 public:
  explicit zip_follower(const std::string& path) : path_(path) {}

  void follow(std::string_view zip) {
    while (at_ < zip.size()) {
      if (is_over_) fail(path_, "it goes on after its end");
      const std::string_view rest = zip.substr(at_);
      const std::uint64_t length = inflate_         ? inflated_length(rest)
                                   : array_         ? array_length(rest)
                                   : is_descriptor_ ? descriptor_length(rest)
                                                    : record_length(rest);
      if (length == 0) return;
      at_ += length;
    }
  }

 private:
  // These return the length of what comes next, or 0 if too little of it has arrived.

  std::uint64_t record_length(std::string_view rest) {
    if (rest.size() < end_64_bytes && !rest.starts_with(end_magic) && !rest.starts_with(locator_magic)) {
      if (rest.size() >= 2 && !rest.starts_with("PK")) fail_here();
      return 0;
    }
    if (rest.starts_with(local_magic)) return member_length(rest);
    if (rest.starts_with(central_magic)) return central_length(rest);
    if (rest.starts_with(end_64_magic)) return 12 + std::min(load<std::uint64_t>(rest, 4), most_bytes);
    if (rest.starts_with(locator_magic)) return locator_bytes;
    if (!rest.starts_with(end_magic)) fail_here();
    is_over_ = rest.size() >= end_bytes;
    return is_over_ ? end_bytes + load_16(rest, 20) : 0;
  }
  /// Of a member whose size is not known, only the header.
  std::uint64_t member_length(std::string_view rest) {
    const std::uint64_t header = local_length(rest);
    if (rest.size() < header) return 0;
    const facts f = local_facts(rest.substr(0, header), path_);
    if (f.name.empty()) fail(path_, "a member without a name");
    is_descriptor_ = (f.flags & has_descriptor) != 0;
    if (f.packed > 0 || !is_descriptor_) return header + f.packed;
    // An array tells itself how long it is.
    if (f.method == stored)
      array_ = fmt::format("{}: member {}", path_, f.name);
    else
      inflate_.emplace(-15);
    return header;
  }
  std::uint64_t inflated_length(std::string_view rest) {
    std::array<Bytef, 65536> dropped;
    z_stream& z = inflate_->z;
    const std::size_t given = std::min(rest.size(), std::size_t{1} << 30);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
    z.avail_in = static_cast<uInt>(given);
    do {
      z.next_out = dropped.data();
      z.avail_out = static_cast<uInt>(dropped.size());
      if (inflate_->run(path_) == inflater::states::at_end) {
        const std::uint64_t length = given - z.avail_in;
        inflate_.reset();
        return length;
      }
    } while (z.avail_in > 0 || z.avail_out == 0);
    return given;
  }
  std::uint64_t array_length(std::string_view rest) {
    const std::optional<std::uint64_t> length = npy::length_of(rest, *array_);
    if (length) array_.reset();
    return length.value_or(0);
  }
  std::uint64_t descriptor_length(std::string_view rest) {
    constexpr std::size_t longest = 24;
    if (rest.size() < longest + local_magic.size()) return 0;
    is_descriptor_ = false;
    for (const std::size_t length : {std::size_t{16}, longest, std::size_t{12}, std::size_t{20}})
      if (rest.substr(length).starts_with(local_magic) || rest.substr(length).starts_with(central_magic))
        return length;
    fail_here();
  }
  [[noreturn]] void fail_here() const {
    fail(path_, fmt::format("there is no header at byte {}, counted from 1", at_ + 1));
  }

  const std::string& path_;
  std::uint64_t at_ = 0;
  bool is_over_ = false, is_descriptor_ = false;  // the end record was seen; a descriptor is next
  std::optional<inflater> inflate_;               // of the member that is arriving
  std::optional<std::string> array_;              // the name in messages of a stored member that is next
};

/// Reads all of a pipe; memory grows with what comes.
array<char> read_pipe(input_file& file) {
  array<char> out(std::size_t{64} << 10);
  zip_follower follower(file.path());
  std::size_t filled = 0;
  while (const std::size_t got = file.read_some(std::span(out).subspan(filled))) {
    filled += got;
    follower.follow({out.data(), filled});
    if (filled == out.size()) out.resize(2 * out.size());
  }
  out.resize(filled);
  return out;
}

}  // namespace

zip_file::zip_file(input_file& file) : path_(file.path()) {
  if (!file.is_zip()) throw parse_error(path_ + ": not a zip file, as every .npz is");
  std::optional<std::string_view> zip = file.text();
  if (!zip) {
    piped_ = read_pipe(file);
    zip = std::string_view(piped_.data(), piped_.size());
  }
  entries_ = read_entries(*zip, path_);
}

zip_member::zip_member(const zip_file& file, const zip_entry& entry)
    : entry_(entry), where_(fmt::format("{}: member {}", file.path(), entry.name)), left_(entry.content) {
  if (!entry.is_deflated) return;
  inflate_.emplace(-15);
}

std::size_t zip_member::produce(std::span<char> into) {
  constexpr std::size_t most = std::size_t{1} << 30;  // zlib counts in 32 bits
  if (is_at_end_) return 0;
  into = into.first(std::min(into.size(), most));
  std::size_t got = 0;
  if (!inflate_) {
    got = left_.copy(into.data(), into.size());
    left_.remove_prefix(got);
    is_at_end_ = got == 0;
  } else {
    z_stream& z = inflate_->z;
    z.next_out = reinterpret_cast<Bytef*>(into.data());
    z.avail_out = static_cast<uInt>(into.size());
    while (z.avail_out == into.size() && !is_at_end_) {
      if (left_.empty()) throw parse_error(where_ + ": the compressed data is cut off");
      z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left_.data()));
      z.avail_in = static_cast<uInt>(std::min(left_.size(), most));
      const std::size_t given = z.avail_in;
      is_at_end_ = inflate_->run(where_) == inflater::states::at_end;
      left_.remove_prefix(given - z.avail_in);
    }
    got = into.size() - z.avail_out;
  }
  done_ += got;
  if (done_ > entry_.size) throw parse_error(where_ + ": it is longer than the zip declares");
  crc_ = static_cast<std::uint32_t>(crc32_z(crc_, reinterpret_cast<const Bytef*>(into.data()), got));
  if (is_at_end_ && (done_ != entry_.size || crc_ != entry_.crc || !left_.empty()))
    throw parse_error(where_ + ": the data is damaged: its check sum or its length is wrong");
  return got;
}

void zip_member::skip_rest() {
  std::array<char, 16384> dropped;
  while (read(dropped) > 0) {
  }
}

}  // namespace nz
