// Any text: it is read or refused as an edge list; what is read is valid, its names differ, and it agrees
// with a reader written in the plainest way.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <fuzz/checks.hpp>

#include <nonzero/io/edge_list.hpp>

namespace fuzz {
namespace {

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Reads a text that is known to be right, with nothing but the standard library.
std::map<std::pair<std::string, std::string>, double> read_plainly(const std::string& text) {
  std::map<std::pair<std::string, std::string>, double> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    std::istringstream words(line);
    std::string from, to, weight;
    if (!(words >> from) || from[0] == '#' || from[0] == '%') continue;
    words >> to;
    out[{from, to}] += words >> weight ? std::strtod(weight.c_str(), nullptr) : 1;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  nz::edge_list<double> found;
  try {
    found = nz::parse_edge_list<double>(text, "text");
    require(nz::parse_edge_list<float>(text, "text").names == found.names);
  } catch (const nz::parse_error& e) {
    require(std::string_view(e.what()).starts_with("text:"));
    return 0;
  }
  validate(found.links);
  const auto& [links, names] = found;
  require(names.size() == static_cast<std::size_t>(links.rows) && links.rows == links.cols);
  require(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  const auto wanted = read_plainly(text);
  require(static_cast<nz::offset>(wanted.size()) == links.nnz());
  for (nz::index i = 0; i < links.rows; ++i)
    for (nz::offset k = links.row_begin[i]; k < links.row_begin[i + 1]; ++k) {
      const auto link =
          wanted.find({names[static_cast<std::size_t>(i)], names[static_cast<std::size_t>(links.col[k])]});
      require(link != wanted.end() && is_same(link->second, links.val[k]));
    }
  return 0;
}

}  // namespace fuzz
