#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <nonzero/core/counted.hpp>
#include <nonzero/core/memory.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/io/input_file.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/npy_internal.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/output_file.hpp>
#include <nonzero/io/read.hpp>
#include <nonzero/io/read_internal.hpp>

// Files of dense vectors.
namespace nz {
namespace {

namespace fs = std::filesystem;

template <class V> std::vector<V> vector_of(const csr<V>& a, const fs::path& path) {
  if (a.rows != 1 && a.cols != 1)
    throw shape_error(fmt::format("{}: {} x {} is no vector: one row or one column is needed", path.string(),
                                  a.rows, a.cols));
  std::vector<V> x(static_cast<std::size_t>(a.cols == 1 ? a.rows : a.cols), V{0});
  for (index i = 0; i < a.rows; ++i)
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) x[a.cols == 1 ? i : a.col[k]] = a.val[k];
  return x;
}

/// Numbers between blanks, ends of lines, or single commas or semicolons, of which one may end a line. Read
/// as they come: a pipe may have no end.
template <class V> class number_text {
 public:
  explicit number_text(input_file& in) : in_(in) {}

  std::vector<V> read() {
    std::string text;
    for (bool has_more = true; has_more;) {
      const std::size_t kept = text.size();  // of a word that may go on
      text.resize(kept + chunk_bytes);
      const std::size_t got = in_.read({text.data() + kept, chunk_bytes});
      text.resize(kept + got);
      has_more = got == chunk_bytes;
      idle_bytes_ += got;
      const std::size_t taken = take(text, has_more);
      text.erase(0, taken);
      if (text.size() > longest_word) fail(text, "is not a number");
      if (idle_bytes_ > most_idle_bytes)
        throw parse_error(fmt::format("{}:{}: there are {} bytes of comments and blank lines in a row",
                                      in_.path(), line_, idle_bytes_));
    }
    return std::move(out_);
  }

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 20, longest_word = std::size_t{1} << 16,
                               most_idle_bytes = std::size_t{64} << 20;

  /// Returns how much of the text it has taken: all but a word that may go on.
  std::size_t take(std::string_view text, bool has_more) {
    constexpr std::string_view after_word = " \t\r,;\n#%";
    for (std::size_t at = 0; at < text.size();) {
      if (is_in_comment_) {
        at = std::min(text.find('\n', at), text.size());
        is_in_comment_ = at == text.size();
        continue;
      }
      const char c = text[at];
      if (after_word.find(c) != after_word.npos) {
        if (c == ',' || c == ';') end_field(c);
        if (c == '\n') has_field_ = false;
        line_ += c == '\n';
        is_in_comment_ = c == '#' || c == '%';
        ++at;
        continue;
      }
      const std::size_t end = text.find_first_of(after_word, at);
      if (end == text.npos && has_more) return at;
      const std::string_view word = text.substr(at, end - at);
      add(parse(word));
      at += word.size();
    }
    return text.size();
  }
  /// Two commas in a row, or one that begins a line, are a number that is missing.
  void end_field(char by) {
    if (!has_field_)
      throw parse_error(fmt::format("{}:{}: there is no number before a '{}'", in_.path(), line_, by));
    has_field_ = false;
  }
  void add(V value) {
    if (out_.size() == out_.capacity() && out_.size() * sizeof(V) >= chunk_bytes)
      require_memory(in_.path() + ": out of memory: to read on from here takes", 2 * out_.size() * sizeof(V));
    out_.push_back(value);
    has_field_ = true;
    idle_bytes_ = 0;
  }
  V parse(std::string_view word) const {
    const std::string_view digits = word.substr(word.starts_with('+') && !word.starts_with("+-") ? 1 : 0);
    V value = 0;
    const auto [end, failure] = fast_float::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_out_of_range = failure == std::errc::result_out_of_range;
    if ((failure != std::errc{} && !is_out_of_range) || end != digits.data() + digits.size())
      fail(word, "is not a number");
    const bool is_text = word.find_first_of("nN") != word.npos;  // nan, inf
    if (std::isinf(value) && !is_text)
      fail(word, sizeof(V) == sizeof(float) ? "is too large for a float" : "is too large for a double");
    return value;  // a number that is too small has become 0
  }
  [[noreturn]] void fail(std::string_view word, std::string_view why) const {
    constexpr std::size_t most_shown = 40;
    std::string shown(word.substr(0, most_shown));
    std::replace_if(
        shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    throw parse_error(
        fmt::format("{}:{}: '{}{}' {}", in_.path(), line_, shown, word.size() > most_shown ? "…" : "", why));
  }

  input_file& in_;
  std::vector<V> out_;
  std::int64_t line_ = 1;
  bool is_in_comment_ = false, has_field_ = false;  // since the last comma, or the begin of the line
  std::size_t idle_bytes_ = 0;                      // since the last number
};

/// Whether it is text as far as it can be seen without reading: neither compressed nor an archive.
bool is_text(std::string_view start) {
  const auto is_of_text = [](unsigned char c) {
    return (c >= ' ' && c != 0x7F) || c == '\t' || c == '\n' || c == '\r';
  };
  return !start.starts_with("BZh") && !start.starts_with("\xFD") && !start.starts_with("\x28\xB5") &&
         std::all_of(start.begin(), start.end(), is_of_text);
}

/// SciPy's sparse matrix, or the only array.
template <class V> std::vector<V> read_zip(input_file& file, const fs::path& path) {
  const zip_file zip(file);
  const auto& entries = zip.entries();
  const bool is_matrix =
      std::any_of(entries.begin(), entries.end(), [](const zip_entry& e) { return e.name == "format.npy"; });
  if (is_matrix) return vector_of(read_npz<V>(zip), path);
  if (entries.size() != 1)
    throw parse_error(fmt::format("{}: holds {}, and a vector is one; save the one you want", path.string(),
                                  counted(std::ssize(entries), "array")));
  const array<V> found = npy::read_vector<V>(zip, entries[0]);
  return {found.begin(), found.end()};
}

void write_atomically(const fs::path& path, std::string_view head, const void* bytes, std::size_t size) {
  output_file file(path);
  file.write(head.data(), head.size());
  file.write(bytes, size);
  file.commit();
}

template <class V> void write_column(const fs::path& path, std::span<const V> x) {
  if (x.size() > static_cast<std::size_t>(std::numeric_limits<index>::max()))
    throw unsupported(fmt::format("{}: {} numbers are too many for an .npz file; write .npy or .mtx",
                                  path.string(), x.size()));
  csr<V> column{static_cast<index>(x.size()), 1, array<offset>(x.size() + 1), array<index>(x.size(), 0),
                array<V>(x.begin(), x.end())};
  std::iota(column.row_begin.begin(), column.row_begin.end(), offset{0});
  write_npz(path, trusted(column));
}

}  // namespace

template <class V> std::vector<V> read_vector(const fs::path& path) {
  input_file file(path);
  if (file.is_zip()) return read_zip<V>(file, path);
  const std::string_view start = file.peek();
  if (start.starts_with(npy::magic)) {
    const array<V> found = npy::read_vector<V>(file, file.path());
    return {found.begin(), found.end()};
  }
  const bool is_plain = !start.empty() && is_text(start);
  if (!is_plain || start.starts_with("%%") || path.extension() == ".mtx")
    return vector_of(read_matrix_market<V>(file, read_options{}, nullptr), path);
  return number_text<V>(file).read();
}

template <class V> void write_vector_file(const fs::path& path, std::span<const V> x) {
  if (x.data() == nullptr && !x.empty()) throw shape_error("x is a null pointer with a length above 0");
  if (path.extension() == ".npz") return write_column(path, x);
  if (path.extension() == ".npy")
    return write_atomically(
        path, npy::make_header(sizeof(V) == sizeof(float) ? "<f4" : "<f8", fmt::format("({},)", x.size())),
        x.data(), x.size_bytes());
  if (path.extension() != ".txt") return write_vector<V>(path, x);
  std::string lines = x.empty() ? "# no numbers\n" : "";  // an empty file would be an error
  for (const V value : x) fmt::format_to(std::back_inserter(lines), "{}\n", value);
  write_atomically(path, lines, nullptr, 0);
}

#define NONZERO_INSTANTIATE(V)                          \
  template std::vector<V> read_vector(const fs::path&); \
  template void write_vector_file(const fs::path&, std::span<const V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
