#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include <nonzero/core/threads.hpp>
#include <nonzero/io/assemble.hpp>
#include <nonzero/io/matrix_market_internal.hpp>

// The entries of a Matrix Market file, by blocks of lines that tasks parse in parallel.
namespace nz::matrix_market {
namespace {

struct block_counts {
  offset lines = 0;
  offset entries = 0;  // lines with an entry
  offset placed = 0;   // entries of the matrix, mirrored ones included
};

/// Where the entries of a block go.
template <class V> struct entry_arrays {
  index *row, *col;
  V* val;  // not touched for a pattern
};

/// Where a text has more than longest_line bytes without the end of a line, or a NUL.
struct bad_text {
  const char* at;
};

/// Splits a text of whole lines into blocks of whole lines of about `block_bytes`: the text of one task,
/// whose entries should stay in cache. Returns the begins, and the end.
std::vector<const char*> split_into_blocks(std::string_view text, std::size_t block_bytes) {
  std::vector<const char*> begins{text.data()};
  const char* const end = text.data() + text.size();
  while (end - begins.back() > static_cast<std::ptrdiff_t>(block_bytes)) {
    const char* from = begins.back() + block_bytes;
    const std::ptrdiff_t searched = std::min(end - from, longest_line);
    const void* newline = std::memchr(from, '\n', static_cast<std::size_t>(searched));
    if (!newline && searched == longest_line) throw bad_text{from};
    if (!newline) break;
    const char* const next = static_cast<const char*>(newline) + 1;
    if (std::memchr(from, 0, static_cast<std::size_t>(next - from))) throw bad_text{from};  // a hole
    begins.push_back(next);
  }
  if (begins.back() != end || begins.size() == 1) begins.push_back(end);
  return begins;
}

/// Runs parse(b) for each block in parallel; reports progress after each that returns true.
template <class Parse>
void for_each_block(std::size_t blocks, const read_options& options, const Parse& parse) {
  std::mutex progress_mutex;
  std::size_t done = 0;
  parallel_tasks(static_cast<std::int64_t>(blocks), options.threads, [&](std::int64_t b) {
    if (!parse(static_cast<std::size_t>(b)) || !options.progress) return;
    const std::lock_guard lock(progress_mutex);
    options.progress(static_cast<double>(++done) / static_cast<double>(blocks));
  });
}

template <class V, bool HasValues>
block_counts parse_lines(cursor c, const header& h, entry_arrays<V> to, const char*& line) {
  const bool is_integer = h.info.field == fields::integer;
  const symmetries symmetry = h.info.symmetry;
  const index rows = h.rows, cols = h.cols;
  block_counts passed;
  offset n = 0;
  while (c.at != c.end) {
    line = c.at;
    ++passed.lines;
    c.skip_blanks();
    if (c.is_at_line_end()) {
      c.finish_line();
      continue;
    }
    const index i = parse_index(c, "row", rows);
    const index j = parse_index(c, "column", cols);
    V v{1};
    if constexpr (HasValues) v = parse_value<V>(c, is_integer);
    c.finish_line();
    ++passed.entries;
    to.row[n] = i;
    to.col[n] = j;
    if constexpr (HasValues) to.val[n] = v;
    ++n;
    if (symmetry == symmetries::general) continue;
    if (i == j) {
      if (symmetry == symmetries::symmetric) continue;
      if (v != V{0}) refuse("the diagonal entry {} of a skew-symmetric matrix is not 0", i + 1);
      --n;  // not stored
      continue;
    }
    to.row[n] = j;
    to.col[n] = i;
    if constexpr (HasValues) to.val[n] = symmetry == symmetries::skew_symmetric ? -v : v;
    ++n;
  }
  passed.placed = n;
  return passed;
}

/// Parses a block of a coordinate file. `line` is the begin of the current line: the bad one when `bad_line`
/// is thrown.
template <class V>
block_counts parse_entries(cursor text, const header& h, entry_arrays<V> to, const char*& line) {
  return h.info.field == fields::pattern ? parse_lines<V, false>(text, h, to, line)
                                         : parse_lines<V, true>(text, h, to, line);
}

/// Nothing if there is a NUL: most of a large file may be a hole. Counts in 64 one-byte counters, added up
/// before they overflow: vectorized, ten times as fast as std::count.
std::optional<offset> count_lines(const char* begin, const char* end) {
  constexpr std::ptrdiff_t lanes = 64, most = 255;
  offset lines = begin != end && end[-1] != '\n';
  while (end - begin >= lanes) {
    std::uint8_t found[lanes] = {}, nuls[lanes] = {};
    const std::ptrdiff_t rounds = std::min((end - begin) / lanes, most);
    for (std::ptrdiff_t round = 0; round < rounds; ++round, begin += lanes)
      for (std::ptrdiff_t lane = 0; lane < lanes; ++lane) {
        found[lane] += begin[lane] == '\n';
        nuls[lane] |= begin[lane] == 0;
      }
    for (std::ptrdiff_t lane = 0; lane < lanes; ++lane) {
      if (nuls[lane]) return std::nullopt;
      lines += found[lane];
    }
  }
  return lines + std::count(begin, end, '\n');
}

/// Row and column of the first and the last entry of a block in order.
struct block_ends {
  std::pair<index, index> first, last;
};

/// Sets row_begin for all rows of a block but its first. The block's entries start at `start` in the matrix.
/// Returns false if they are not in order.
bool place_rows(const index* row, const index* col, offset count, offset start, array<offset>& row_begin) {
  for (offset k = 1; k < count; ++k) {
    if (row[k] == row[k - 1]) {
      if (col[k] <= col[k - 1]) return false;
      continue;
    }
    if (row[k] < row[k - 1]) return false;
    // In a file that is not in order, another block may set the same places. They are not used then, but the
    // stores must not be a data race.
    for (index r = row[k - 1] + 1; r <= row[k]; ++r)
      std::atomic_ref(row_begin[r]).store(start + k, std::memory_order_relaxed);
  }
  return true;
}

/// Sets row_begin for the first row of each block, the empty rows before it, and the rows after the last
/// block. Returns false if the blocks
/// are not in order.
bool join_blocks(const std::vector<block_ends>& ends, const std::vector<offset>& start,
                 array<offset>& row_begin) {
  index next_row = 0;  // the first whose begin is not known
  for (std::size_t b = 0; b < ends.size(); ++b) {
    if (start[b] == start[b + 1]) continue;
    if (b > 0 && ends[b].first <= ends[b - 1].last) return false;
    for (; next_row <= ends[b].first.first; ++next_row) row_begin[next_row] = start[b];
    next_row = ends[b].last.first + 1;
  }
  for (offset r = next_row; r < static_cast<offset>(row_begin.size()); ++r) row_begin[r] = start.back();
  return true;
}

/// Collects the entries of a file, portion by portion; each is parsed in parallel.
template <class V> class body {
 public:
  body(const header& h, std::string_view name, const read_options& options)
      : header_(h),
        name_(name),
        passed_{.lines = h.size_line},
        options_(options),
        assembly_(h.rows, h.cols, h.copies() * h.entries) {}

  void take(std::string_view text) {
    const std::vector<const char*> begins = split(text);
    const std::size_t blocks = begins.size() - 1;
    const offset entries_before = passed_.entries;
    std::vector<block_counts> passed(blocks);
    if (is_array()) values_.resize(blocks_ + blocks);
    for_each_block(blocks, options_, [&](std::size_t b) {
      passed[b] = take_block({begins[b], begins[b + 1]}, blocks_ + b, text.data());
      return true;
    });
    blocks_ += blocks;
    for (std::size_t b = 0; b < blocks; ++b) {
      if (passed_.entries + passed[b].entries > header_.entries) throw_surplus({begins[b], begins[b + 1]});
      passed_.entries += passed[b].entries;
      passed_.lines += passed[b].lines;
    }
    if (passed_.entries == entries_before && text.size() > most_blank_bytes)
      throw_at(name_, passed_.lines, fmt::format("{} bytes of blank lines without an entry", text.size()));
  }

  csr<V> finish(matrix_market_info* info) {
    if (passed_.entries < header_.entries)
      throw_at(name_, passed_.lines + 1,
               fmt::format("the file ends after {} of {} entries", passed_.entries, header_.entries));
    require_reasonable_shape(header_.rows, header_.cols, header_.entries,
                             fmt::format("{}:{}", name_, header_.size_line));
    if (info) *info = header_.info;
    if (is_array()) return from_values();
    auto [matrix, duplicates] = assembly_.finish(options_.threads);
    if (info) info->duplicates_summed = duplicates;
    return std::move(matrix);
  }

 private:
  bool is_array() const { return header_.info.layout == layouts::array; }

  std::vector<const char*> split(std::string_view text) const {
    try {
      return split_into_blocks(text, options_.block_bytes);
    } catch (const bad_text& where) {
      const std::ptrdiff_t rest = text.data() + text.size() - where.at;
      const bool is_hole =
          std::memchr(where.at, 0, static_cast<std::size_t>(std::min(rest, longest_line))) != nullptr;
      throw_at(name_, passed_.lines + 1 + std::count(text.data(), where.at, '\n'),
               is_hole ? "a NUL byte, which no text has"
                       : fmt::format("a line of more than {} bytes", longest_line));
    }
  }

  /// Parses one block. `text` is the begin of this portion.
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
    const bool has_values = header_.info.field != fields::pattern;
    // Room for the most entries that the text can make. Unused pages are never touched.
    list.resize(header_.copies() * most_entries(header_, static_cast<std::size_t>(c.end - c.at)), has_values);
    const block_counts passed =
        parse_entries<V>(c, header_, {list.row.data(), list.col.data(), list.val.data()}, line);
    list.resize(static_cast<std::size_t>(passed.placed), has_values);
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

  /// `c` is at the block with the first surplus entry; passed_ counts what is before it.
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

  /// Calls visit(i, j, v) for each nonzero of an array file, mirrored ones too, sorted by column in each row.
  template <class Visit> void for_each_nonzero(const Visit& visit) const {
    const symmetries symmetry = header_.info.symmetry;
    std::size_t block = 0, at = 0;
    for (index j = 0; j < header_.cols; ++j) {
      const index first = symmetry == symmetries::general ? 0 : symmetry == symmetries::symmetric ? j : j + 1;
      for (index i = first; i < header_.rows; ++i) {
        for (; at == values_[block].size(); at = 0) ++block;
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
  block_counts passed_;
  std::size_t blocks_ = 0;
  const read_options& options_;
  assembler<V> assembly_;         // of a coordinate file
  std::vector<array<V>> values_;  // of an array file, by block
};

}  // namespace

template <class V>
maybe_csr<V> parse_in_order(std::string_view text, const header& h, const read_options& options) {
  if (h.info.symmetry != symmetries::general) return std::nullopt;
  std::vector<const char*> begins;
  try {
    begins = split_into_blocks(text, options.block_bytes);
  } catch (const bad_text&) {
    return std::nullopt;
  }
  const std::size_t blocks = begins.size() - 1;
  std::vector<offset> start(blocks + 1, 0);  // where each block's entries begin, if every line is one
  std::atomic<bool> is_text = true;
  parallel_tasks(static_cast<std::int64_t>(blocks), options.threads, [&](std::int64_t b) {
    const std::optional<offset> lines = is_text ? count_lines(begins[b], begins[b + 1]) : std::nullopt;
    start[b + 1] = lines.value_or(0);
    if (!lines) is_text = false;
  });
  if (!is_text) return std::nullopt;
  for (std::size_t b = 0; b < blocks; ++b) start[b + 1] += start[b];
  if (start.back() != h.entries) return std::nullopt;

  csr<V> a{h.rows, h.cols, array<offset>(static_cast<std::size_t>(h.rows) + 1), {}, {}};
  a.col.resize(h.entries);
  a.val.resize(h.entries);
  std::vector<block_ends> ends(blocks);
  std::atomic<bool> is_in_order = true;
  for_each_block(blocks, options, [&](std::size_t b) {
    const offset count = start[b + 1] - start[b];
    if (!is_in_order || count == 0) return false;
    array<index> row(count);
    index* const col = a.col.data() + start[b];
    V* const val = a.val.data() + start[b];
    const char* line = nullptr;
    try {
      const block_counts passed =
          parse_entries<V>({begins[b], begins[b + 1]}, h, {row.data(), col, val}, line);
      if (passed.entries != count || !place_rows(row.data(), col, count, start[b], a.row_begin))
        is_in_order = false;
    } catch (const bad_line&) {
      is_in_order = false;
    }
    if (!is_in_order) return false;
    if (h.info.field == fields::pattern) std::fill(val, val + count, V{1});
    ends[b] = {{row.front(), col[0]}, {row.back(), col[count - 1]}};
    return true;
  });
  if (!is_in_order || !join_blocks(ends, start, a.row_begin)) return std::nullopt;
  return a;
}

template <class V>
csr<V> parse_body(const header& h, std::string_view name, const read_options& options, std::string_view first,
                  const std::function<std::optional<std::string_view>()>& next, matrix_market_info* info) {
  body<V> entries(h, name, options);
  for (std::optional<std::string_view> text = first; text; text = next()) entries.take(*text);
  return entries.finish(info);
}

#define NONZERO_INSTANTIATE(V)                                                                       \
  template maybe_csr<V> parse_in_order(std::string_view, const header&, const read_options&);        \
  template csr<V> parse_body(const header&, std::string_view, const read_options&, std::string_view, \
                             const std::function<std::optional<std::string_view>()>&, matrix_market_info*);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::matrix_market
