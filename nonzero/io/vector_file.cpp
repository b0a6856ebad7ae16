#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>

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

/// Numbers between blanks, commas or ends of lines.
template <class V> class number_text {
 public:
  number_text(std::string_view text, std::string name) : rest_(text), name_(std::move(name)) {}

  std::vector<V> read() {
    std::vector<V> out;
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      ++line_;
      read_line(rest_.substr(0, end), out);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
    }
    return out;
  }

 private:
  void read_line(std::string_view line, std::vector<V>& out) const {
    constexpr std::string_view between = " \t\r,;";
    line = line.substr(0, line.find_first_of("#%"));
    for (std::size_t at = line.find_first_not_of(between); at != line.npos;) {
      const std::size_t end = std::min(line.find_first_of(between, at), line.size());
      out.push_back(parse(line.substr(at, end - at)));
      at = line.find_first_not_of(between, end);
    }
  }
  V parse(std::string_view word) const {
    const std::string_view digits = word.substr(word.starts_with('+') ? 1 : 0);
    double value = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failure == std::errc::invalid_argument || end != digits.data() + digits.size())
      fail(word, "is not a number");
    // Too large, or so small that it is 0 or has fewer digits.
    if (failure == std::errc::result_out_of_range) value = std::strtod(std::string(digits).c_str(), nullptr);
    const V out = static_cast<V>(value);
    if (std::isinf(out) && (failure != std::errc{} || std::isfinite(value)))
      fail(word, sizeof(V) == sizeof(float) ? "is too large for a float" : "is too large for a double");
    return out;
  }
  [[noreturn]] void fail(std::string_view word, std::string_view why) const {
    constexpr std::size_t most_shown = 40;
    throw parse_error(fmt::format("{}:{}: '{}{}' {}", name_, line_, word.substr(0, most_shown),
                                  word.size() > most_shown ? "…" : "", why));
  }

  std::string_view rest_;
  std::string name_;
  std::int64_t line_ = 0;
};

/// Whether it is text as far as it can be seen without reading: neither compressed nor an archive.
bool is_text(std::string_view start) {
  const auto is_of_text = [](unsigned char c) {
    return (c >= ' ' && c != 0x7F) || c == '\t' || c == '\n' || c == '\r';
  };
  return !start.starts_with("BZh") && !start.starts_with("\xFD") && !start.starts_with("\x28\xB5") &&
         std::all_of(start.begin(), start.end(), is_of_text);
}

/// A pipe may have no end: now and then there must be room for as much again.
std::string rest_of(input_file& in) {
  constexpr std::size_t chunk_bytes = std::size_t{1} << 20, check_every = std::size_t{1} << 28;
  std::string out;
  for (std::size_t got = chunk_bytes; got == chunk_bytes;) {
    const std::size_t size = out.size();
    if (size > 0 && size % check_every == 0)
      require_memory(in.path() + ": out of memory: to read on from here takes", 2 * size);
    out.resize(size + chunk_bytes);
    got = in.read({out.data() + size, chunk_bytes});
    out.resize(size + got);
  }
  return out;
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
  return number_text<V>(rest_of(file), path.string()).read();
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
