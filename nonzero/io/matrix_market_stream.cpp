#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include <nonzero/io/archive.hpp>
#include <nonzero/io/matrix_market_body_internal.hpp>

// Matrix Market text that cannot be mapped: a segment at a time.
namespace nz::matrix_market {
namespace {

constexpr std::size_t stream_bytes = std::size_t{32} << 20;  // what is read from a stream at a time
constexpr std::size_t most_header_bytes = std::size_t{1} << 30;

/// Whether the line of sizes is in `text`: the first after the banner that is neither blank nor a comment.
bool holds_header(std::string_view text) {
  for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at)) {
    at = text.find_first_not_of(" \t\r\n", at);
    if (at != text.npos && text[at] != '%') return text.find('\n', at) != text.npos;
  }
  return false;
}

/// Reads the current entry of an archive, or a plain stream, a segment at a time.
template <class V>
csr<V> read_stream(archive_reader& source, std::string_view name, const read_options& options,
                   matrix_market_info* info) {
  std::vector<char> buffer(stream_bytes);
  std::size_t filled = 0;
  std::optional<body<V>> entries;
  for (bool is_last = false; !is_last;) {
    filled += source.read(std::span(buffer).subspan(filled));
    is_last = filled < buffer.size();
    // Keep the begin of a line whose end has not come yet.
    std::size_t whole = filled;
    if (!is_last) {
      while (whole > 0 && buffer[whole - 1] != '\n') --whole;
      if (whole == 0) throw parse_error(fmt::format("{}: a line of more than {} bytes", name, buffer.size()));
    }
    std::string_view text(buffer.data(), whole);
    if (!entries) {
      if (!is_last && !holds_header(text)) {  // comments without end, or nearly
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

/// Whether `entry` is the matrix that a SuiteSparse archive is about: web/web.mtx, beside web/web_b.mtx and
/// such.
bool is_named_like_its_folder(const std::filesystem::path& entry) {
  return entry.has_parent_path() && entry.stem() == entry.parent_path().filename();
}

}  // namespace

/// Reads the .mtx that the archive is about; else the only one there is.
template <class V>
csr<V> read_archive(const std::filesystem::path& path, const read_options& options,
                    matrix_market_info* info) {
  archive_reader source(path);
  std::optional<csr<V>> only;
  std::exception_ptr failure;  // of reading that one: no matter, if the main one is still to come
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

#define NONZERO_INSTANTIATE(V) \
  template csr<V> read_archive(const std::filesystem::path&, const read_options&, matrix_market_info*);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::matrix_market
