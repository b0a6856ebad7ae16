#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <nonzero/formats/csr.hpp>
#include <nonzero/io/matrix_market_internal.hpp>
#include <nonzero/io/read_options.hpp>

// The lines of entries of a Matrix Market file, a block at a time. For the reader alone: not installed.
namespace nz::matrix_market {

/// Cuts a text of whole lines into blocks of whole lines, about `block_bytes` each: one task's text, whose
/// entries should stay in cache. The begins, and the end.
std::vector<const char*> cut_into_blocks(std::string_view text, std::size_t block_bytes);

struct block_counts {
  offset lines = 0;
  offset entries = 0;  // lines that hold one
  offset placed = 0;   // entries of the matrix they make: mirror images too
};

/// Where the entries of a block go.
template <class V> struct entry_arrays {
  index *row, *col;
  V* val;  // not touched for a pattern
};

/// How many entries `bytes` of text make at most.
std::size_t most_placed(const header& h, std::size_t bytes);

/// Parses the lines of a block of a coordinate file. `line` follows where the line being parsed begins: the
/// bad one when `bad_line` is thrown.
template <class V>
block_counts parse_entries(cursor text, const header& h, entry_arrays<V> to, const char*& line);

/// A general coordinate file without blank lines whose entries are in order already, row by row with rising
/// columns, goes straight into the arrays of its matrix: that is how this library, and anything that holds
/// rows, writes it. Nothing for any other file, and for one that has an error.
template <class V>
std::optional<csr<V>> parse_in_order(std::string_view text, const header& h, const read_options& options);

}  // namespace nz::matrix_market
