#include "rank_file.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include <nonzero/io/output_file.hpp>

#include "failures.hpp"
#include "output.hpp"
#include "vector_file.hpp"

namespace nz::cli {
namespace {

bool is_table(const std::string& name) {
  const std::string extension = std::filesystem::path(name).extension();
  return extension == ".txt" || extension == ".tsv";
}

}  // namespace

template <class V> std::vector<ranked_page> top_pages(const std::vector<V>& rank, std::int64_t count) {
  std::vector<index> order(rank.size());
  std::iota(order.begin(), order.end(), 0);
  const auto shown = std::min(static_cast<std::size_t>(count), order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(), [&](index a, index b) {
        const V of_a = rank[static_cast<std::size_t>(a)], of_b = rank[static_cast<std::size_t>(b)];
        return of_a != of_b ? of_a > of_b : a < b;
      });
  std::vector<ranked_page> out;
  for (std::size_t i = 0; i < shown; ++i)
    out.push_back({order[i], static_cast<double>(rank[static_cast<std::size_t>(order[i])])});
  return out;
}

void require_rank_name(const std::string& name) {
  const std::string extension = std::filesystem::path(name).extension();
  if (name == "-") return;
  if (!is_table(name) && extension != ".mtx" && extension != ".npz")
    throw usage_error(fmt::format("{}: ranks are written as .mtx, .npz, .txt or .tsv; name it so", name));
  require_writable(name);
}

template <class V>
void write_ranks(const std::string& name, const loaded_graph<V>& graph, const std::vector<V>& rank) {
  if (!is_table(name)) return write_vector_file<V>(name, rank);
  std::string lines;
  for (const auto& [page, of_page] : top_pages(rank, static_cast<std::int64_t>(rank.size())))
    fmt::format_to(std::back_inserter(lines), "{}\t{}\n", graph.name_of(page), static_cast<V>(of_page));
  output_file file(name);
  file.write(lines.data(), lines.size());
  file.commit();
}

template std::vector<ranked_page> top_pages(const std::vector<float>&, std::int64_t);
template std::vector<ranked_page> top_pages(const std::vector<double>&, std::int64_t);
template void write_ranks(const std::string&, const loaded_graph<float>&, const std::vector<float>&);
template void write_ranks(const std::string&, const loaded_graph<double>&, const std::vector<double>&);

}  // namespace nz::cli
