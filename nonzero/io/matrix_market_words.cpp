#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

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

// In the order of the enums.
constexpr std::string_view object_names[] = {"matrix"};
constexpr std::string_view layout_names[] = {"coordinate", "array"};
constexpr std::string_view field_names[] = {"real", "integer", "pattern"};
constexpr std::string_view symmetry_names[] = {"general", "symmetric", "skew-symmetric"};

/// The position of a word of the banner among the `names` it may be.
template <class T>
T choose(std::string_view what, std::string_view word, std::span<const std::string_view> names) {
  std::string expected;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (word == names[i]) return static_cast<T>(i);
    expected += fmt::format("{}'{}'", i == 0 ? "" : i + 1 < names.size() ? ", " : " or ", names[i]);
  }
  refuse("unknown {} {}: expected {}", what, cursor{word.data(), word.data() + word.size()}.word(), expected);
}

matrix_market_info parse_banner(cursor& c) {
  const cursor start = c;
  if (c.at == c.end) refuse("the first line is empty; it should start with '%%MatrixMarket'");
  if (lower(next_word(c)) != "%%matrixmarket")
    refuse("not a Matrix Market file: it starts with {} instead of '%%MatrixMarket'", start.word());
  const std::array words{lower(next_word(c)), lower(next_word(c)), lower(next_word(c)), lower(next_word(c))};
  const auto& [object, layout, field, symmetry] = words;
  choose<int>("object", object, object_names);
  matrix_market_info info;
  info.layout = choose<layouts>("layout", layout, layout_names);
  if (field == "complex")
    throw unsupported("complex matrices are not supported yet: only real, integer and pattern ones");
  const bool is_real = field == "double", is_integer = field == "unsigned-integer";  // other names
  info.field = choose<fields>("field", is_real ? "real" : is_integer ? "integer" : field, field_names);
  if (symmetry == "hermitian")
    throw unsupported(
        "hermitian matrices are not supported yet: only general, symmetric and skew-symmetric ones");
  info.symmetry = choose<symmetries>("symmetry", symmetry, symmetry_names);
  if (info.field == fields::pattern && info.layout == layouts::array)
    refuse("an array file cannot be a pattern");
  if (info.field == fields::pattern && info.symmetry == symmetries::skew_symmetric)
    refuse("a skew-symmetric file cannot be a pattern");
  c.finish_line();
  return info;
}

offset parse_size(cursor& c, std::string_view what, offset limit) {
  c.skip_blanks();
  const cursor from = c;
  const std::string_view word = next_word(c);
  if (word.empty()) refuse("the number of {} is missing from the size line", what);
  offset value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range || (error == std::errc{} && value > limit))
    refuse("{} {} are more than the {} that fit", from.word(), what, limit);
  if (error != std::errc{} || stop != word.data() + word.size())
    refuse("{} is not a number of {}", from.word(), what);
  if (value < 0) refuse("{} is a negative number of {}", value, what);
  return value;
}

/// The number of values of an array file: of a symmetric one the lower triangle, of a skew-symmetric one
/// without the diagonal. At most 2^62.
offset array_entries(const header& h) {
  const offset n = h.rows;
  if (h.info.symmetry == symmetries::general) return n * h.cols;
  return h.info.symmetry == symmetries::symmetric ? n * (n + 1) / 2 : n * (n - 1) / 2;
}

/// The line that starts here, without its end; of a line that is too long only the begin.
cursor line_at(const cursor& c) {
  const char* const stop = c.at + std::min<std::ptrdiff_t>(c.end - c.at, longest_header_line + 1);
  return {c.at, std::find(c.at, stop, '\n')};
}

void refuse_if_too_long(const cursor& line) {
  if (line.end - line.at <= longest_header_line) return;
  require_text({line.at, line.end});
  refuse("a line of more than {} bytes", longest_header_line);
}

/// Moves to the next line. A comment may be of any length, but none is without end.
void skip_comment(cursor& c, const char* header) {
  for (bool is_found = false; !is_found && c.at != c.end;) {
    const cursor some = line_at(c);
    require_text({some.at, some.end});
    if (some.end - header > most_header_bytes)
      refuse("there is no line of sizes in the first {} bytes", most_header_bytes);
    is_found = some.end != c.end && *some.end == '\n';
    c.at = some.end + is_found;
  }
}

void parse_sizes(cursor line, header& h) {
  constexpr offset most = std::numeric_limits<index>::max();
  const bool is_array = h.info.layout == layouts::array;
  h.rows = static_cast<index>(parse_size(line, "rows", most));
  h.cols = static_cast<index>(parse_size(line, "columns", most));
  if (!is_array) h.entries = parse_size(line, "entries", std::numeric_limits<offset>::max() / 4);
  line.finish_line();
  if (h.info.symmetry != symmetries::general && h.rows != h.cols)
    refuse("a {} matrix cannot be {} x {}", to_string(h.info.symmetry), h.rows, h.cols);
  if (is_array) h.entries = array_entries(h);
  h.info.entries_in_file = h.entries;
}

/// `h.size_line` counts the lines read, including a bad one when this throws.
void parse_header(cursor& c, header& h, offset skipped) {
  const char* const begin = c.at;
  const auto pass = [&](const cursor& line) { c.at = line.end + (line.end != c.end); };
  h.size_line = 1;
  if (c.at == c.end) refuse("the file is empty");
  cursor line = line_at(c);
  h.info = parse_banner(line);
  refuse_if_too_long(line_at(c));
  pass(line);
  h.size_line += skipped;
  while (true) {  // comments and blank lines, up to the size line
    ++h.size_line;
    line = line_at(c);
    line.skip_blanks();
    if (line.at == c.end) refuse("the file ends before the line of sizes");
    if (line.at != line.end && *line.at == '%') {
      skip_comment(c, begin);
      continue;
    }
    refuse_if_too_long(line_at(c));
    pass(line);
    if (line.at != line.end) return parse_sizes(line, h);
    if (c.at - begin > most_header_bytes)
      refuse("there is no line of sizes in the first {} bytes", most_header_bytes);
  }
}

// Not inlined, so that the caller keeps its cursor in registers.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_index(cursor from, std::string_view what, offset limit) {
  if (from.is_at_line_end()) refuse("the {} is missing", what);
  const char* p = from.at;
  const bool is_negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const char* const digits = p;
  bool is_zero = true;
  for (; p != from.end && is_digit(*p); ++p) is_zero &= *p == '0';
  const bool is_whole = p != digits && (p == from.end || *p == '\n' || is_blank(*p));
  if (!is_whole) refuse("{} is not a {} number", from.word(), what);
  if (is_zero) refuse("{} 0: rows and columns count from 1", what);
  if (is_negative) refuse("{} {} is negative", what, std::string(from.at, p).substr(0, 24));
  refuse("{} {} exceeds the declared {}", what, std::string(digits, p).substr(0, 24), limit);
}

[[noreturn]] void refuse_value(cursor from) {
  if (from.is_at_line_end()) refuse("the value is missing");
  refuse("{} is not a number", from.word());
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

void cursor::refuse_rest(cursor c) { refuse("unexpected {} at the end of the line", c.word()); }

index parse_unusual_index(cursor& c, std::string_view what, index limit) {
  const cursor from = c;
  if (c.at != c.end && *c.at == '+') ++c.at;
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(c.at, c.end, value);
  c.at = stop;
  const bool is_number = error == std::errc{} && (c.is_at_line_end() || is_blank(*c.at));
  if (!is_number || value - 1 >= static_cast<std::uint64_t>(limit)) refuse_index(from, what, limit);
  return static_cast<index>(value - 1);
}

template <class V> V parse_unusual_value(cursor& c, bool must_be_integer) {
  const cursor from = c;
  std::string word(next_word(c));
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.erase(0, 1);
  if (must_be_integer) {
    const std::size_t first = word.starts_with('-') ? 1 : 0;
    if (word.empty()) refuse_value(from);
    if (word.size() == first || !std::all_of(word.begin() + first, word.end(), is_digit))
      refuse("{} is not a whole number, as an integer file must hold", from.word());
  }
  const bool is_text = word.find_first_of("nN") != std::string::npos;  // nan, inf
  if (!is_text)
    std::replace_if(
        word.begin(), word.end(), [](char x) { return x == 'd' || x == 'D'; }, 'e');
  V value = 0;
  const auto [stop, error] = fast_float::from_chars(word.data(), word.data() + word.size(), value);
  const bool is_out_of_range = error == std::errc::result_out_of_range;
  if ((error != std::errc{} && !is_out_of_range) || stop != word.data() + word.size()) refuse_value(from);
  if (!is_text && std::isinf(value))
    refuse("{} overflows {} precision", from.word(), std::is_same_v<V, float> ? "single" : "double");
  return value;  // numbers that are too small have become 0
}

void throw_at(std::string_view name, offset line, std::string_view reason) {
  throw parse_error(fmt::format("{}:{}: {}", name, line, reason));
}

void require_text(std::string_view text) {
  if (text.find('\0') != text.npos) refuse("a NUL byte, which no text has");
}

header take_header(std::string_view& text, std::string_view name, offset skipped) {
  cursor c{text.data(), text.data() + text.size()};
  header h;
  try {
    parse_header(c, h, skipped);
  } catch (const bad_line& bad) {
    throw_at(name, h.size_line, bad.reason);
  } catch (const unsupported& no) {
    throw unsupported(fmt::format("{}:{}: {}", name, h.size_line, no.what()));
  }
  text.remove_prefix(static_cast<std::size_t>(c.at - text.data()));
  return h;
}

std::size_t most_entries(const header& h, std::size_t bytes) {
  // A number takes a digit and what follows it. The last line need not end.
  const std::size_t numbers = h.info.layout == layouts::array ? 1 : h.info.field == fields::pattern ? 2 : 3;
  return bytes / (2 * numbers) + 1;
}

#define NONZERO_INSTANTIATE(V) template V parse_unusual_value(cursor&, bool);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::matrix_market

namespace nz {

std::string_view to_string(matrix_market_info::layouts layout) {
  return matrix_market::layout_names[static_cast<int>(layout)];
}
std::string_view to_string(matrix_market_info::fields field) {
  return matrix_market::field_names[static_cast<int>(field)];
}
std::string_view to_string(matrix_market_info::symmetries symmetry) {
  return matrix_market::symmetry_names[static_cast<int>(symmetry)];
}

}  // namespace nz
