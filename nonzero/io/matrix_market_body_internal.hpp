#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/io/assemble.hpp>
#include <nonzero/io/matrix_market_internal.hpp>

// The lines of entries of a Matrix Market file. For the reader only: not installed.
namespace nz::matrix_market {

/// Splits a text of whole lines into blocks of whole lines of about `block_bytes`: the text of one task,
/// whose entries should stay in cache. Returns the begins, and the end.
std::vector<const char*> cut_into_blocks(std::string_view text, std::size_t block_bytes);

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

/// The most entries that `bytes` of text can make.
std::size_t most_placed(const header& h, std::size_t bytes);

/// Parses a block of a coordinate file. `line` is the begin of the current line: the bad one when `bad_line`
/// is thrown.
template <class V>
block_counts parse_entries(cursor text, const header& h, entry_arrays<V> to, const char*& line);

/// The fast way for a general coordinate file without blank lines whose entries are sorted by row and column,
/// as this library writes it: straight into the arrays of the matrix. Nothing for any other file, and for one
/// with an error.
template <class V>
std::optional<csr<V>> parse_in_order(std::string_view text, const header& h, const read_options& options);

[[noreturn]] void throw_at(std::string_view name, offset line, std::string_view reason);

/// Parses the header and removes it from `text`, which must have all of the header or all of the file.
header take_header(std::string_view& text, std::string_view name, offset& lines);

/// Throws if more entries are declared than `bytes` of text can hold.
void require_possible(const header& h, std::size_t bytes, std::string_view name, offset line);

/// Collects the entries of a file, one portion of the text after the other, each in parallel.
template <class V> class body {
  using layouts = matrix_market_info::layouts;
  using fields = matrix_market_info::fields;
  using symmetries = matrix_market_info::symmetries;

 public:
  /// `size_line` is the number of the line before the first of these.
  body(const header& h, std::string_view name, offset size_line, const read_options& options)
      : header_(h),
        name_(name),
        size_line_(size_line),
        passed_{.lines = size_line},
        options_(options),
        assembly_(h.rows, h.cols, h.info.symmetry == symmetries::general ? h.entries : 2 * h.entries) {}

  /// Takes the next portion: whole lines; the last line of the file need not end. `report(fraction)` turns a
  /// fraction of this portion into one of the whole file.
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
    const std::size_t places = most_placed(header_, static_cast<std::size_t>(c.end - c.at));
    const bool has_values = header_.info.field != fields::pattern;
    list.row.resize(places);  // unused pages are never touched
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

}  // namespace nz::matrix_market
