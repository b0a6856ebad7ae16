#include <cmath>

#include <fmt/format.h>

#include <nonzero/algorithms/link_matrix_internal.hpp>

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

template <class V> void require_weights(const csr<V>& links) {
  for (index i = 0; i < links.rows; ++i)
    for (offset k = links.row_begin[i]; k < links.row_begin[i + 1]; ++k)
      if (!std::isfinite(links.val[k]) || links.val[k] < 0)
        throw unsupported(fmt::format(
            "the link from page {} to page {} (counted from 0) has the weight {}: weights must be "
            "finite and not negative",
            i, links.col[k], links.val[k]));
}

/// What the links from each page add up to.
template <class V> std::vector<double> sum_links(const csr<V>& to) {
  std::vector<double> sum(static_cast<std::size_t>(to.cols), 0.0);
  for (std::size_t k = 0; k < to.col.size(); ++k)
    sum[static_cast<std::size_t>(to.col[k])] += static_cast<double>(to.val[k]);
  return sum;
}

}  // namespace

template <class V> link_matrix<V> make_link_matrix(const csr<V>& links, bool is_weighted) {
  if (links.rows != links.cols)
    throw shape_error(fmt::format("a graph has as many rows as columns, and this matrix is {} × {}",
                                  links.rows, links.cols));
  if (is_weighted) require_weights(links);
  link_matrix<V> out{.to = transpose(links), .per_link = {}};
  if (!is_weighted) {
    drop_repeated(out.to);
    out.to.val.assign(out.to.col.size(), V{1});
  }
  const std::vector<double> sum = sum_links(out.to);
  out.per_link.resize(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const bool is_sink = sum[i] == 0;
    out.sinks += is_sink ? 1 : 0;
    out.per_link[i] = is_sink ? V{0} : static_cast<V>(1 / sum[i]);
    if (!is_sink && (!std::isfinite(out.per_link[i]) || out.per_link[i] <= 0))
      throw unsupported(
          fmt::format("the weights of page {} (counted from 0) add up to {}: too much or too little to share "
                      "rank by",
                      i, sum[i]));
  }
  return out;
}

template link_matrix<float> make_link_matrix(const csr<float>&, bool);
template link_matrix<double> make_link_matrix(const csr<double>&, bool);

}  // namespace nz
