#include <cmath>

#include <fmt/format.h>

#include <nonzero/algorithms/like_pages_internal.hpp>
#include <nonzero/algorithms/link_matrix_internal.hpp>
#include <nonzero/plan/reorder.hpp>

namespace nz {
namespace {

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
            "the link from page {} to page {} (counted from 0) has the weight {}: weights must be "
            "finite and not negative",
            i, links.col[k], links.val[k]));
}

/// What the links from each page add up to.
template <class V> std::vector<double> sum_links(csr_view<V> to) {
  std::vector<double> sum(static_cast<std::size_t>(to.cols), 0.0);
  for (std::size_t k = 0; k < to.col.size(); ++k)
    sum[static_cast<std::size_t>(to.col[k])] += static_cast<double>(to.val[k]);
  return sum;
}

/// The rows in another order.
template <class V> csr<V> rows_in_order(csr_view<V> a, const array<index>& order) {
  csr<V> out{a.rows, a.cols, {0}, {}, {}};
  out.row_begin.reserve(a.row_begin.size());
  out.col.reserve(a.col.size());
  out.val.reserve(a.val.size());
  for (const index i : order) {
    out.col.insert(out.col.end(), a.col.begin() + a.row_begin[i], a.col.begin() + a.row_begin[i + 1]);
    out.val.insert(out.val.end(), a.val.begin() + a.row_begin[i], a.val.begin() + a.row_begin[i + 1]);
    out.row_begin.push_back(static_cast<offset>(out.col.size()));
  }
  return out;
}

/// The transposed matrix, with rows and columns in the order given.
template <class V> csr<V> transpose_in_order(csr_view<V> links, const array<index>& order) {
  if (order.empty()) return transpose(links);
  csr<V> rows = rows_in_order(links, order);
  const array<index> position = invert_order(order);
  for (index& j : rows.col) j = position[static_cast<std::size_t>(j)];
  return transpose(rows);
}

/// The transposed graph, with pages in the order given.
template <class V>
link_matrix<V> transposed_links(csr_view<V> links, bool is_weighted, const array<index>& order) {
  link_matrix<V> out{.to = transpose_in_order(links, order), .per_link = {}, .number = {}, .count = {}};
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
      throw unsupported(
          fmt::format("the weights of page {} (counted from 0) add up to {}: too much or too little to share "
                      "rank by",
                      order.empty() ? static_cast<index>(i) : order[i], sum[i]));
  }
  return out;
}

/// In small graphs an iteration takes no time that is worth saving.
constexpr offset fewest_links_to_merge = 100'000;

/// Pages that were merged, in an order of their own.
template <class V> void put_in_order(link_matrix<V>& graph, page_order numbers) {
  const array<index> order = order_pages<V>(transpose(graph.to), numbers);
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

template link_matrix<float> make_link_matrix(csr_view<float>, const link_matrix_options&);
template link_matrix<double> make_link_matrix(csr_view<double>, const link_matrix_options&);

}  // namespace nz
