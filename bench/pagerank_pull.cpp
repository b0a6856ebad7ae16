// PageRank as anyone would write it: each page adds up what the pages that link to it give, with OpenMP over
// the pages, and the pattern alone is read. Prints JSON for bench/pagerank.py.
//   bench_pagerank_pull GRAPH float|double ITERATIONS
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <nonzero/io/read.hpp>

namespace {

constexpr double damping = 0.85;

template <class V> struct graph {
  std::vector<std::int32_t> begin;  // of the links to each page
  std::vector<std::int32_t> from;
  std::vector<V> per_link;  // 1 / outdegree
  std::vector<std::int32_t> sinks;

  explicit graph(const nz::csr<V>& links) {
    if (links.nnz() > std::numeric_limits<std::int32_t>::max()) throw std::runtime_error("too many links");
    const nz::csr<V> to = nz::transpose(links);
    begin.assign(to.row_begin.begin(), to.row_begin.end());
    from.assign(to.col.begin(), to.col.end());
    for (nz::index i = 0; i < links.rows; ++i) {
      per_link.push_back(
          links.row_length(i) == 0 ? V{0} : static_cast<V>(1.0 / static_cast<double>(links.row_length(i))));
      if (links.row_length(i) == 0) sinks.push_back(i);
    }
  }
  std::int64_t pages() const { return static_cast<std::int64_t>(per_link.size()); }
};

template <class V> double iterate(const graph<V>& g, std::vector<V>& rank, std::vector<V>& share) {
  const std::int64_t pages = g.pages();
  double lost = 0, change = 0;
  for (const std::int32_t i : g.sinks) lost += static_cast<double>(rank[static_cast<std::size_t>(i)]);
  const auto base = static_cast<V>((1 - damping + damping * lost) / static_cast<double>(pages));
#pragma omp parallel
  {
#pragma omp for
    for (std::int64_t i = 0; i < pages; ++i) share[i] = rank[i] * g.per_link[i];
#pragma omp for schedule(dynamic, 4096) reduction(+ : change)
    for (std::int64_t i = 0; i < pages; ++i) {
      V sum = 0;
      for (std::int32_t k = g.begin[i]; k < g.begin[i + 1]; ++k) sum += share[g.from[k]];
      const V next = base + static_cast<V>(damping) * sum;
      change += std::abs(static_cast<double>(next - rank[i]));
      rank[i] = next;
    }
  }
  return change;
}

template <class V> void run(const std::string& path, int iterations) {
  const graph<V> g(nz::read<V>(path));
  std::vector<V> rank(g.per_link.size(), static_cast<V>(1.0 / static_cast<double>(g.pages()))),
      share(rank.size());
  double change = iterate(g, rank, share);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 1; i < iterations; ++i) change = iterate(g, rank, share);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::fputs(fmt::format("{{\"seconds_per_iteration\": {}, \"error\": {}, \"largest\": {}}}\n",
                         took.count() / std::max(iterations - 1, 1), change,
                         static_cast<double>(*std::max_element(rank.begin(), rank.end())))
                 .c_str(),
             stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw std::runtime_error("usage: bench_pagerank_pull GRAPH float|double ITERATIONS");
    const int iterations = std::atoi(argv[3]);
    std::string(argv[2]) == "float" ? run<float>(argv[1], iterations) : run<double>(argv[1], iterations);
  } catch (const std::exception& e) {
    std::fputs(fmt::format("bench_pagerank_pull: {}\n", e.what()).c_str(), stderr);
    return 1;
  }
}
