#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/types.hpp>
#include <nonzero/io/npy_internal.hpp>

namespace nz::npy {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are read and written as they lie in memory");

constexpr std::size_t longest_header = 65536;  // NumPy itself reads no more than 10,000
constexpr std::size_t longest_text = 64;
constexpr std::uint64_t most_length = std::uint64_t{1} << 60;
constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

template <class... Args>
[[noreturn]] void fail(const std::string& where, fmt::format_string<Args...> text, Args&&... args) {
  throw parse_error(where + ": " + fmt::format(text, std::forward<Args>(args)...));
}

/// Parses the Python literals that headers use: strings, whole numbers, and lists of items between brackets.
class literal_parser {
 public:
  literal_parser(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  [[noreturn]] void fail_here() const { fail(where_, "its header is not one of a .npy array"); }
  bool is_at_end() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    return rest_.empty();
  }
  bool accept(std::string_view word) {
    if (is_at_end() || !rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word)) fail_here();
  }
  std::string_view string() {
    const char quote = accept("'") ? '\'' : '"';
    if (quote == '"') expect("\"");
    const std::size_t end = rest_.find(quote);
    if (end == rest_.npos) fail_here();
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return found;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    if (is_at_end()) fail_here();
    const auto [end, wrong] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (wrong != std::errc{}) fail_here();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    accept("L");  // as Python 2 wrote them
    return value;
  }
  /// Calls item() at the begin of each item. A comma may follow the last one.
  template <class Item> void list(std::string_view open, std::string_view close, const Item& item) {
    expect(open);
    while (!accept(close)) {
      item();
      if (!accept(",")) return expect(close);
    }
  }

 private:
  std::string_view rest_;
  const std::string& where_;
};

void parse_descr(header& h, const std::string& where) {
  const std::string& d = h.descr;
  const auto is_plain = [](unsigned char c) { return c > ' ' && c < 127; };  // it goes into messages
  bool is_well_formed = d.size() >= 2 && d.size() <= 32 && std::all_of(d.begin(), d.end(), is_plain) &&
                        std::string_view("<>|=").find(d[0]) != std::string_view::npos;
  if (is_well_formed && d.size() > 2) {  // an object's, |O, has no size
    const char* last = d.data() + d.size();
    const auto [end, wrong] = std::from_chars(d.data() + 2, last, h.bytes);
    is_well_formed = wrong == std::errc{} && end == last;
  }
  if (!is_well_formed) fail(where, "its header does not name a type of elements");
  h.kind = d[1];
  if (h.kind == 'U') h.bytes = 4 * std::min<std::uint64_t>(h.bytes, 1000);  // longer ones are refused anyway
  if (d[0] == '>' && h.bytes > 1)
    throw unsupported(fmt::format(
        "{}: big-endian elements ({}) are not read; convert them with astype('<{}')", where, d, d.substr(1)));
  if (h.kind == 'c')
    throw unsupported(fmt::format("{}: complex values ({}) are not read; save the real part", where, d));
  constexpr std::array numeric = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"};
  if (h.kind != 'S' && h.kind != 'U' &&
      std::find(numeric.begin(), numeric.end(), d.substr(1)) == numeric.end())
    throw unsupported(fmt::format("{}: elements of type {} are not read", where, d));
}

/// Which arrays are read as a list of elements: of one dimension, or also one row or one column of two.
enum class shapes : std::uint8_t { list, row_or_column };

/// Where an array is read from: a member of a zip, or a .npy file.
struct source {
  byte_stream& in;
  const std::string& where;  // the start of messages
  std::uint64_t size;        // of the content; no_limit where it is not known
  std::uint64_t size_in_file;
};
source source_of(zip_member& in) { return {in, in.where(), in.entry().size, in.entry().content.size()}; }

/// Where the text of a header is, as the begin of an array says.
struct header_place {
  std::size_t begin, length;
};

/// `start` has at least 12 bytes, or all there are: magic, version, the length of the header in 2 or 4 bytes.
header_place find_header(std::string_view start, const std::string& where) {
  if (start.size() < 10 || !start.starts_with(magic)) fail(where, "it does not start as a .npy array does");
  const auto byte = [&](std::size_t at) { return std::size_t{static_cast<unsigned char>(start[at])}; };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) fail(where, "version {} of .npy is not known", version);
  if (version > 1 && start.size() < 12) fail(where, "it ends within its header");
  const std::size_t length = byte(8) | byte(9) << 8 | (version > 1 ? byte(10) << 16 | byte(11) << 24 : 0);
  if (length > longest_header) fail(where, "a header of {} bytes is too long", length);
  return {version > 1 ? 12U : 10U, length};
}

header read_header(byte_stream& in, const std::string& where) {
  const header_place place = find_header(in.peek().substr(0, 12), where);
  std::string text(place.begin + place.length, '\0');
  if (in.read(text) < text.size()) fail(where, "it ends within its header");
  return parse_header(std::string_view(text).substr(place.begin), where);
}

void expect_end(byte_stream& in, const std::string& where) {
  char more;
  // Also where the check sum is compared.
  if (in.read({&more, 1}) != 0) fail(where, "it goes on after the end of its array");
}

/// Makes room for `needed` elements: at once for as many of the `count` as the member would hold
/// uncompressed, after that by doubling.
template <class T>
void grow(array<T>& a, std::uint64_t needed, std::uint64_t count, std::uint64_t believable) {
  if (needed <= a.size()) return;
  const std::uint64_t size = std::min(count, std::max({needed, std::uint64_t{2} * a.size(), believable}));
  a.reserve(size);
  a.resize(size);
}

template <class From, class To> bool fits(From x) {
  if constexpr (std::is_integral_v<To>) return std::in_range<To>(x);
  // From half a unit above the largest float, rounding would make an infinity.
  if constexpr (sizeof(From) > sizeof(To) && std::is_floating_point_v<From>)
    return !(std::abs(x) >= 0x1.ffffffp127) || std::isinf(x);
  return true;
}

/// The nearest To; `x` fits. A cast of a number past the largest float would be undefined.
template <class From, class To> To nearest(From x) {
  constexpr double most = std::numeric_limits<float>::max();
  if constexpr (sizeof(From) > sizeof(To) && std::is_floating_point_v<From>)
    return static_cast<To>(std::isinf(x) ? x : std::clamp<From>(x, -most, most));
  else
    return static_cast<To>(x);
}

template <class From, class To>
void convert(std::span<const From> from, To* to, std::uint64_t position, const std::string& where) {
  bool all_fit = true;
  for (std::size_t i = 0; i < from.size(); ++i) {
    all_fit &= fits<From, To>(from[i]);
    to[i] = nearest<From, To>(from[i]);
  }
  if (all_fit) return;
  const auto wrong = std::find_if_not(from.begin(), from.end(), fits<From, To>);
  fail(where, "element {}, counted from 1, is {}, which no {}-bit {} holds",
       position + static_cast<std::uint64_t>(wrong - from.begin()) + 1, *wrong, 8 * sizeof(To),
       std::is_integral_v<To> ? "integer" : "float");
}

template <class From, class To>
array<To> read_elements(const source& from, std::uint64_t count,
                        const std::function<void(double)>& progress) {
  constexpr std::uint64_t chunk = chunk_bytes / sizeof(From);
  array<To> out;
  array<From> raw;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t n = std::min(count - done, chunk);
    grow(out, done + n, count, from.size_in_file / sizeof(From));
    std::span<From> into;
    if constexpr (std::is_same_v<From, To>) {
      into = std::span(out).subspan(done, n);
    } else {
      raw.resize(n);
      into = raw;
    }
    const std::size_t got = from.in.read({reinterpret_cast<char*>(into.data()), into.size_bytes()});
    if (got < into.size_bytes())
      fail(from.where, "it ends after {} of the {} elements it declares", done + got / sizeof(From), count);
    if constexpr (!std::is_same_v<From, To>) convert<From, To>(into, out.data() + done, done, from.where);
    done += n;
    if (progress) progress(static_cast<double>(done) / static_cast<double>(count));
  }
  return out;
}

/// The number of elements, after checks that need no element yet.
std::uint64_t checked_count(const header& h, const source& from, std::uint64_t limit, shapes allowed) {
  const bool is_row_or_column = allowed == shapes::row_or_column && h.shape.size() == 2;
  if (is_row_or_column && h.shape[0] != 1 && h.shape[1] != 1)
    throw shape_error(fmt::format("{}: an array of {} x {} is no vector: one row or one column is needed",
                                  from.where, h.shape[0], h.shape[1]));
  if (h.shape.size() != 1 && !is_row_or_column) {
    const std::string what = fmt::format("{}: an array of {} dimensions", from.where, h.shape.size());
    if (allowed == shapes::row_or_column) throw shape_error(what + " is no vector");
    throw unsupported(what + " instead of one, as in SciPy's bsr and dia formats; save it with .tocsr()");
  }
  const std::uint64_t count = is_row_or_column && h.shape[0] == 1 ? h.shape[1] : h.shape[0];
  if (count > limit) fail(from.where, "{} elements are more than the {} it may have", count, limit);
  // A count that cannot be true fails before anything is read.
  if (h.bytes > 0 && count > from.size / h.bytes) {
    if (from.size == no_limit) fail(from.where, "it declares more than any file holds");
    fail(from.where, "it declares {} elements of {} bytes, but is only {} bytes long", count, h.bytes,
         from.size);
  }
  return count;
}

template <class To>
array<To> read_from(const source& from, std::uint64_t limit, const std::function<void(double)>& progress,
                    shapes allowed) {
  const header h = read_header(from.in, from.where);
  const std::string type = h.descr.substr(1);
  if (h.kind == 'S' || h.kind == 'U' || (std::is_integral_v<To> && (h.kind == 'f' || h.kind == 'b')))
    fail(from.where, "elements of type {} where {} are needed", h.descr,
         std::is_integral_v<To> ? "integers" : "numbers");
  const std::uint64_t count = checked_count(h, from, limit, allowed);

  const auto read_as = [&]<class From>(From) { return read_elements<From, To>(from, count, progress); };
  array<To> out;
  if constexpr (std::is_floating_point_v<To>) {
    if (type == "f8") out = read_as(double{});
    if (type == "f4") out = read_as(float{});
  }
  if (type == "i8") out = read_as(std::int64_t{});
  if (type == "i4") out = read_as(std::int32_t{});
  if (type == "i2") out = read_as(std::int16_t{});
  if (type == "i1") out = read_as(std::int8_t{});
  if (type == "u8") out = read_as(std::uint64_t{});
  if (type == "u4") out = read_as(std::uint32_t{});
  if (type == "u2") out = read_as(std::uint16_t{});
  if (type == "u1" || type == "b1") out = read_as(std::uint8_t{});
  if (type == "b1") std::transform(out.begin(), out.end(), out.begin(), [](To x) { return To(x != 0); });
  expect_end(from.in, from.where);
  return out;
}

}  // namespace

header parse_header(std::string_view text, const std::string& where) {
  literal_parser in(text, where);
  header h;
  bool has_descr = false, has_shape = false;
  in.list("{", "}", [&] {
    const std::string_view key = in.string();
    in.expect(":");
    if (key == "descr") {
      if (in.accept("[")) throw unsupported(where + ": structured elements are not read");
      h.descr = in.string();
      has_descr = true;
    } else if (key == "shape") {
      h.shape.clear();
      in.list("(", ")", [&] { h.shape.push_back(in.number()); });
      has_shape = true;
    } else if (key != "fortran_order" || (!in.accept("True") && !in.accept("False"))) {
      in.fail_here();  // the order itself does not matter in one dimension
    }
  });
  if (!in.is_at_end() || !has_descr || !has_shape) in.fail_here();
  parse_descr(h, where);
  return h;
}

std::optional<std::uint64_t> length_of(std::string_view start, const std::string& where) {
  if (start.size() < 12) return std::nullopt;
  const header_place place = find_header(start, where);
  const std::size_t begin = place.begin + place.length;
  if (start.size() < begin) return std::nullopt;
  const header h = parse_header(start.substr(place.begin, place.length), where);
  std::uint64_t length = h.bytes;
  for (const std::uint64_t count : h.shape)
    if (count > 0 && length > most_length / count)
      fail(where, "it declares more than any file holds");
    else
      length *= count;
  return begin + length;
}

std::string make_header(std::string_view descr, std::string_view shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape);
  const std::size_t prefix = magic.size() + 4;
  text.resize((prefix + text.size() + 1 + 63) / 64 * 64 - prefix, ' ');
  text.back() = '\n';
  std::string out(magic);
  out += {1, 0, static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return out + text;
}

std::uint64_t count_of(const zip_file& file, const zip_entry& entry, std::uint64_t limit) {
  zip_member in(file, entry);
  return checked_count(read_header(in, in.where()), source_of(in), limit, shapes::list);
}

template <class To>
array<To> read_array(const zip_file& file, const zip_entry& entry, std::uint64_t limit,
                     const std::function<void(double)>& progress) {
  zip_member in(file, entry);
  return read_from<To>(source_of(in), limit, progress, shapes::list);
}

template <class To> array<To> read_vector(const zip_file& file, const zip_entry& entry) {
  zip_member in(file, entry);
  return read_from<To>(source_of(in), no_limit, {}, shapes::row_or_column);
}

template <class To> array<To> read_vector(byte_stream& in, const std::string& where) {
  return read_from<To>({in, where, no_limit, 0}, no_limit, {}, shapes::row_or_column);
}

std::string read_text(const zip_file& file, const zip_entry& entry) {
  zip_member in(file, entry);
  const header h = read_header(in, in.where());
  const bool is_single = h.shape.empty() || h.shape == std::vector<std::uint64_t>{1};
  if (!is_single || (h.kind != 'S' && h.kind != 'U')) fail(in.where(), "it is not a text");
  if (h.bytes > longest_text) fail(in.where(), "a text of {} bytes is too long", h.bytes);
  std::string raw(h.bytes, '\0');
  if (in.read(raw) < raw.size()) fail(in.where(), "it ends within its text");
  expect_end(in, in.where());
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const bool is_upper_byte = h.kind == 'U' && i % 4 != 0;
    if (!is_upper_byte && std::isprint(static_cast<unsigned char>(raw[i])))
      text += raw[i];
    else if (raw[i] != 0)  // the rest of a character, and what fills up, are zeros
      fail(in.where(), "it is not plain ASCII");
  }
  return text;
}

#define NONZERO_INSTANTIATE(T)                                                   \
  template array<T> read_array(const zip_file&, const zip_entry&, std::uint64_t, \
                               const std::function<void(double)>&);              \
  template array<T> read_vector(byte_stream&, const std::string&);               \
  template array<T> read_vector(const zip_file&, const zip_entry&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
NONZERO_INSTANTIATE(index)
NONZERO_INSTANTIATE(offset)
#undef NONZERO_INSTANTIATE

}  // namespace nz::npy
