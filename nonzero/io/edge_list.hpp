#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz {

/// A graph as a list of links, as SNAP publishes them.
template <class V> struct edge_list {
  csr<V> links;                    // entry (a, b): a links to b; repeated links added up
  std::vector<std::string> names;  // of the pages; all differ
};

/// Reads lines of two names and an optional weight (default 1), separated by spaces or tabs: `a b` is a link
/// from a to b. Lines that start with # or % are comments. If all names are whole numbers, as in SNAP's
/// files, pages are sorted by them, otherwise in the order of first appearance. `file` is the name in
/// messages. Throws `parse_error` with the line, `unsupported` for more than 2^31 - 1 pages.
template <class V> edge_list<V> parse_edge_list(std::string_view text, std::string_view file);

/// The same from a file, which may be compressed, or a pipe.
template <class V> edge_list<V> read_edge_list(const std::filesystem::path& path);

/// Whether a file (not a pipe: it is read from) is text, compressed or not, without a Matrix Market banner.
/// An array of NumPy is no text.
bool is_edge_list(const std::filesystem::path& path);

/// Lines of a name and an optional weight (default 1), with comments as above.
struct named_weight {
  std::string name;
  double weight;
};
std::vector<named_weight> parse_named_weights(std::string_view text, std::string_view file);

/// Names of pages, one on each line. Throws `parse_error` with the line for an empty name, or one with
/// control characters: a tab would be taken for the end of a column where ranks are written.
std::vector<std::string> parse_names(std::string_view text, std::string_view file);

/// The text of a file, which may be compressed, or a pipe. Throws `parse_error` if it cannot be read.
std::string read_text(const std::filesystem::path& path);

}  // namespace nz
