#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/matrix_market_internal.hpp>

namespace nz::matrix_market {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// The next word of the line; empty at its end.
std::string_view next_word(cursor& c) {
  c.skip_blanks();
  const char* const from = c.at;
  while (!c.is_at_line_end() && !is_blank(*c.at)) ++c.at;
  return {from, static_cast<std::size_t>(c.at - from)};
}

void skip_line(cursor& c) {
  c.at = std::find(c.at, c.end, '\n');
  if (c.at != c.end) ++c.at;
}

matrix_market_info parse_banner(cursor& c) {
  const cursor start = c;
  if (c.at == c.end) throw bad_line{"the file is empty"};
  if (lower(next_word(c)) != "%%matrixmarket")
    throw bad_line{
        fmt::format("not a Matrix Market file: it starts with {} instead of '%%MatrixMarket'", start.word())};
  const std::array words{lower(next_word(c)), lower(next_word(c)), lower(next_word(c)), lower(next_word(c))};
  const auto& [object, layout, field, symmetry] = words;
  const auto refuse = [](std::string_view what, std::string_view word, std::string_view expected) {
    const cursor shown{word.data(), word.data() + word.size()};
    throw bad_line{fmt::format("unknown {} {}: expected {}", what, shown.word(), expected)};
  };

  if (object != "matrix") refuse("object", object, "'matrix'");
  matrix_market_info info;
  if (layout == "array")
    info.layout = matrix_market_info::layouts::array;
  else if (layout != "coordinate")
    refuse("layout", layout, "'coordinate' or 'array'");

  if (field == "integer" || field == "unsigned-integer")
    info.field = matrix_market_info::fields::integer;
  else if (field == "pattern")
    info.field = matrix_market_info::fields::pattern;
  else if (field == "complex")
    throw unsupported("complex matrices are not supported yet: only real, integer and pattern ones");
  else if (field != "real" && field != "double")
    refuse("field", field, "'real', 'integer' or 'pattern'");

  if (symmetry == "symmetric")
    info.symmetry = matrix_market_info::symmetries::symmetric;
  else if (symmetry == "skew-symmetric")
    info.symmetry = matrix_market_info::symmetries::skew_symmetric;
  else if (symmetry == "hermitian")
    throw unsupported(
        "hermitian matrices are not supported yet: only general, symmetric and skew-symmetric ones");
  else if (symmetry != "general")
    refuse("symmetry", symmetry, "'general', 'symmetric' or 'skew-symmetric'");

  if (info.field == matrix_market_info::fields::pattern) {
    if (info.layout == matrix_market_info::layouts::array)
      throw bad_line{"an array file cannot be a pattern"};
    if (info.symmetry == matrix_market_info::symmetries::skew_symmetric)
      throw bad_line{"a skew-symmetric file cannot be a pattern"};
  }
  c.finish_line();
  return info;
}

offset parse_size(cursor& c, std::string_view what, offset limit) {
  c.skip_blanks();
  const cursor from = c;
  const std::string_view word = next_word(c);
  if (word.empty()) throw bad_line{fmt::format("the number of {} is missing from the size line", what)};
  offset value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range || (error == std::errc{} && value > limit))
    throw bad_line{fmt::format("{} {} are more than the {} that fit", from.word(), what, limit)};
  if (error != std::errc{} || stop != word.data() + word.size())
    throw bad_line{fmt::format("{} is not a number of {}", from.word(), what)};
  if (value < 0) throw bad_line{fmt::format("{} is a negative number of {}", value, what)};
  return value;
}

[[noreturn]] void throw_bad_value(cursor from) {
  if (from.is_at_line_end()) throw bad_line{"the value is missing"};
  throw bad_line{fmt::format("{} is not a number", from.word())};
}

/// The number of values of an array file: of a symmetric one the lower triangle, of a skew-symmetric one
/// without the diagonal. At most 2^62.
offset array_entries(const header& h) {
  const offset n = h.rows;
  switch (h.info.symmetry) {
    case matrix_market_info::symmetries::general:
      return n * h.cols;
    case matrix_market_info::symmetries::symmetric:
      return n * (n + 1) / 2;
    case matrix_market_info::symmetries::skew_symmetric:
      return n * (n - 1) / 2;
  }
  return 0;
}

}  // namespace

std::string cursor::word() const {
  const char* stop = at;
  while (stop != end && *stop != '\n' && !is_blank(*stop) && stop - at < 32) ++stop;
  if (stop == at) return "nothing";
  std::string out(at, stop);
  for (char& c : out)
    if (c < 32 || c > 126) c = '?';
  const bool is_cut = stop != end && *stop != '\n' && !is_blank(*stop);
  return fmt::format("'{}{}'", out, is_cut ? "..." : "");
}

void cursor::throw_garbage(cursor c) {
  throw bad_line{fmt::format("unexpected {} at the end of the line", c.word())};
}

void throw_bad_index(cursor from, std::string_view what, offset limit) {
  if (from.is_at_line_end()) throw bad_line{fmt::format("the {} is missing", what)};
  const char* p = from.at;
  const bool is_negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const char* const digits = p;
  bool is_zero = true;
  for (; p != from.end && is_digit(*p); ++p) is_zero &= *p == '0';
  const bool is_whole = p != digits && (p == from.end || *p == '\n' || is_blank(*p));
  if (!is_whole) throw bad_line{fmt::format("{} is not a {} number", from.word(), what)};
  if (is_zero) throw bad_line{fmt::format("{} 0: rows and columns count from 1", what)};
  if (is_negative)
    throw bad_line{fmt::format("{} {} is negative", what, std::string(from.at, p).substr(0, 24))};
  throw bad_line{
      fmt::format("{} {} exceeds the declared {}", what, std::string(digits, p).substr(0, 24), limit)};
}

index parse_unusual_index(cursor& c, std::string_view what, index limit) {
  const cursor from = c;
  if (c.at != c.end && *c.at == '+') ++c.at;
  const char* const start = c.at;
  while (c.at != c.end && *c.at == '0') ++c.at;
  const char* const digits = c.at;
  std::uint64_t value = 0;
  for (; c.at != c.end && is_digit(*c.at); ++c.at)
    value = value * 10 + static_cast<unsigned char>(*c.at - '0');
  // Up to 18 digits cannot overflow; more are too large.
  const bool is_number = c.at != start && c.at - digits <= 18 && (c.is_at_line_end() || is_blank(*c.at));
  if (!is_number || value - 1 >= static_cast<std::uint64_t>(limit)) throw_bad_index(from, what, limit);
  return static_cast<index>(value - 1);
}

template <class V> V parse_unusual_value(cursor& c, bool must_be_integer) {
  const cursor from = c;
  std::string word(next_word(c));
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.erase(0, 1);
  if (must_be_integer) {
    const std::size_t first = word.starts_with('-') ? 1 : 0;
    if (word.size() == first || !std::all_of(word.begin() + first, word.end(), is_digit)) {
      if (word.empty()) throw_bad_value(from);
      throw bad_line{fmt::format("{} is not a whole number, as an integer file must hold", from.word())};
    }
  }
  const bool is_text = word.find_first_of("nN") != std::string::npos;  // nan, inf
  if (!is_text)
    std::replace_if(
        word.begin(), word.end(), [](char x) { return x == 'd' || x == 'D'; }, 'e');
  V value = 0;
  const auto [stop, error] = fast_float::from_chars(word.data(), word.data() + word.size(), value);
  const bool is_out_of_range = error == std::errc::result_out_of_range;
  if ((error != std::errc{} && !is_out_of_range) || stop != word.data() + word.size()) throw_bad_value(from);
  if (!is_text && std::isinf(value))
    throw bad_line{fmt::format("{} overflows {} precision", from.word(),
                               std::is_same_v<V, float> ? "single" : "double")};
  return value;  // numbers that are too small have become 0
}

header parse_header(cursor& c, offset& lines) {
  header h;
  lines = 1;
  h.info = parse_banner(c);
  while (true) {  // comments and blank lines, up to the size line
    ++lines;
    c.skip_blanks();
    if (c.at == c.end) throw bad_line{"the file ends before the line of sizes"};
    if (*c.at != '%' && *c.at != '\n') break;
    skip_line(c);
  }
  constexpr offset most = std::numeric_limits<index>::max();
  h.rows = static_cast<index>(parse_size(c, "rows", most));
  h.cols = static_cast<index>(parse_size(c, "columns", most));
  if (h.info.layout == matrix_market_info::layouts::coordinate)
    h.entries = parse_size(c, "entries", std::numeric_limits<offset>::max() / 4);
  c.finish_line();
  if (h.info.symmetry != matrix_market_info::symmetries::general && h.rows != h.cols)
    throw bad_line{fmt::format("a {} matrix cannot be {} x {}", to_string(h.info.symmetry), h.rows, h.cols)};
  if (h.info.layout == matrix_market_info::layouts::array) h.entries = array_entries(h);
  h.info.entries_in_file = h.entries;
  return h;
}

#define NONZERO_INSTANTIATE(V) template V parse_unusual_value(cursor&, bool);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::matrix_market
