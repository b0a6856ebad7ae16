#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include <fast_float/fast_float.h>

#include <nonzero/core/types.hpp>
#include <nonzero/io/matrix_market.hpp>

// The words of a Matrix Market file: its numbers and its header. For the reader alone: not installed.
namespace nz::matrix_market {

/// What is wrong with a line; where the line is, the reader of the whole text knows.
struct bad_line {
  std::string reason;
};

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// A place in a text. Lines end with '\n'; the last may end with the text.
struct cursor {
  const char* at;
  const char* end;

  bool is_at_line_end() const { return at == end || *at == '\n'; }
  void skip_blanks() {
    while (at != end && is_blank(*at)) ++at;
  }
  /// Past the end of this line, which must have nothing but blanks left.
  void finish_line() {
    skip_blanks();
    if (at == end) return;
    if (*at != '\n') throw_garbage();
    ++at;
  }
  /// The word that starts here, cut to a length fit for a message, with nothing unprintable in it.
  std::string word() const;
  [[noreturn]] void throw_garbage() const;
};

[[noreturn]] void throw_bad_index(cursor from, std::string_view what, offset limit);
[[noreturn]] void throw_bad_value(cursor from);

/// A 1-based row or column of at most `limit`, returned 0-based.
inline index parse_index(cursor& c, std::string_view what, index limit) {
  c.skip_blanks();
  const cursor from = c;
  if (c.at != c.end && *c.at == '+') ++c.at;
  const char* digits = c.at;
  std::uint64_t value = 0;
  for (; c.at != c.end && is_digit(*c.at); ++c.at)
    value = value * 10 + static_cast<unsigned char>(*c.at - '0');
  // Up to 18 digits cannot overflow; more are too large whatever they are, unless they are leading zeros.
  const auto length = c.at - digits;
  const bool is_number = length > 0 && length <= 18 && (c.is_at_line_end() || is_blank(*c.at));
  if (!is_number || value - 1 >= static_cast<std::uint64_t>(limit)) throw_bad_index(from, what, limit);
  return static_cast<index>(value - 1);
}

/// Numbers that the fast way does not take: d exponents, a leading +, overflow, more than 18 digits.
template <class V> V parse_unusual_value(cursor& c, bool must_be_integer);

/// A real or integer number.
template <class V> V parse_value(cursor& c, bool must_be_integer) {
  c.skip_blanks();
  const char* const from = c.at;
  // Most values of most files are short whole numbers.
  const bool is_negative = c.at != c.end && *c.at == '-';
  const char* const digits = from + is_negative;
  const char* p = digits;
  std::int64_t whole = 0;
  for (; p != c.end && is_digit(*p) && p - digits < 18; ++p) whole = whole * 10 + (*p - '0');
  const bool ends = p == c.end || *p == '\n' || is_blank(*p);
  if (p != digits && ends) {
    c.at = p;
    const auto value = static_cast<V>(whole);
    return is_negative ? -value : value;
  }
  if (!must_be_integer) {
    V value = 0;
    const auto [stop, error] = fast_float::from_chars(from, c.end, value);
    if (error == std::errc{} && (stop == c.end || *stop == '\n' || is_blank(*stop)) && std::isfinite(value)) {
      c.at = stop;
      return value;
    }
  }
  return parse_unusual_value<V>(c, must_be_integer);
}

/// The banner and the size line.
struct header {
  matrix_market_info info;
  index rows = 0, cols = 0;
  offset entries = 0;  // lines of entries that must follow
};

/// Reads up to the first line of entries. `lines` counts the lines passed, also when it throws `bad_line`,
/// then including the bad one. Throws `unsupported` for what the format allows and we do not read.
header parse_header(cursor& c, offset& lines);

}  // namespace nz::matrix_market
