#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz {

/// A graph by its links, as SNAP and others publish them.
template <class V> struct edge_list {
  csr<V> links;                    // entry (a, b): a links to b; repeated links added up
  std::vector<std::string> names;  // of the pages; all differ
};

/// Reads lines of two names, and a weight where there is a third word (else 1), apart by spaces or tabs:
/// `a b` is a link from a to b. Lines that start with # or % are comments. Pages are numbered by their names
/// where all of these are whole numbers, such as SNAP's, else as they first appear. `file` stands for the
/// text in messages. Throws `parse_error` with the line, `unsupported` for more than 2^31 - 1 pages.
template <class V> edge_list<V> parse_edge_list(std::string_view text, std::string_view file);

/// The same from a file, which may be compressed, or a pipe.
template <class V> edge_list<V> read_edge_list(const std::filesystem::path& path);

/// Whether a file holds text, compressed or not, that has no banner of Matrix Market. Reads some of it: not
/// for pipes.
bool is_edge_list(const std::filesystem::path& path);

/// Lines of a name, and a weight where there is a second word (else 1), with comments as above.
struct named_weight {
  std::string name;
  double weight;
};
std::vector<named_weight> parse_named_weights(std::string_view text, std::string_view file);

/// All of a file of text, which may be compressed, or a pipe. Throws `parse_error` where it cannot be read.
std::string read_text(const std::filesystem::path& path);

}  // namespace nz
