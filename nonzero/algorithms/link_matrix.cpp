#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>

#include <nonzero/algorithms/link_matrix_internal.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/formats/hubs.hpp>
#include <nonzero/plan/locality.hpp>
#include <nonzero/plan/reorder.hpp>

namespace nz {
namespace {

/// Pages by rising place(page), which is less than `places`; of the same, by their numbers.
template <class Place> array<index> order_by(index pages, std::size_t places, const Place& place) {
  std::vector<index> begin(places + 1, 0);
  for (index i = 0; i < pages; ++i) ++begin[place(i) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  array<index> order(static_cast<std::size_t>(pages));
  for (index i = 0; i < pages; ++i) order[static_cast<std::size_t>(begin[place(i)]++)] = i;
  return order;
}

template <class V> array<index> order_by_use(csr_view<V> links) {
  const auto most = static_cast<std::size_t>(longest_row(links));
  return order_by(links.rows, most + 1,
                  [&](index i) { return most - static_cast<std::size_t>(links.row_length(i)); });
}

/// The pages that have the most links to others, as many as hubs<V> keeps in shared memory: most_hubs
/// doubles, or twice as many floats.
template <class V> std::vector<bool> find_hubs(csr_view<V> links) {
  constexpr std::size_t hub_bytes = hubs_options{}.most_hubs * sizeof(double);
  const array<index> order = order_by_use(links);
  std::vector<bool> is_hub(order.size(), false);
  const std::size_t most = std::min(hub_bytes / sizeof(V), order.size());
  for (std::size_t h = 0; h < most; ++h) is_hub[static_cast<std::size_t>(order[h])] = true;
  return is_hub;
}

template <class V> array<index> order_by_work(csr_view<V> links) {
  constexpr std::size_t longest = hubs<V>::most_virtual_row_entries, side = longest + 1;
  struct counts {
    std::size_t from_hubs = 0, from_others = 0;
  };
  const std::vector<bool> is_hub = find_hubs(links);
  std::vector<counts> of_page(static_cast<std::size_t>(links.rows));
  for (index i = 0; i < links.rows; ++i)
    for (offset k = links.row_begin[i]; k < links.row_begin[i + 1]; ++k) {
      counts& page = of_page[static_cast<std::size_t>(links.col[k])];
      ++(is_hub[static_cast<std::size_t>(i)] ? page.from_hubs : page.from_others);
    }
  return order_by(links.rows, side * side + 1, [&](index i) -> std::size_t {
    const counts& page = of_page[static_cast<std::size_t>(i)];
    if (page.from_hubs + page.from_others > longest) return 0;  // such rows are split
    return 1 + (longest - page.from_others) * side + (longest - page.from_hubs);
  });
}

/// Of rows sorted by column, the first entry of each column.
template <class V> void drop_repeated(csr<V>& a) {
  offset kept = 0, begin = 0;
  for (index i = 0; i < a.rows; ++i) {
    const offset end = a.row_begin[i + 1], first = kept;
    for (offset k = begin; k < end; ++k)
      if (kept == first || a.col[kept - 1] != a.col[k]) a.col[kept++] = a.col[k];
    begin = end;
    a.row_begin[i + 1] = kept;
  }
  a.col.resize(static_cast<std::size_t>(kept));
}

template <class V> void require_weights(csr_view<V> links) {
  for (index i = 0; i < links.rows; ++i)
    for (offset k = links.row_begin[i]; k < links.row_begin[i + 1]; ++k)
      if (!std::isfinite(links.val[k]) || links.val[k] < 0)
        throw unsupported(fmt::format(
            "the link from page {} to page {} (counted from 1) has the weight {}: weights must be "
            "finite and not negative",
            i + 1, links.col[k] + 1, links.val[k]));
}

/// What the links from each page add up to.
template <class V> std::vector<double> sum_links(csr_view<V> to) {
  std::vector<double> sum(static_cast<std::size_t>(to.cols), 0.0);
  for (std::size_t k = 0; k < to.col.size(); ++k)
    sum[static_cast<std::size_t>(to.col[k])] += static_cast<double>(to.val[k]);
  return sum;
}

/// The transposed graph, with pages in the order given.
template <class V>
link_matrix<V> transposed_links(csr_view<V> links, bool is_weighted, const array<index>& order) {
  link_matrix<V> out{.to = order.empty()
                               ? transpose(links)
                               : transpose(trusted(permute_symmetric(links, std::span<const index>(order)))),
                     .per_link = {},
                     .number = {},
                     .count = {}};
  if (!order.empty()) out.number = invert_order(order);
  if (!is_weighted) {
    drop_repeated(out.to);
    out.to.val.assign(out.to.col.size(), V{1});
  }
  const std::vector<double> sum = sum_links<V>(out.to);
  out.per_link.resize(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const bool is_sink = sum[i] == 0;
    out.sinks += is_sink ? 1 : 0;
    out.per_link[i] = is_sink ? V{0} : static_cast<V>(1 / sum[i]);
    if (!is_sink && (!std::isfinite(out.per_link[i]) || out.per_link[i] <= 0))
      throw unsupported(fmt::format(
          "the weights of page {} (counted from 1) add up to {}: too much or too little to divide "
          "rank by",
          (order.empty() ? static_cast<index>(i) : order[i]) + 1, sum[i]));
  }
  return out;
}

/// In small graphs an iteration takes no time that is worth saving.
constexpr offset fewest_links_to_merge = 100'000;

/// Pages that were merged, in an order of their own.
template <class V> void put_in_order(link_matrix<V>& graph, page_order numbers) {
  const array<index> order = order_pages<V>(trusted(transpose(trusted(graph.to))), numbers);
  graph.to = permute_symmetric(graph.to, std::span<const index>(order));
  const auto in_order = [&](auto& values) {
    const auto old = values;
    for (std::size_t i = 0; i < order.size(); ++i) values[i] = old[static_cast<std::size_t>(order[i])];
  };
  in_order(graph.per_link);
  in_order(graph.count);
  graph.renumber(invert_order(order));
}

}  // namespace

template <class V> bool is_better_renumbered(csr_view<V> links) {
  // In smaller graphs the cache holds all that is gathered. Scattered graphs have 0.4 (a social network) to
  // 0.8 lines per entry, those of web pages 0.04 to 0.1.
  constexpr offset fewest_links = 500'000;
  constexpr double scattered = 0.3;
  return links.nnz() >= fewest_links && find_locality(links).lines_per_entry > scattered;
}

template <class V> array<index> order_pages(csr_view<V> links, page_order how) {
  if (how == page_order::given) return {};
  return how == page_order::by_use ? order_by_use(links) : order_by_work(links);
}

template <class V> link_matrix<V> make_link_matrix(csr_view<V> links, const link_matrix_options& options) {
  if (links.rows != links.cols)
    throw shape_error(fmt::format("a graph has as many rows as columns, and this matrix is {} × {}",
                                  links.rows, links.cols));
  if (options.is_weighted) require_weights(links);
  const bool keeps_numbers = options.numbers == page_order::given;
  const bool may_merge = !options.is_weighted &&
                         options.is_merged.value_or(keeps_numbers && links.nnz() >= fewest_links_to_merge);
  auto out = transposed_links(links, options.is_weighted,
                              may_merge ? array<index>{} : order_pages(links, options.numbers));
  if (may_merge && (options.is_merged.has_value() || has_many_like_pages(out))) {
    merge_like_pages(out);
    if (!keeps_numbers) put_in_order(out, options.numbers);
  }
  return out;
}

#define NONZERO_INSTANTIATE(V)                                \
  template bool is_better_renumbered(csr_view<V>);            \
  template array<index> order_pages(csr_view<V>, page_order); \
  template link_matrix<V> make_link_matrix(csr_view<V>, const link_matrix_options&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
