#include <algorithm>
#include <bit>
#include <numeric>

#include <nonzero/algorithms/link_matrix_internal.hpp>
#include <nonzero/core/hash.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/core/values.hpp>

namespace nz {
namespace {

constexpr std::int64_t rows_per_task = 4096;

template <class V> std::span<const index> columns_of(csr_view<V> a, index i) {
  return {a.col.data() + a.row_begin[i], static_cast<std::size_t>(a.row_length(i))};
}

/// A hash of a row that does not depend on the order of its columns.
std::uint64_t hash_of(std::span<const index> columns, double per_link) {
  std::uint64_t sum = 0;
  for (const index j : columns) sum += hash(0, static_cast<std::uint64_t>(j));
  return hash(sum, std::bit_cast<std::uint64_t>(per_link));
}

/// Rows by their hashes, in a table with a place for each and as many again; a row goes to the next free
/// place.
template <class V> class row_table {
 public:
  row_table(csr_view<V> to, std::span<const V> per_link, std::size_t rows)
      : to_(to), per_link_(per_link), place_(std::bit_ceil(2 * rows + 1), {0, -1}) {}

  /// The first row that was the same as this one: itself, if there was none.
  index find_or_add(index i, std::uint64_t row_hash) {
    const std::size_t mask = place_.size() - 1;
    for (std::size_t at = row_hash & mask;; at = (at + 1) & mask) {
      entry& here = place_[at];
      if (here.row < 0) here = {row_hash, i};
      if (here.row == i || (here.row_hash == row_hash && are_alike(here.row, i))) return here.row;
    }
  }

 private:
  struct entry {
    std::uint64_t row_hash;
    index row;  // -1: none
  };
  bool are_alike(index i, index j) const {
    const auto a = columns_of(to_, i), b = columns_of(to_, j);
    return per_link_[static_cast<std::size_t>(i)] == per_link_[static_cast<std::size_t>(j)] &&
           std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

  csr_view<V> to_;
  std::span<const V> per_link_;
  std::vector<entry> place_;
};

/// The rows of the first pages, with groups for columns, sorted.
template <class V> csr<V> rows_of_groups(csr_view<V> to, const page_groups& pages) {
  const auto groups = static_cast<index>(pages.first.size());
  csr<V> out{groups, groups, array<offset>(pages.first.size() + 1), {}, {}};
  out.row_begin[0] = 0;
  for (index g = 0; g < groups; ++g) out.row_begin[g + 1] = out.row_begin[g] + to.row_length(pages.first[g]);
  out.col = array<index>(static_cast<std::size_t>(out.nnz()));
  out.val = array<V>(out.col.size(), V{1});
  parallel_ranges(groups, rows_per_task, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) {
      const auto from = columns_of(to, pages.first[g]);
      const auto row = out.col.begin() + out.row_begin[g], row_end = out.col.begin() + out.row_begin[g + 1];
      std::transform(from.begin(), from.end(), row, [&](index j) { return pages.group[j]; });
      if (!std::is_sorted(row, row_end)) std::sort(row, row_end);
    }
  });
  return out;
}

template <class V> void merge(link_matrix<V>& graph, const page_groups& pages) {
  graph.to = rows_of_groups<V>(graph.to, pages);
  std::vector<V> per_link(pages.first.size());
  std::vector<index> count(pages.first.size(), 0);
  for (std::size_t g = 0; g < pages.first.size(); ++g)
    per_link[g] = graph.per_link[static_cast<std::size_t>(pages.first[g])];
  for (std::size_t i = 0; i < pages.group.size(); ++i)
    count[static_cast<std::size_t>(pages.group[i])] += graph.count.empty() ? 1 : graph.count[i];
  graph.per_link = std::move(per_link);
  graph.count = std::move(count);
  graph.renumber(pages.group);
}

}  // namespace

template <class V> page_groups group_like_pages(csr_view<V> to, std::span<const V> per_link) {
  array<std::uint64_t> hashes(per_link.size());
  parallel_ranges(to.rows, rows_per_task, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      hashes[i] = hash_of(columns_of(to, static_cast<index>(i)), static_cast<double>(per_link[i]));
  });
  row_table<V> table(to, per_link, per_link.size());
  page_groups out{array<index>(per_link.size()), {}};
  for (index i = 0; i < to.rows; ++i) {
    const index like = table.find_or_add(i, hashes[i]);
    out.group[i] = like == i ? static_cast<index>(out.first.size()) : out.group[like];
    if (like == i) out.first.push_back(i);
  }
  return out;
}

template <class V> bool has_many_like_pages(const link_matrix<V>& graph) {
  constexpr std::uint64_t one_in = 16;
  constexpr offset worth_it = 8;  // to save one link in so many
  // Those whose first link is from one page in 16: pages that are alike are in the sample together.
  std::vector<index> sample;
  for (index i = 0; i < graph.to.rows; ++i) {
    const auto columns = columns_of<V>(graph.to, i);
    if (!columns.empty() && hash(1, static_cast<std::uint64_t>(columns[0])) % one_in == 0)
      sample.push_back(i);
  }
  row_table<V> table(graph.to, graph.per_link, sample.size());
  offset links = 0, saved = 0;
  for (const index i : sample) {
    const auto per_link = static_cast<double>(graph.per_link[static_cast<std::size_t>(i)]);
    const offset length = graph.to.row_length(i);
    links += length;
    if (table.find_or_add(i, hash_of(columns_of<V>(graph.to, i), per_link)) != i) saved += length;
  }
  return saved > links / worth_it;
}

template <class V> void merge_like_pages(link_matrix<V>& graph) {
  constexpr offset go_on_for = 20;  // where one link in so many was saved
  offset before = 0;
  do {
    before = graph.to.nnz();
    merge(graph, group_like_pages<V>(graph.to, graph.per_link));
  } while ((before - graph.to.nnz()) * go_on_for > before);
}

#define NONZERO_INSTANTIATE(V)                                            \
  template page_groups group_like_pages(csr_view<V>, std::span<const V>); \
  template bool has_many_like_pages(const link_matrix<V>&);               \
  template void merge_like_pages(link_matrix<V>&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
