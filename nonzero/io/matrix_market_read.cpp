#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/archive.hpp>
#include <nonzero/io/mapped_file.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/matrix_market_body_internal.hpp>

namespace nz {
namespace matrix_market {

void throw_at(std::string_view name, offset line, std::string_view reason) {
  throw parse_error(fmt::format("{}:{}: {}", name, line, reason));
}

header take_header(std::string_view& text, std::string_view name, offset& lines) {
  cursor c{text.data(), text.data() + text.size()};
  try {
    const header h = parse_header(c, lines);
    text.remove_prefix(static_cast<std::size_t>(c.at - text.data()));
    return h;
  } catch (const bad_line& bad) {
    throw_at(name, lines, bad.reason);
  } catch (const unsupported& no) {
    throw unsupported(fmt::format("{}:{}: {}", name, lines, no.what()));
  }
}

void require_possible(const header& h, std::size_t bytes, std::string_view name, offset line) {
  const std::size_t least = h.info.layout == matrix_market_info::layouts::array   ? 2
                            : h.info.field == matrix_market_info::fields::pattern ? 4
                                                                                  : 6;
  const auto most = static_cast<offset>(bytes / least + 1);
  if (h.entries > most)
    throw_at(name, line,
             fmt::format("{} entries are declared, but the {} bytes that follow hold at most {}", h.entries,
                         bytes, most));
}

namespace {

constexpr std::size_t stream_bytes = std::size_t{32} << 20;  // read from a stream at a time
constexpr std::size_t most_header_bytes = std::size_t{1} << 30;

/// Whether `text` has the size line: the first after the banner that is neither blank nor a comment.
bool holds_header(std::string_view text) {
  for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at)) {
    at = text.find_first_not_of(" \t\r\n", at);
    if (at != text.npos && text[at] != '%') return text.find('\n', at) != text.npos;
  }
  return false;
}

/// Reads the current entry of an archive, or a plain stream, in portions.
template <class V>
csr<V> read_stream(archive_reader& source, std::string_view name, const read_options& options,
                   matrix_market_info* info) {
  std::vector<char> buffer(stream_bytes);
  std::size_t filled = 0;
  std::optional<body<V>> entries;
  for (bool is_last = false; !is_last;) {
    filled += source.read(std::span(buffer).subspan(filled));
    is_last = filled < buffer.size();
    // Keep the begin of a line whose end has not been read yet.
    std::size_t whole = filled;
    if (!is_last) {
      while (whole > 0 && buffer[whole - 1] != '\n') --whole;
      if (whole == 0) throw parse_error(fmt::format("{}: a line of more than {} bytes", name, buffer.size()));
    }
    std::string_view text(buffer.data(), whole);
    if (!entries) {
      if (!is_last && !holds_header(text)) {  // very long comments
        if (buffer.size() > most_header_bytes)
          throw parse_error(fmt::format("{}: no line of sizes in {} bytes", name, whole));
        buffer.resize(2 * buffer.size());
        continue;
      }
      offset lines = 0;
      const header h = take_header(text, name, lines);
      if (is_last) require_possible(h, text.size(), name, lines);
      entries.emplace(h, name, lines, options);
    }
    entries->take(text, [&](double) { return source.progress(); });
    std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(whole),
              buffer.begin() + static_cast<std::ptrdiff_t>(filled), buffer.begin());
    filled -= whole;
  }
  std::vector<char>().swap(buffer);
  return entries->finish(info);
}

/// Whether `entry` is the main matrix of a SuiteSparse archive: web/web.mtx, beside web/web_b.mtx.
bool is_named_like_its_folder(const std::filesystem::path& entry) {
  return entry.has_parent_path() && entry.stem() == entry.parent_path().filename();
}

}  // namespace

/// Reads the main .mtx of the archive, or the only one.
template <class V>
csr<V> read_archive(const std::filesystem::path& path, const read_options& options,
                    matrix_market_info* info) {
  archive_reader source(path);
  std::optional<csr<V>> only;
  std::exception_ptr failure;  // of reading that one; ignored if the main one follows
  std::string only_name, reason = "the file is empty";
  while (const auto entry = source.next()) {
    if (entry->name.empty()) return read_stream<V>(source, path.string(), options, info);
    const std::filesystem::path name = entry->name;
    // macOS puts a ._name beside each file.
    const bool is_matrix = name.extension() == ".mtx" && !name.filename().native().starts_with("._");
    if (only_name.empty())
      reason = name.extension() == ".npy" ? "an .npz must be a file: it cannot come through a pipe"
                                          : "holds no .mtx file";
    if (!is_matrix) continue;
    const std::string full_name = fmt::format("{}/{}", path.string(), entry->name);
    if (is_named_like_its_folder(name)) {
      only.reset();
      return read_stream<V>(source, full_name, options, info);
    }
    if (!only_name.empty())
      reason =
          fmt::format("holds several .mtx files ({}, {}); take out the one you want", only_name, entry->name);
    if (std::exchange(only_name, entry->name).empty()) try {
        only = read_stream<V>(source, full_name, options, info);
        reason.clear();
      } catch (const error&) {
        failure = std::current_exception();
        reason.clear();
      }
  }
  if (!reason.empty()) throw parse_error(fmt::format("{}: {}", path.string(), reason));
  if (failure) std::rethrow_exception(failure);
  return std::move(*only);
}

}  // namespace matrix_market

template <class V>
csr<V> parse_matrix_market(std::string_view text, std::string_view name, const read_options& options,
                           matrix_market_info* info) {
  offset lines = 0;
  const matrix_market::header h = matrix_market::take_header(text, name, lines);
  matrix_market::require_possible(h, text.size(), name, lines);
  // The general way starts over if the fast way gives up: reported progress must not decrease.
  read_options rising = options;
  double highest = 0;
  if (options.progress)
    rising.progress = [&](double part) { options.progress(highest = std::max(highest, part)); };
  if (h.info.layout == matrix_market_info::layouts::coordinate) {
    require_reasonable_shape(h.rows, h.cols, h.entries, fmt::format("{}:{}", name, lines));
    if (auto a = matrix_market::parse_in_order<V>(text, h, rising)) {
      if (info) *info = h.info;
      return std::move(*a);
    }
  }
  matrix_market::body<V> entries(h, name, lines, rising);
  entries.take(text, [](double part) { return part; });
  return entries.finish(info);
}

template <class V>
csr<V> read_matrix_market(const std::filesystem::path& path, const read_options& options,
                          matrix_market_info* info) {
  const mapped_file file(path);
  const bool is_plain = file.is_mapped() && (file.text().empty() || file.text().starts_with('%'));
  if (!is_plain) return matrix_market::read_archive<V>(path, options, info);
  return parse_matrix_market<V>(file.text(), path.string(), options, info);
}

template <class V> std::vector<V> read_vector(const std::filesystem::path& path) {
  const csr<V> a = read_matrix_market<V>(path);
  if (a.rows != 1 && a.cols != 1)
    throw shape_error(fmt::format("{}: {} x {} is no vector: one row or one column is needed", path.string(),
                                  a.rows, a.cols));
  std::vector<V> x(static_cast<std::size_t>(a.cols == 1 ? a.rows : a.cols), V{0});
  for (index i = 0; i < a.rows; ++i)
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) x[a.cols == 1 ? i : a.col[k]] = a.val[k];
  return x;
}

std::string_view to_string(matrix_market_info::layouts layout) {
  return layout == matrix_market_info::layouts::array ? "array" : "coordinate";
}

std::string_view to_string(matrix_market_info::fields field) {
  constexpr std::string_view names[] = {"real", "integer", "pattern"};
  return names[static_cast<int>(field)];
}

std::string_view to_string(matrix_market_info::symmetries symmetry) {
  constexpr std::string_view names[] = {"general", "symmetric", "skew-symmetric"};
  return names[static_cast<int>(symmetry)];
}

#define NONZERO_INSTANTIATE(V)                                                                 \
  template csr<V> parse_matrix_market(std::string_view, std::string_view, const read_options&, \
                                      matrix_market_info*);                                    \
  template csr<V> read_matrix_market(const std::filesystem::path&, const read_options&,        \
                                     matrix_market_info*);                                     \
  template std::vector<V> read_vector(const std::filesystem::path&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
