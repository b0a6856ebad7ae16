#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/npy_internal.hpp>

namespace nz::npy {
namespace {

// The part of Python's notation that headers use.
class literal_parser {
 public:
  literal_parser(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  [[noreturn]] void fail_here() const {
    throw parse_error(where_ + ": its header is not one of a .npy array");
  }
  bool accept(char c) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail_here();
  }
  bool is_at_end() {
    skip_spaces();
    return rest_.empty();
  }
  std::string_view string() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = rest_.find(quote);
    if (end == rest_.npos) fail_here();
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return found;
  }
  std::uint64_t number() {
    skip_spaces();
    std::uint64_t value = 0;
    const auto [end, wrong] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (wrong != std::errc{}) fail_here();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    accept('L');  // as Python 2 wrote them
    return value;
  }
  void boolean() {
    skip_spaces();
    for (const std::string_view word : {"True", "False"})
      if (rest_.starts_with(word)) return rest_.remove_prefix(word.size());
    fail_here();
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> numbers;
    expect('(');
    while (!accept(')')) {
      numbers.push_back(number());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return numbers;
  }

 private:
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

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
  if (!is_well_formed) throw parse_error(where + ": its header does not name a type of elements");
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

}  // namespace

header parse_header(std::string_view text, const std::string& where) {
  literal_parser in(text, where);
  header h;
  bool has_descr = false, has_shape = false;
  in.expect('{');
  while (!in.accept('}')) {
    const std::string_view key = in.string();
    in.expect(':');
    if (key == "descr") {
      if (in.accept('[')) throw unsupported(where + ": structured elements are not read");
      h.descr = in.string();
      has_descr = true;
    } else if (key == "shape") {
      h.shape = in.tuple();
      has_shape = true;
    } else if (key == "fortran_order") {
      in.boolean();  // no matter in one dimension
    } else {
      in.fail_here();
    }
    if (!in.accept(',')) {
      in.expect('}');
      break;
    }
  }
  if (!in.is_at_end() || !has_descr || !has_shape) in.fail_here();
  parse_descr(h, where);
  return h;
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

}  // namespace nz::npy
