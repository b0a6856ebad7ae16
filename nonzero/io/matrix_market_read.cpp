#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/io/archive.hpp>
#include <nonzero/io/assemble.hpp>
#include <nonzero/io/mapped_file.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/matrix_market_block_internal.hpp>
#include <nonzero/io/matrix_market_internal.hpp>

namespace nz {
namespace matrix_market {
namespace {

using layouts = matrix_market_info::layouts;
using fields = matrix_market_info::fields;
using symmetries = matrix_market_info::symmetries;

constexpr std::size_t stream_bytes = std::size_t{32} << 20;  // what is read from a stream at a time
constexpr std::size_t most_header_bytes = std::size_t{1} << 30;

[[noreturn]] void throw_at(std::string_view name, offset line, std::string_view reason) {
  throw parse_error(fmt::format("{}:{}: {}", name, line, reason));
}

/// The lines of entries of a file, taken in pieces, in parallel within a piece.
template <class V> class body {
 public:
  /// `size_line` is the number of the line before the first of these.
  body(const header& h, std::string_view name, offset size_line, const read_options& options)
      : header_(h),
        name_(name),
        size_line_(size_line),
        passed_{.lines = size_line},
        options_(options),
        assembly_(h.rows, h.cols, h.info.symmetry == symmetries::general ? h.entries : 2 * h.entries) {}

  /// Takes the next piece: whole lines, except that the last of the file need not end. `report(part)` says
  /// how far a part of this piece brings the whole.
  template <class Report> void take(std::string_view text, const Report& report) {
    const std::vector<const char*> begins = cut_into_blocks(text, options_.block_bytes);
    const std::size_t blocks = begins.size() - 1;
    std::vector<block_counts> passed(blocks);
    if (is_array()) values_.resize(blocks_ + blocks);
    std::size_t done = 0;
    parallel_tasks(static_cast<std::int64_t>(blocks), options_.threads, [&](std::int64_t b) {
      passed[b] = take_block({begins[b], begins[b + 1]}, blocks_ + b, text.data());
      if (!options_.progress) return;
      const std::lock_guard lock(progress_mutex_);
      options_.progress(report(static_cast<double>(++done) / static_cast<double>(blocks)));
    });
    blocks_ += blocks;
    for (std::size_t b = 0; b < blocks; ++b) {
      if (passed_.entries + passed[b].entries > header_.entries) throw_surplus({begins[b], begins[b + 1]});
      passed_.entries += passed[b].entries;
      passed_.lines += passed[b].lines;
    }
  }

  csr<V> finish(matrix_market_info* info) {
    if (passed_.entries < header_.entries)
      throw_at(name_, passed_.lines + 1,
               fmt::format("the file ends after {} of {} entries", passed_.entries, header_.entries));
    require_reasonable_shape(header_.rows, header_.cols, passed_.entries,
                             fmt::format("{}:{}", name_, size_line_));
    if (info) *info = header_.info;
    if (is_array()) return from_values();
    auto [matrix, duplicates] = assembly_.finish(options_.threads);
    if (info) info->duplicates_summed = duplicates;
    return std::move(matrix);
  }

 private:
  bool is_array() const { return header_.info.layout == layouts::array; }

  /// Parses one block and says what it held. `text` is where this piece's lines begin.
  block_counts take_block(cursor c, std::size_t position, const char* text) {
    const char* line = c.at;
    try {
      return is_array() ? take_values(c, line, values_[position]) : take_entries(c, line, position);
    } catch (const bad_line& bad) {
      throw_at(name_, passed_.lines + 1 + std::count(text, line, '\n'), bad.reason);
    }
  }

  block_counts take_entries(cursor c, const char*& line, std::size_t position) {
    entry_list<V> list = assembly_.take_list();
    const std::size_t places = most_placed(header_, static_cast<std::size_t>(c.end - c.at));
    const bool has_values = header_.info.field != fields::pattern;
    list.row.resize(places);  // pages that no entry reaches are never touched
    list.col.resize(places);
    list.val.resize(has_values ? places : 0);
    const block_counts passed =
        parse_entries<V>(c, header_, {list.row.data(), list.col.data(), list.val.data()}, line);
    list.row.resize(passed.placed);
    list.col.resize(passed.placed);
    list.val.resize(has_values ? passed.placed : 0);
    assembly_.add(position, std::move(list));
    return passed;
  }

  block_counts take_values(cursor c, const char*& line, array<V>& values) {
    const bool is_integer = header_.info.field == fields::integer;
    offset lines = 0;
    while (c.at != c.end) {
      line = c.at;
      ++lines;
      c.skip_blanks();
      if (!c.is_at_line_end()) values.push_back(parse_value<V>(c, is_integer));
      c.finish_line();
    }
    return {.lines = lines, .entries = static_cast<offset>(values.size())};
  }

  /// `c` is at the block in which the entries become too many; passed_ counts those before it.
  [[noreturn]] void throw_surplus(cursor c) const {
    offset line = passed_.lines, left = header_.entries - passed_.entries;
    while (true) {
      ++line;
      c.skip_blanks();
      if (!c.is_at_line_end() && left-- == 0)
        throw_at(name_, line, fmt::format("an entry past the declared {}", header_.entries));
      c.at = std::find(c.at, c.end, '\n') + 1;
    }
  }

  /// Calls visit(i, j, v) for each nonzero of an array file, mirrored ones too, so that each row's columns
  /// rise.
  template <class Visit> void for_each_nonzero(const Visit& visit) const {
    const symmetries symmetry = header_.info.symmetry;
    std::size_t block = 0, at = 0;
    for (index j = 0; j < header_.cols; ++j) {
      const index first = symmetry == symmetries::general ? 0 : symmetry == symmetries::symmetric ? j : j + 1;
      for (index i = first; i < header_.rows; ++i) {
        while (at == values_[block].size()) {
          ++block;
          at = 0;
        }
        const V v = values_[block][at++];
        if (v == V{0} && !std::signbit(v)) continue;
        visit(i, j, v);
        if (symmetry != symmetries::general && i != j)
          visit(j, i, symmetry == symmetries::symmetric ? v : -v);
      }
    }
  }

  csr<V> from_values() const {
    csr<V> a{
        header_.rows, header_.cols, array<offset>(static_cast<std::size_t>(header_.rows) + 1, 0), {}, {}};
    for_each_nonzero([&](index i, index, V) { ++a.row_begin[i + 1]; });
    for (index i = 0; i < a.rows; ++i) a.row_begin[i + 1] += a.row_begin[i];
    a.col.resize(a.nnz());
    a.val.resize(a.nnz());
    array<offset> next(a.row_begin.begin(), a.row_begin.end());
    for_each_nonzero([&](index i, index j, V v) {
      a.col[next[i]] = j;
      a.val[next[i]++] = v;
    });
    return a;
  }

  header header_;
  std::string_view name_;
  offset size_line_;
  block_counts passed_;
  std::size_t blocks_ = 0;
  const read_options& options_;
  assembler<V> assembly_;         // of a coordinate file
  std::vector<array<V>> values_;  // of an array file, by block
  std::mutex progress_mutex_;
};

/// The header at the front of `text`, which is taken off it. `text` holds at least the whole header or the
/// whole file.
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

/// Whether the line of sizes is in `text`: the first after the banner that is neither blank nor a comment.
bool holds_header(std::string_view text) {
  for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at)) {
    at = text.find_first_not_of(" \t\r\n", at);
    if (at != text.npos && text[at] != '%') return text.find('\n', at) != text.npos;
  }
  return false;
}

/// Refuses to start on more entries than `bytes` of text can hold.
void require_possible(const header& h, std::size_t bytes, std::string_view name, offset line) {
  const std::size_t least = h.info.layout == layouts::array ? 2 : h.info.field == fields::pattern ? 4 : 6;
  const auto most = static_cast<offset>(bytes / least + 1);
  if (h.entries > most)
    throw_at(name, line,
             fmt::format("{} entries are declared, but the {} bytes that follow hold at most {}", h.entries,
                         bytes, most));
}

/// Reads the current entry of an archive, or a plain stream, a piece at a time.
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

}  // namespace
}  // namespace matrix_market

template <class V>
csr<V> parse_matrix_market(std::string_view text, std::string_view name, const read_options& options,
                           matrix_market_info* info) {
  offset lines = 0;
  const matrix_market::header h = matrix_market::take_header(text, name, lines);
  matrix_market::require_possible(h, text.size(), name, lines);
  // The second way starts over where the first gives up: what is reported must not fall back.
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

template csr<float> parse_matrix_market(std::string_view, std::string_view, const read_options&,
                                        matrix_market_info*);
template csr<double> parse_matrix_market(std::string_view, std::string_view, const read_options&,
                                         matrix_market_info*);
template csr<float> read_matrix_market(const std::filesystem::path&, const read_options&,
                                       matrix_market_info*);
template csr<double> read_matrix_market(const std::filesystem::path&, const read_options&,
                                        matrix_market_info*);
template std::vector<float> read_vector(const std::filesystem::path&);
template std::vector<double> read_vector(const std::filesystem::path&);

}  // namespace nz
