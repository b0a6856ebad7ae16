#pragma once

#include <memory>

#include <nonzero/core/array.hpp>
#include <nonzero/kernel/prepared_matrix.hpp>

namespace nz {

/// The matrix A for a caller who knows nothing of an order, made of `inner`, which is P A P^T
/// (permute_symmetric in plan/reorder.hpp) made ready for a kernel on the host. A multiply brings x into the
/// order, multiplies, and brings the result back into y: two passes over the vectors, by OpenMP's threads
/// where they are long. Keeps the order and two vectors beside `inner`, which storage() counts. Throws
/// `shape_error` unless `inner` is square and order[new] = old an order of its rows, `device_error` where it
/// is on a card.
template <class V>
std::unique_ptr<prepared_matrix<V>> make_reordered(std::unique_ptr<prepared_matrix<V>> inner,
                                                   std::span<const index> order);

}  // namespace nz
