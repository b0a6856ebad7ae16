#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <nonzero/core/types.hpp>
#include <nonzero/io/matrix_market.hpp>

// What the sources of the Matrix Market reader share: numbers, the header, blocks of lines. Not installed.
namespace nz::matrix_market {

using layouts = matrix_market_info::layouts;
using fields = matrix_market_info::fields;
using symmetries = matrix_market_info::symmetries;

/// What is wrong with a line; the caller knows its number.
struct bad_line {
  std::string reason;
};

template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw bad_line{fmt::format(text, std::forward<Args>(args)...)};
}

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// A position in a text. Lines end with '\n'; the last line may end with the text.
struct cursor {
  const char* at;
  const char* end;

  bool is_at_line_end() const { return at == end || *at == '\n'; }
  void skip_blanks() {
    while (at != end && is_blank(*at)) ++at;
  }
  /// Moves to the next line; only blanks may be left on this one.
  void finish_line() {
    skip_blanks();
    if (at == end) return;
    if (*at != '\n') refuse_rest(*this);
    ++at;
  }
  /// The word that starts here, for a message: shortened, printable.
  std::string word() const;
  /// By value: a cursor whose address is taken cannot stay in registers.
  [[noreturn]] static void refuse_rest(cursor c);
};

/// Eight characters as one word, digits as 0 to 9, the first in the lowest byte.
inline std::uint64_t load_8(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word ^ 0x3030303030303030;
}

/// The top bit of each byte that is not a digit; exact up to the first such byte. Adding 0x76 sets the top
/// bit of a byte above 9, and a carry out of such a byte only changes bytes after it.
inline std::uint64_t others_in(std::uint64_t word) {
  return ((word + 0x7676767676767676) | word) & 0x8080808080808080;
}

/// The number of eight digits: pairs, then fours, then eights.
inline std::uint64_t number_of(std::uint64_t word) {
  word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ff;
  word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffff;
  return (word * 10000 + (word >> 32)) & 0x00000000ffffffff;
}

/// The decimal digits at the front of 8 characters: their count and their number. Without a branch that
/// depends on them: files have numbers of all lengths, and the end of a loop over digits would be
/// mispredicted in every other number.
struct leading_digits {
  int count;
  std::uint64_t value;
};

inline leading_digits scan_8(const char* at) {
  const std::uint64_t word = load_8(at), others = others_in(word);
  const int count = others == 0 ? 8 : std::countr_zero(others) / 8;
  // Digits move to the end of the word, with zeros before them.
  return {count, count == 0 ? 0 : number_of(word << (64 - 8 * count))};
}

/// How many characters must follow for a number to be scanned the fast way.
constexpr std::ptrdiff_t scan_room = 64;

/// Indices that the fast way does not read: with a +, over 7 digits, near the end of the text, errors.
index parse_unusual_index(cursor& c, std::string_view what, index limit);

/// A 1-based row or column of at most `limit`, returned 0-based.
[[gnu::always_inline]] inline index parse_index(cursor& c, std::string_view what, index limit) {
  c.skip_blanks();
  if (c.end - c.at >= scan_room) {
    const auto [count, value] = scan_8(c.at);
    if (count < 8 && value - 1 < static_cast<std::uint64_t>(limit) &&
        (is_blank(c.at[count]) || c.at[count] == '\n')) {
      c.at += count;
      return static_cast<index>(value - 1);
    }
  }
  cursor slow = c;
  const index value = parse_unusual_index(slow, what, limit);
  c = slow;
  return value;
}

/// Numbers that the fast way does not read: d exponents, a leading +, nan and inf, overflow, more than 19
/// digits, near the end of the text, errors.
template <class V> V parse_unusual_value(cursor& c, bool must_be_integer);

inline constexpr std::uint64_t powers_of_ten[] = {1,      10,      100,      1000,     10000,
                                                  100000, 1000000, 10000000, 100000000};

/// The fast way: returns the end of the number at p, or nullptr for an unusual one.
template <class V>
[[gnu::always_inline]] inline const char* scan_value(const char* p, bool must_be_integer, V& value) {
  // digits [. digits] [e exponent], as one whole number times a power of ten. Reads at most 8 + 24 digits and
  // 13 more characters: within scan_room.
  const bool is_negative = *p == '-';
  p += is_negative;
  // Most numbers with a point have one digit before it.
  const bool is_one_digit = p[1] == '.' && is_digit(p[0]);
  const leading_digits whole =
      is_one_digit ? leading_digits{1, static_cast<std::uint64_t>(p[0] - '0')} : scan_8(p);
  p += whole.count;
  std::uint64_t digits = whole.value;
  int count = whole.count, power = 0;
  if (*p == '.' && !must_be_integer) {
    ++p;
    // Full words first: with a fixed step of 8, the next word can be loaded before this one is done.
    for (; power > -16; power -= 8, p += 8) {
      const std::uint64_t word = load_8(p);
      if (others_in(word) != 0) break;
      digits = digits * powers_of_ten[8] + number_of(word);
    }
    const leading_digits last = scan_8(p);
    p += last.count;
    power -= last.count;
    digits = digits * powers_of_ten[last.count] + last.value;
    count = (whole.value == 0 ? (whole.count > 0) : whole.count) - power;
  }
  bool is_usual = whole.count < 8 && count > 0 && count <= 19;
  if ((*p | 0x20) == 'e' && !must_be_integer) {
    const bool is_down = p[1] == '-';
    p += 1 + (is_down || p[1] == '+');
    const leading_digits exponent = scan_8(p);
    p += exponent.count;
    is_usual &= exponent.count > 0 && exponent.count < 5;
    power += is_down ? -static_cast<int>(exponent.value) : static_cast<int>(exponent.value);
  }
  if (!is_usual || !(*p == '\n' || is_blank(*p))) return nullptr;
  if (power == 0 && digits <= (std::uint64_t{1} << std::numeric_limits<V>::digits)) {
    value = is_negative ? -static_cast<V>(digits) : static_cast<V>(digits);
    return p;
  }
  // fast_float's conversion of digits and power to the nearest number; it reports if that is in doubt.
  using format = fast_float::binary_format<V>;
  const auto rounded = fast_float::compute_float<format>(power, digits);
  if (rounded.power2 < 0 || rounded.power2 == format::infinite_power()) return nullptr;
  fast_float::to_float(is_negative, rounded, value);
  return p;
}

/// A real or integer number.
template <class V> [[gnu::always_inline]] inline V parse_value(cursor& c, bool must_be_integer) {
  c.skip_blanks();
  V value;
  const char* const stop = c.end - c.at < scan_room ? nullptr : scan_value(c.at, must_be_integer, value);
  if (stop) {
    c.at = stop;
    return value;
  }
  cursor slow = c;
  value = parse_unusual_value<V>(slow, must_be_integer);
  c = slow;
  return value;
}

/// The banner and the size line.
struct header {
  matrix_market_info info;
  index rows = 0, cols = 0;
  offset entries = 0;    // lines of entries that must follow
  offset size_line = 0;  // the number of the size line

  /// Entries of the matrix that one line makes at most: an entry of a triangle is mirrored.
  int copies() const { return info.symmetry == symmetries::general ? 1 : 2; }
};

[[noreturn]] void throw_at(std::string_view name, offset line, std::string_view reason);

// Real lines have tens of bytes and headers a few thousand. What is longer may have no end.
constexpr std::ptrdiff_t longest_header_line = std::ptrdiff_t{1} << 16;  // comments may be longer
constexpr std::ptrdiff_t most_header_bytes = std::ptrdiff_t{1} << 26;
constexpr std::ptrdiff_t longest_line = std::ptrdiff_t{1} << 20;  // of an entry
constexpr std::size_t most_blank_bytes = std::size_t{1} << 24;    // in a portion without entries

/// Refuses a text with a NUL, as a hole of a file or a device has.
void require_text(std::string_view text);

/// Parses the header and removes it from `text`, which must hold all of the header or all of the file.
/// `skipped` lines after the banner are not in it any more.
header take_header(std::string_view& text, std::string_view name, offset skipped = 0);

/// The most lines of entries that `bytes` of text can hold.
std::size_t most_entries(const header& h, std::size_t bytes);

template <class V> using maybe_csr = std::optional<csr<V>>;

/// The ordered path: for a general coordinate file without blank lines whose entries are sorted by row and
/// column, as this library writes it. Parses straight into the arrays of the matrix. Returns nothing for any
/// other file, and for one with an error.
template <class V>
maybe_csr<V> parse_in_order(std::string_view text, const header& h, const read_options& options);

/// The general path. The text after the header comes in portions of whole lines (the last line of the file
/// need not end): `first`, then what next() returns, up to nothing.
template <class V>
csr<V> parse_body(const header& h, std::string_view name, const read_options& options, std::string_view first,
                  const std::function<std::optional<std::string_view>()>& next, matrix_market_info* info);

}  // namespace nz::matrix_market
