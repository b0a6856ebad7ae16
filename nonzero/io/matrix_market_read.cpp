#include <algorithm>
#include <exception>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/assemble.hpp>
#include <nonzero/io/input_file.hpp>
#include <nonzero/io/matrix_market_internal.hpp>

namespace nz::matrix_market {
namespace {

constexpr std::size_t stream_bytes = std::size_t{32} << 20;  // read from a stream at a time
constexpr std::size_t most_header_bytes = std::size_t{1} << 30;

/// Throws if more entries are declared than `bytes` of text can hold.
void require_possible(const header& h, std::size_t bytes, std::string_view name) {
  const auto most = static_cast<offset>(most_entries(h, bytes));
  if (h.entries > most)
    throw_at(name, h.size_line,
             fmt::format("{} entries are declared, but the {} bytes that follow hold at most {}", h.entries,
                         bytes, most));
}

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
csr<V> read_stream(archive_reader& source, std::string_view name, read_options options,
                   matrix_market_info* info) {
  // Only the source knows how much of it has been read.
  if (options.progress)
    options.progress = [&, report = options.progress](double) { report(source.progress()); };
  std::vector<char> buffer(stream_bytes);
  std::size_t filled = 0, whole = 0;  // bytes in the buffer; those of the current portion
  bool is_last = false;
  const auto next = [&]() -> std::optional<std::string_view> {
    if (is_last) {
      std::vector<char>().swap(buffer);
      return {};
    }
    // Keep the begin of a line whose end had not been read yet.
    filled -= whole;
    std::memmove(buffer.data(), buffer.data() + whole, filled);
    filled += source.read(std::span(buffer).subspan(filled));
    is_last = filled < buffer.size();
    whole = filled;
    while (!is_last && whole > 0 && buffer[whole - 1] != '\n') --whole;
    if (!is_last && whole == 0)
      throw parse_error(fmt::format("{}: a line of more than {} bytes", name, buffer.size()));
    return std::string_view(buffer.data(), whole);
  };
  std::string_view text = *next();
  while (!is_last && !holds_header(text)) {  // very long comments
    if (buffer.size() > most_header_bytes)
      throw parse_error(fmt::format("{}: no line of sizes in {} bytes", name, whole));
    buffer.resize(2 * buffer.size());
    whole = 0;
    text = *next();
  }
  const header h = take_header(text, name);
  if (is_last) require_possible(h, text.size(), name);
  return parse_body<V>(h, name, options, text, next, info);
}

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
    // The main matrix of a SuiteSparse archive is named like its folder: web/web.mtx, beside web/web_b.mtx.
    if (name.has_parent_path() && name.stem() == name.parent_path().filename()) {
      only.reset();
      return read_stream<V>(source, full_name, options, info);
    }
    if (only_name.empty()) {
      reason.clear();
      try {
        only = read_stream<V>(source, full_name, options, info);
      } catch (const error&) {
        failure = std::current_exception();
      }
    } else {
      reason =
          fmt::format("holds several .mtx files ({}, {}); take out the one you want", only_name, entry->name);
    }
    only_name = entry->name;
  }
  if (!reason.empty()) throw parse_error(fmt::format("{}: {}", path.string(), reason));
  if (failure) std::rethrow_exception(failure);
  return std::move(*only);
}

}  // namespace
}  // namespace nz::matrix_market

namespace nz {

template <class V>
csr<V> parse_matrix_market(std::string_view text, std::string_view name, const read_options& options,
                           matrix_market_info* info) {
  const matrix_market::header h = matrix_market::take_header(text, name);
  matrix_market::require_possible(h, text.size(), name);
  // The general path starts over if the ordered path gives up: reported progress must not decrease.
  read_options rising = options;
  double highest = 0;
  if (options.progress)
    rising.progress = [&](double fraction) { options.progress(highest = std::max(highest, fraction)); };
  if (h.info.layout == matrix_market_info::layouts::coordinate) {
    require_reasonable_shape(h.rows, h.cols, h.entries, fmt::format("{}:{}", name, h.size_line));
    if (auto a = matrix_market::parse_in_order<V>(text, h, rising)) {
      if (info) *info = h.info;
      return std::move(*a);
    }
  }
  return matrix_market::parse_body<V>(
      h, name, rising, text, [] { return std::nullopt; }, info);
}

template <class V>
csr<V> read_matrix_market(const std::filesystem::path& path, const read_options& options,
                          matrix_market_info* info) {
  const mapped_file file(path);
  const bool is_plain = file.text() && (file.text()->empty() || file.text()->starts_with('%'));
  return is_plain ? parse_matrix_market<V>(*file.text(), path.string(), options, info)
                  : matrix_market::read_archive<V>(path, options, info);
}

#define NONZERO_INSTANTIATE(V)                                                                 \
  template csr<V> parse_matrix_market(std::string_view, std::string_view, const read_options&, \
                                      matrix_market_info*);                                    \
  template csr<V> read_matrix_market(const std::filesystem::path&, const read_options&, matrix_market_info*);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
