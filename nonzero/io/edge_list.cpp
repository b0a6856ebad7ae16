#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include <nonzero/io/assemble.hpp>
#include <nonzero/io/edge_list.hpp>
#include <nonzero/io/input_file.hpp>

namespace nz {
namespace {

constexpr std::string_view blanks = " \t";
constexpr std::string_view banner = "%%matrixmarket";

bool has_banner(std::string_view text) {
  return std::ranges::equal(text.substr(0, banner.size()), banner, {},
                            [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
}

/// The lines of a text, one after the other, as words.
class word_lines {
 public:
  word_lines(std::string_view text, std::string_view file, std::size_t most_words, std::string_view what)
      : rest_(text), file_(file), most_words_(most_words), what_(what) {
    if (has_banner(text)) fail("this is a Matrix Market file");
  }

  /// Moves to the next line that is neither blank nor a comment; false at the end.
  bool next() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (split(line)) return true;
    }
    return false;
  }
  const std::vector<std::string_view>& words() const { return words_; }

  /// The weight that is word number `at`; 1 if there are fewer words.
  double weight(std::size_t at) const {
    if (at >= words_.size()) return 1;
    const std::string_view word = words_[at];
    double value = 0;
    const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (problem != std::errc{} || end != word.data() + word.size())
      fail(fmt::format("'{}' is no weight", word));
    return value;
  }
  [[noreturn]] void fail(std::string_view problem) const {
    throw parse_error(
        fmt::format("{}:{}: {}; {}", file_, std::max<std::int64_t>(number_, 1), problem, what_));
  }

 private:
  bool split(std::string_view line) {
    words_.clear();
    for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;) {
      const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
      words_.push_back(line.substr(at, end - at));
      at = line.find_first_not_of(blanks, end);
      if (words_[0][0] == '#' || words_[0][0] == '%') return false;
      if (words_.size() > most_words_) fail("there are more words than that");
    }
    for (const std::string_view word : words_)
      if (std::any_of(word.begin(), word.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }))
        fail("there is a control character");
    return !words_.empty();
  }

  std::string_view rest_, file_;
  std::size_t most_words_;
  std::string_view what_;
  std::int64_t number_ = 0;
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

}  // namespace

template <class V> edge_list<V> parse_edge_list(std::string_view text, std::string_view file) {
  word_lines lines(
      text, file, 3,
      "a line of an edge list is two names, and a weight if any; separate them by blanks or tabs");
  std::unordered_map<std::string_view, index> numbers;  // of the names, as they first appear
  std::vector<std::string_view> names;
  const auto number_of = [&](std::string_view name) {
    if (names.size() >= static_cast<std::size_t>(std::numeric_limits<index>::max()))
      throw unsupported("a graph has at most 2147483647 pages");
    const auto [place, is_new] = numbers.try_emplace(name, static_cast<index>(names.size()));
    if (is_new) names.push_back(name);
    return place->second;
  };
  entry_list<V> entries;
  while (lines.next()) {
    const auto& words = lines.words();
    if (words.size() < 2) lines.fail("there is one word");
    entries.row.push_back(number_of(words[0]));
    entries.col.push_back(number_of(words[1]));
    entries.val.push_back(static_cast<V>(lines.weight(2)));
  }

  const std::vector<index> place = places_of(names);
  edge_list<V> out;
  out.names.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) out.names[static_cast<std::size_t>(place[i])] = names[i];
  const auto pages = static_cast<index>(names.size());
  const auto count = static_cast<offset>(entries.row.size());
  assembler<V> assembly(pages, pages, count);
  assembly.add_in_lists(count, 0, [&](offset begin, offset end, entry_list<V>& list) {
    list.val.assign(entries.val.begin() + begin, entries.val.begin() + end);
    for (offset k = begin; k < end; ++k) {
      list.row.push_back(place[static_cast<std::size_t>(entries.row[k])]);
      list.col.push_back(place[static_cast<std::size_t>(entries.col[k])]);
    }
  });
  out.links = assembly.finish().matrix;
  return out;
}

std::vector<named_weight> parse_named_weights(std::string_view text, std::string_view file) {
  word_lines lines(text, file, 2, "a line is a name, and a weight if any");
  std::vector<named_weight> out;
  while (lines.next()) out.push_back({std::string(lines.words()[0]), lines.weight(1)});
  return out;
}

std::string read_text(const std::filesystem::path& path) {
  constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
  archive_reader reader(path);
  std::string out;
  const auto entry = reader.next();
  if (!entry) return out;
  if (!entry->name.empty())
    throw parse_error(fmt::format("{}: this is an archive, and no text", path.string()));
  for (std::size_t got = chunk_bytes; got == chunk_bytes;) {
    const std::size_t size = out.size();
    out.resize(size + chunk_bytes);
    got = reader.read({out.data() + size, chunk_bytes});
    out.resize(size + got);
  }
  return out;
}

template <class V> edge_list<V> read_edge_list(const std::filesystem::path& path) {
  return parse_edge_list<V>(read_text(path), path.string());
}

bool is_edge_list(const std::filesystem::path& path) {
  archive_reader reader(path);
  const auto entry = reader.next();
  if (!entry || !entry->name.empty()) return false;
  char first[banner.size()];
  return !has_banner({first, reader.read(first)});
}

#define NONZERO_INSTANTIATE(V)                                               \
  template edge_list<V> parse_edge_list(std::string_view, std::string_view); \
  template edge_list<V> read_edge_list(const std::filesystem::path&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
