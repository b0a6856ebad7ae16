#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <nonzero/io/assemble.hpp>
#include <nonzero/io/edge_list.hpp>
#include <nonzero/io/input_file.hpp>
#include <nonzero/io/npy_internal.hpp>

namespace nz {
namespace {

constexpr std::string_view blanks = " \t";
constexpr std::size_t longest_line = std::size_t{1} << 20;  // what is longer may have no end
constexpr std::size_t most_idle_bytes = std::size_t{1} << 26;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // would become part of the first name
constexpr std::string_view banner = "%%matrixmarket";

bool has_control_character(std::string_view word) {
  return std::any_of(word.begin(), word.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; });
}

bool has_banner(std::string_view text) {
  return std::ranges::equal(text.substr(0, banner.size()), banner, {},
                            [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
}

/// The lines of a text, one after the other, as words. The text comes in portions of whole lines.
class word_lines {
 public:
  word_lines(std::string_view file, std::size_t most_words, std::string_view what)
      : file_(file), most_words_(most_words), what_(what) {}

  void take(std::string_view text) {
    if (number_ == 0 && has_banner(text)) fail("this is a Matrix Market file");
    if (number_ == 0 && text.starts_with(byte_order_mark)) fail("it starts with a byte order mark");
    rest_ = text;
  }
  /// Moves to the next line that is neither blank nor a comment; false at the end of the portion.
  bool next() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      idle_bytes_ += line.size() + 1;
      if (split(line)) {
        idle_bytes_ = 0;
        return true;
      }
      if (idle_bytes_ > most_idle_bytes)
        fail(fmt::format("there are {} bytes of comments and blank lines in a row", idle_bytes_));
    }
    return false;
  }
  const std::vector<std::string_view>& words() const { return words_; }

  /// The weight that is word number `at`; 1 if there are fewer words.
  template <class V> V weight(std::size_t at) const {
    if (at >= words_.size()) return 1;
    const std::string_view word = words_[at];
    V value = 0;
    const auto [end, problem] = fast_float::from_chars(word.data(), word.data() + word.size(), value);
    const bool is_out_of_range = problem == std::errc::result_out_of_range;
    if ((problem != std::errc{} && !is_out_of_range) || end != word.data() + word.size())
      fail(fmt::format("'{}' is no weight", word));
    const bool is_text = word.find_first_of("nN") != word.npos;  // nan, inf
    if (std::isinf(value) && !is_text)
      fail(fmt::format("'{}' overflows {} precision", word, std::is_same_v<V, float> ? "single" : "double"));
    return value;  // a number that is too small has become 0
  }
  [[noreturn]] void fail(std::string_view problem) const {
    throw parse_error(
        fmt::format("{}:{}: {}; {}", file_, std::max<std::int64_t>(number_, 1), problem, what_));
  }

 private:
  bool split(std::string_view line) {
    words_.clear();
    if (line.find('\0') != line.npos) fail("there is a control character");
    for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;) {
      const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
      words_.push_back(line.substr(at, end - at));
      at = line.find_first_not_of(blanks, end);
      if (words_[0][0] == '#' || words_[0][0] == '%') return false;
      if (words_.size() > most_words_) fail("there are more words than that");
    }
    for (const std::string_view word : words_)
      if (has_control_character(word)) fail("there is a control character");
    return !words_.empty();
  }

  std::string_view rest_ = {}, file_;
  std::size_t most_words_;
  std::string_view what_;
  std::int64_t number_ = 0;
  std::size_t idle_bytes_ = 0;  // of comments and blank lines since the last other line
  std::vector<std::string_view> words_;
};

/// The number that a name is. Only its shortest form counts, so that different names are different numbers.
std::optional<std::uint64_t> as_number(std::string_view name) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), value);
  const bool is_whole = problem == std::errc{} && end == name.data() + name.size();
  return is_whole && (name.size() == 1 || name[0] != '0') ? std::optional(value) : std::nullopt;
}

/// The place of each name: sorted by number if all names are numbers, otherwise unchanged.
std::vector<index> places_of(const std::vector<std::string_view>& names) {
  std::vector<std::pair<std::uint64_t, index>> by_number;
  by_number.reserve(names.size());
  std::vector<index> place(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    place[i] = static_cast<index>(i);
    if (const auto number = as_number(names[i])) by_number.emplace_back(*number, place[i]);
  }
  if (by_number.size() < names.size()) return place;
  std::sort(by_number.begin(), by_number.end());
  for (std::size_t i = 0; i < names.size(); ++i)
    place[static_cast<std::size_t>(by_number[i].second)] = static_cast<index>(i);
  return place;
}

/// Collects the links of a text that comes in portions of whole lines.
template <class V> class link_collector {
 public:
  explicit link_collector(std::string_view file)
      : lines_(file, 3,
               "a line of an edge list is two names, and a weight if any; separate them by blanks or tabs") {}

  /// Returns whether `text` must stay, because a name is first seen there.
  bool take(std::string_view text) {
    const std::size_t names_before = names_.size();
    lines_.take(text);
    while (lines_.next()) {
      const auto& words = lines_.words();
      if (words.size() < 2) lines_.fail("there is one word");
      entries_.row.push_back(number_of(words[0]));
      entries_.col.push_back(number_of(words[1]));
      entries_.val.push_back(lines_.template weight<V>(2));
    }
    return names_.size() > names_before;
  }

  edge_list<V> finish() const {
    const std::vector<index> place = places_of(names_);
    edge_list<V> out;
    out.names.resize(names_.size());
    for (std::size_t i = 0; i < names_.size(); ++i) out.names[static_cast<std::size_t>(place[i])] = names_[i];
    const auto pages = static_cast<index>(names_.size());
    const auto count = static_cast<offset>(entries_.row.size());
    assembler<V> assembly(pages, pages, count);
    assembly.add_in_lists(count, 0, [&](offset begin, offset end, entry_list<V>& list) {
      list.val.assign(entries_.val.begin() + begin, entries_.val.begin() + end);
      for (offset k = begin; k < end; ++k) {
        list.row.push_back(place[static_cast<std::size_t>(entries_.row[k])]);
        list.col.push_back(place[static_cast<std::size_t>(entries_.col[k])]);
      }
    });
    out.links = assembly.finish().matrix;
    return out;
  }

 private:
  index number_of(std::string_view name) {
    if (names_.size() >= static_cast<std::size_t>(std::numeric_limits<index>::max()))
      throw unsupported("a graph has at most 2147483647 pages");
    const auto [place, is_new] = numbers_.try_emplace(name, static_cast<index>(names_.size()));
    if (is_new) names_.push_back(name);
    return place->second;
  }

  word_lines lines_;
  std::unordered_map<std::string_view, index> numbers_;  // of the names, as they first appear
  std::vector<std::string_view> names_;
  entry_list<V> entries_;
};

/// Calls take(text) for the text of a file, in portions of whole lines; `take` may move the buffer away.
void read_portions(const std::filesystem::path& path,
                   const std::function<void(std::string_view text, array<char>& buffer)>& take) {
  input_file file(path);
  archive_reader reader(file);
  const auto entry = reader.next();
  if (!entry) return;
  if (!entry->name.empty()) throw parse_error(file.path() + ": this is an archive, and no text");
  std::string begun;  // a line whose end has not been read yet
  for (bool is_last = false; !is_last;) {
    array<char> buffer(longest_line);
    std::copy(begun.begin(), begun.end(), buffer.begin());
    const std::size_t filled = begun.size() + reader.read(std::span(buffer).subspan(begun.size()));
    is_last = filled < buffer.size();
    const std::string_view text(buffer.data(), filled);
    const std::size_t whole = is_last ? filled : text.rfind('\n') + 1;
    if (text.find('\0') != text.npos) throw parse_error(file.path() + ": a NUL byte, which no text has");
    if (whole == 0 && !is_last)
      throw parse_error(fmt::format("{}: a line of more than {} bytes", file.path(), longest_line - 1));
    begun = text.substr(whole);
    take(text.substr(0, whole), buffer);
  }
}

}  // namespace

template <class V> edge_list<V> parse_edge_list(std::string_view text, std::string_view file) {
  link_collector<V> links(file);
  links.take(text);
  return links.finish();
}

std::vector<named_weight> parse_named_weights(std::string_view text, std::string_view file) {
  word_lines lines(file, 2, "a line is a name, and a weight if any");
  std::vector<named_weight> out;
  lines.take(text);
  while (lines.next()) out.push_back({std::string(lines.words()[0]), lines.weight<double>(1)});
  return out;
}

std::vector<std::string> parse_names(std::string_view text, std::string_view file) {
  std::vector<std::string> out;
  const auto refuse = [&](std::string_view why) {
    throw parse_error(fmt::format("{}:{}: {}", file, out.size() + 1, why));
  };
  if (text.starts_with(byte_order_mark)) refuse("it starts with a byte order mark");
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view name = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (name.ends_with('\r')) name.remove_suffix(1);
    if (name.empty()) refuse("there is no name");
    if (has_control_character(name)) refuse("there is a control character");
    out.emplace_back(name);
  }
  return out;
}

std::string read_text(const std::filesystem::path& path) {
  std::string out;
  read_portions(path, [&](std::string_view text, array<char>&) { out += text; });
  return out;
}

template <class V> edge_list<V> read_edge_list(const std::filesystem::path& path) {
  const std::string name = path.string();
  link_collector<V> links(name);
  std::vector<array<char>> kept;  // names lie there
  read_portions(path, [&](std::string_view text, array<char>& buffer) {
    if (links.take(text)) kept.push_back(std::move(buffer));
  });
  return links.finish();
}

bool is_edge_list(const std::filesystem::path& path) {
  input_file opened(path);
  if (opened.is_zip()) return false;
  archive_reader reader(opened);
  const auto entry = reader.next();
  if (!entry || !entry->name.empty()) return false;
  char first[banner.size()];
  const std::string_view text(first, reader.read(first));
  return !has_banner(text) && !text.starts_with(npy::magic);
}

#define NONZERO_INSTANTIATE(V)                                               \
  template edge_list<V> parse_edge_list(std::string_view, std::string_view); \
  template edge_list<V> read_edge_list(const std::filesystem::path&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
