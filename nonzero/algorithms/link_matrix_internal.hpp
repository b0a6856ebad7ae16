#pragma once

#include <optional>
#include <span>
#include <vector>

#include <nonzero/algorithms/page_order_internal.hpp>
#include <nonzero/formats/csr.hpp>

namespace nz {

/// A graph as PageRank walks it: along the links that lead to a page. Pages may have new numbers, several of
/// them the same.
template <class V> struct link_matrix {
  csr<V> to;                 // entry (b, a): a links to b; all ones, or the weight
  std::vector<V> per_link;   // of each page, 1 / the weight of its links; 0 for sinks
  index sinks = 0;           // by the old numbers
  array<index> number;       // of each old number, the new one; empty: they are the same
  std::vector<index> count;  // of each new number, the old ones that have it; empty: one

  /// How many pages there are by the old numbers.
  index pages() const { return static_cast<index>(number.empty() ? per_link.size() : number.size()); }

  /// Gives new numbers to those there are now.
  void renumber(const array<index>& next) {
    if (number.empty())
      number = next;
    else
      for (index& i : number) i = next[static_cast<std::size_t>(i)];
  }
  /// What is given for each page, by the old numbers, by the new ones, and back.
  template <class T> std::vector<T> renumbered(std::span<const T> old) const {
    if (number.empty()) return {old.begin(), old.end()};
    std::vector<T> out(per_link.size());
    for (std::size_t i = 0; i < number.size(); ++i) out[static_cast<std::size_t>(number[i])] = old[i];
    return out;
  }
  template <class T> std::vector<T> numbered_back(std::span<const T> now) const {
    if (number.empty()) return {now.begin(), now.end()};
    std::vector<T> out(number.size());
    for (std::size_t i = 0; i < number.size(); ++i) out[i] = now[static_cast<std::size_t>(number[i])];
    return out;
  }
};

struct link_matrix_options {
  bool is_weighted = false;
  page_order numbers = page_order::given;
  /// Whether one page stands for all that are alike (like_pages_internal.hpp); none: where that saves many
  /// links and pages keep their numbers. Never where links are weighted.
  std::optional<bool> is_merged = false;
};

/// Throws `shape_error` unless `links` is square, `unsupported` for weights that are negative, not finite, or
/// that add up to what V cannot divide by.
template <class V>
link_matrix<V> make_link_matrix(csr_view<V> links, const link_matrix_options& options = {});

}  // namespace nz
