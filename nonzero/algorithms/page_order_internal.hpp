#pragma once

#include <cstdint>

#include <nonzero/core/device.hpp>
#include <nonzero/formats/csr.hpp>

namespace nz {

/// What numbers pages get inside.
enum class page_order : std::uint8_t {
  given,
  /// Those with the most links to others first: what rows of the transposed matrix gather most often lies
  /// together.
  by_use,
  /// As hubs<V> has the rows of the transposed matrix, longest first: by the links to them from pages that
  /// are no hubs, then from hubs. What a step reads and writes for rows that it takes at once lies together.
  by_work,
};

/// The one that suits a device.
constexpr page_order new_numbers_for(device_kind on) {
  return on == device_kind::cpu ? page_order::by_use : page_order::by_work;
}

/// Whether new numbers make iterations faster: where there are many links and what rows gather is scattered.
/// A graph that has a good order, as web pages by address, would lose it.
template <class V> bool is_better_renumbered(csr_view<V> links);

/// For each new number the old one; empty: they are the same.
template <class V> array<index> order_pages(csr_view<V> links, page_order how);

}  // namespace nz
