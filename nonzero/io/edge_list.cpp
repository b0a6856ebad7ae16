#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include <nonzero/io/archive.hpp>
#include <nonzero/io/assemble.hpp>
#include <nonzero/io/edge_list.hpp>

namespace nz {
namespace {

constexpr std::string_view blanks = " \t";
constexpr std::string_view banner = "%%matrixmarket";

bool has_banner(std::string_view text) {
  return text.size() >= banner.size() &&
         std::equal(banner.begin(), banner.end(), text.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
         });
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

  /// The word as a weight.
  double weight(std::string_view word) const {
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

/// Numbers for names, as they first appear.
class name_table {
 public:
  index number(std::string_view name) {
    if (names_.size() > static_cast<std::size_t>(std::numeric_limits<index>::max()) - 1)
      throw unsupported("a graph has at most 2147483647 pages");
    const auto [place, is_new] = numbers_.try_emplace(name, static_cast<index>(names_.size()));
    if (is_new) names_.push_back(name);
    return place->second;
  }
  const std::vector<std::string_view>& names() const { return names_; }

 private:
  std::unordered_map<std::string_view, index> numbers_;
  std::vector<std::string_view> names_;
};

/// A whole number in its shortest form: no two names stand for the same.
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

template <class V>
void add_in_lists(const entry_list<V>& all, const std::vector<index>& place, assembler<V>& assembly) {
  constexpr std::size_t list_length = std::size_t{1} << 20;
  for (std::size_t begin = 0, position = 0; begin < all.row.size(); begin += list_length, ++position) {
    const std::size_t end = std::min(begin + list_length, all.row.size());
    entry_list<V> list = assembly.take_list();
    for (std::size_t k = begin; k < end; ++k) {
      list.row.push_back(place[static_cast<std::size_t>(all.row[k])]);
      list.col.push_back(place[static_cast<std::size_t>(all.col[k])]);
      list.val.push_back(all.val[k]);
    }
    assembly.add(position, std::move(list));
  }
}

}  // namespace

template <class V> edge_list<V> parse_edge_list(std::string_view text, std::string_view file) {
  word_lines lines(
      text, file, 3,
      "a line of an edge list is two names, and a weight if any; separate them by blanks or tabs");
  name_table table;
  entry_list<V> entries;
  while (lines.next()) {
    const auto& words = lines.words();
    if (words.size() < 2) lines.fail("there is one word");
    entries.row.push_back(table.number(words[0]));
    entries.col.push_back(table.number(words[1]));
    entries.val.push_back(words.size() < 3 ? V{1} : static_cast<V>(lines.weight(words[2])));
  }
  const std::vector<index> place = places_of(table.names());
  edge_list<V> out;
  out.names.resize(place.size());
  for (std::size_t i = 0; i < place.size(); ++i)
    out.names[static_cast<std::size_t>(place[i])] = table.names()[i];
  const auto pages = static_cast<index>(place.size());
  assembler<V> assembly(pages, pages, static_cast<offset>(entries.row.size()));
  add_in_lists(entries, place, assembly);
  out.links = assembly.finish().matrix;
  return out;
}

std::vector<named_weight> parse_named_weights(std::string_view text, std::string_view file) {
  word_lines lines(text, file, 2, "a line is a name, and a weight if any");
  std::vector<named_weight> out;
  while (lines.next())
    out.push_back(
        {std::string(lines.words()[0]), lines.words().size() < 2 ? 1.0 : lines.weight(lines.words()[1])});
  return out;
}

std::string read_text(const std::filesystem::path& path) {
  constexpr std::size_t segment = std::size_t{1} << 20;
  archive_reader reader(path);
  std::string out;
  const auto entry = reader.next();
  if (!entry) return out;
  if (!entry->name.empty())
    throw parse_error(fmt::format("{}: this is an archive, and no text", path.string()));
  for (std::size_t size = 0;;) {
    out.resize(size + std::max(segment, size / 2));
    const std::size_t wanted = out.size() - size, got = reader.read({out.data() + size, wanted});
    size += got;
    if (got == wanted) continue;
    out.resize(size);
    return out;
  }
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
