#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <nonzero/core/device.hpp>
#include <nonzero/formats/csr.hpp>

// The graph as PageRank multiplies by it: transposed, perhaps with pages renumbered or merged.
namespace nz {

/// How pages are numbered inside.
enum class page_order : std::uint8_t {
  given,
  /// Pages with the most links to others first: elements that are gathered most often are close together.
  by_use,
  /// In the order of hubs<V>, longest rows of the transposed matrix first: by the links to them from pages
  /// that are not hubs, then from hubs. A step then reads and writes contiguous elements for the rows of a
  /// slice.
  by_work,
};

/// The order that suits a device.
constexpr page_order new_numbers_for(device_kind on) {
  return on == device_kind::cpu ? page_order::by_use : page_order::by_work;
}

/// Whether renumbering makes iterations faster: where there are many links, with scattered columns. A graph
/// with a good order, such as web pages by address, would lose it.
template <class V> bool is_better_renumbered(csr_view<V> links);

/// The old number of each new one; empty: they are the same.
template <class V> array<index> order_pages(csr_view<V> links, page_order how);

/// A graph by the links that lead to a page. Pages may have new numbers; merged pages share one.
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
  /// A value for each page: from the old numbers to the new ones, and back.
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
  /// Whether one page stands for all that are alike; none: where that saves many links and pages keep their
  /// numbers. Never where links are weighted.
  std::optional<bool> is_merged = false;
};

/// Throws `shape_error` unless `links` is square, `unsupported` for weights that are negative, not finite, or
/// that add up to what V cannot divide by.
template <class V>
link_matrix<V> make_link_matrix(csr_view<V> links, const link_matrix_options& options = {});

// Pages are alike if the same pages link to them and they have the same number of links. If jumps lead to all
// pages alike, such pages have the same rank in every iteration, so one page stands for all of them. Links
// from a merged page count as links from one page, so that more pages may be alike then.
// Source: identical nodes, Garg & Kothapalli 2016 (STIC-D). The coarsest such groups are those of partition
// refinement (Paige & Tarjan 1987); a few rounds find most of them.

/// The groups of pages, numbered as their first pages are.
struct page_groups {
  array<index> group;  // of each page
  array<index> first;  // page of each group
};

/// Groups by the rows of `to`, whose columns are sorted, and by `per_link`.
template <class V> page_groups group_like_pages(csr_view<V> to, std::span<const V> per_link);

/// Whether groups would save enough links, by a sample of the pages.
template <class V> bool has_many_like_pages(const link_matrix<V>& graph);

/// Replaces each group by one page, and repeats while that saves a twentieth of the links. Links must not be
/// weighted.
template <class V> void merge_like_pages(link_matrix<V>& graph);

}  // namespace nz
