#pragma once

#include <span>

#include <nonzero/algorithms/link_matrix_internal.hpp>

// Pages that the same pages link to, and that share their rank among as many links, have the same rank in
// every iteration, if jumps lead to all alike: one stands for all of them. To the links from one that stands
// for several, those are links from the same page; so there may be more that are alike then.
// Source: identical nodes, Garg & Kothapalli 2016 (STIC-D); the coarsest such groups are those of partition
// refinement (Paige & Tarjan 1987), of which a few rounds find most.
namespace nz {

/// The groups of pages, numbered as their first pages are.
struct page_groups {
  array<index> group;  // of each page
  array<index> first;  // page of each group
};

/// Groups by the rows of `to`, whose columns are sorted, and by `per_link`.
template <class V> page_groups group_like_pages(csr_view<V> to, std::span<const V> per_link);

/// Whether groups would save links enough to be looked for, by a sample of the pages.
template <class V> bool has_many_like_pages(const link_matrix<V>& graph);

/// Replaces each group by one page, and goes on while that saves a twentieth of the links. Links are not
/// weighted.
template <class V> void merge_like_pages(link_matrix<V>& graph);

}  // namespace nz
