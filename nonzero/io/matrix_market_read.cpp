#include <algorithm>
#include <exception>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/assemble.hpp>
#include <nonzero/io/input_file.hpp>
#include <nonzero/io/matrix_market_internal.hpp>
#include <nonzero/io/read_internal.hpp>

namespace nz::matrix_market {
namespace {

constexpr std::size_t stream_bytes = std::size_t{32} << 20;  // read from a stream at a time

/// Throws if more entries are declared than `bytes` of text can hold.
void require_possible(const header& h, std::size_t bytes, std::string_view name) {
  const auto most = static_cast<offset>(most_entries(h, bytes));
  if (h.entries > most)
    throw_at(name, h.size_line,
             fmt::format("{} entries are declared, but the {} bytes that follow hold at most {}", h.entries,
                         bytes, most));
}

/// The text of a stream, in portions of whole lines.
class text_portions {
 public:
  text_portions(archive_reader& source, std::string_view name) : source_(source), name_(name) {}

  /// Up to the size line and what has been read behind it. The comments after the banner are left out, and
  /// counted: they may be many times longer than the rest of the header.
  std::string_view first() {
    fill(head_bytes);
    const std::size_t banner = std::min(text().find('\n') + 1, filled_);  // 0 if it has no end
    if (banner > 0)
      while (!skip_comments(banner) && !is_last_ && filled_ < head_bytes) fill(head_bytes);
    if (is_last_ && is_in_comment_) ++skipped_lines_;
    whole_ = is_last_ || banner == 0 ? filled_ : text().rfind('\n') + 1;
    if (!is_last_ && whole_ == banner && banner > 0)
      refuse_here(fmt::format("a line of more than {} bytes", head_bytes - banner));
    return text().substr(0, whole_);
  }
  offset skipped_lines() const { return skipped_lines_; }
  bool is_last() const { return is_last_; }

  std::optional<std::string_view> next() {
    if (is_last_) {
      array<char>().swap(buffer_);
      return {};
    }
    // Keep the begin of a line whose end had not been read yet.
    drop(0, whole_);
    fill(stream_bytes);
    whole_ = is_last_ ? filled_ : text().rfind('\n') + 1;
    if (filled_ - whole_ > static_cast<std::size_t>(longest_line))
      throw parse_error(fmt::format("{}: a line of more than {} bytes", name_, longest_line));
    return text().substr(0, whole_);
  }

 private:
  static constexpr std::size_t head_bytes = 2 * static_cast<std::size_t>(longest_header_line);

  std::string_view text() const { return {buffer_.data(), filled_}; }
  /// Reads until the buffer has `size` bytes, or the stream ends.
  void fill(std::size_t size) {
    if (buffer_.size() < size) buffer_.resize(size);
    filled_ += source_.read(std::span(buffer_).first(size).subspan(filled_));
    is_last_ = filled_ < size;
  }
  void drop(std::size_t from, std::size_t to) {
    std::memmove(buffer_.data() + from, buffer_.data() + to, filled_ - to);
    filled_ -= to - from;
  }
  /// Drops the comments and blank lines from `from` on; returns whether another line begins there.
  bool skip_comments(std::size_t from) {
    std::size_t at = from;
    bool is_found = false;
    while (at < filled_ && !is_found) {
      const std::size_t first = is_in_comment_ ? at : text().find_first_not_of(" \t\r", at);
      if (first == std::string_view::npos) break;
      is_in_comment_ |= buffer_[first] == '%';
      is_found = !is_in_comment_ && buffer_[first] != '\n';
      if (is_found) break;
      const std::size_t end = std::min(text().find('\n', first), filled_);
      if (skipped_bytes_ + end > static_cast<std::size_t>(most_header_bytes))
        refuse_here(fmt::format("there is no line of sizes in the first {} bytes", most_header_bytes));
      if (text().substr(at, end - at).find('\0') != std::string_view::npos)
        refuse_here("a NUL byte, which no text has");
      if (!is_in_comment_ && end - at > static_cast<std::size_t>(longest_header_line))
        refuse_here(fmt::format("a line of more than {} bytes", longest_header_line));
      if (end < filled_) {
        ++skipped_lines_;
        is_in_comment_ = false;
      }
      at = std::min(end + 1, filled_);
    }
    skipped_bytes_ += at - from;
    drop(from, at);
    // The rest of that line may not have been read yet.
    return is_found && text().find('\n', from) != std::string_view::npos;
  }
  [[noreturn]] void refuse_here(std::string_view reason) const {
    throw_at(name_, skipped_lines_ + 2, reason);
  }

  archive_reader& source_;
  std::string_view name_;
  array<char> buffer_;
  std::size_t filled_ = 0, whole_ = 0;  // bytes in the buffer; those of the current portion
  bool is_last_ = false, is_in_comment_ = false;
  offset skipped_lines_ = 0;
  std::size_t skipped_bytes_ = 0;
};

/// Reads the current entry of an archive, or a plain stream, in portions.
template <class V>
csr<V> read_stream(archive_reader& source, std::string_view name, read_options options,
                   matrix_market_info* info) {
  // Only the source knows how much of it has been read.
  if (options.progress)
    options.progress = [&, report = options.progress](double) { report(source.progress()); };
  text_portions portions(source, name);
  std::string_view text = portions.first();
  const header h = take_header(text, name, portions.skipped_lines());
  if (portions.is_last()) require_possible(h, text.size(), name);
  return parse_body<V>(
      h, name, options, text, [&] { return portions.next(); }, info);
}

[[noreturn]] void refuse_twice(const std::string& path, const std::string& member) {
  throw parse_error(fmt::format("{}: holds {} twice; take out the one you want", path, member));
}

/// Reads the main .mtx of the archive, or the only one.
template <class V>
csr<V> read_archive(input_file& file, const read_options& options, matrix_market_info* info) {
  const std::string& path = file.path();
  archive_reader source(file);
  std::optional<csr<V>> only;
  std::exception_ptr failure;  // of reading that one; ignored if the main one follows
  std::string only_name, reason = source.is_archive() ? "holds no .mtx file" : "the file is empty";
  while (const auto entry = source.next()) {
    if (entry->name.empty()) return read_stream<V>(source, path, options, info);
    const std::filesystem::path name = entry->name;
    // macOS puts a ._name beside each file.
    const bool is_matrix = name.extension() == ".mtx" && !name.filename().native().starts_with("._");
    if (!is_matrix) continue;
    const std::string full_name = fmt::format("{}/{}", path, entry->name);
    // The main matrix of a SuiteSparse archive is named like its folder: web/web.mtx, beside web/web_b.mtx.
    if (name.has_parent_path() && name.stem() == name.parent_path().filename()) {
      only.reset();
      csr<V> main = read_stream<V>(source, full_name, options, info);
      while (const auto later = source.next())
        if (later->name == entry->name) refuse_twice(path, later->name);
      return main;
    }
    if (only_name.empty()) {
      reason.clear();
      try {
        only = read_stream<V>(source, full_name, options, info);
      } catch (const error&) {
        failure = std::current_exception();
      }
    } else {
      if (entry->name == only_name) refuse_twice(path, only_name);
      reason =
          fmt::format("holds several .mtx files ({}, {}); take out the one you want", only_name, entry->name);
    }
    only_name = entry->name;
  }
  if (!reason.empty()) throw parse_error(fmt::format("{}: {}", path, reason));
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
csr<V> read_matrix_market(input_file& file, const read_options& options, matrix_market_info* info) {
  const bool is_plain = file.peek().empty() || file.peek().starts_with('%');
  const std::optional<std::string_view> text = is_plain ? file.text() : std::nullopt;
  return text ? parse_matrix_market<V>(*text, file.path(), options, info)
              : matrix_market::read_archive<V>(file, options, info);
}

template <class V>
csr<V> read_matrix_market(const std::filesystem::path& path, const read_options& options,
                          matrix_market_info* info) {
  input_file file(path);
  return read_matrix_market<V>(file, options, info);
}

#define NONZERO_INSTANTIATE(V)                                                                 \
  template csr<V> parse_matrix_market(std::string_view, std::string_view, const read_options&, \
                                      matrix_market_info*);                                    \
  template csr<V> read_matrix_market(input_file&, const read_options&, matrix_market_info*);   \
  template csr<V> read_matrix_market(const std::filesystem::path&, const read_options&, matrix_market_info*);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
