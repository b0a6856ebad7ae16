#pragma once

#include <span>

#include <nonzero/formats/binned.hpp>
#include <nonzero/formats/bsr.hpp>
#include <nonzero/formats/coo.hpp>
#include <nonzero/formats/csr.hpp>
#include <nonzero/formats/ell.hpp>
#include <nonzero/formats/hubs.hpp>
#include <nonzero/formats/hyb.hpp>
#include <nonzero/formats/jds.hpp>
#include <nonzero/formats/packed.hpp>
#include <nonzero/formats/sbsr.hpp>
#include <nonzero/formats/sell.hpp>
#include <nonzero/formats/tjds.hpp>
#include <nonzero/formats/warp_packed.hpp>

namespace nz::reference {

// y = alpha * A x + beta * y, one thread, obviously right: what every other kernel is measured against.
// With beta = 0, y is never read. Throws `shape_error` unless x has A's columns and y its rows.
template <class V> void multiply(V alpha, csr_view<V> a, std::span<const V> x, V beta, std::span<V> y);
template <class V> void multiply(V alpha, const coo<V>& a, std::span<const V> x, V beta, std::span<V> y);
template <class V> void multiply(V alpha, const ell<V>& a, std::span<const V> x, V beta, std::span<V> y);
template <class V> void multiply(V alpha, const hyb<V>& a, std::span<const V> x, V beta, std::span<V> y);
template <class V> void multiply(V alpha, const jds<V>& a, std::span<const V> x, V beta, std::span<V> y);
template <class V> void multiply(V alpha, const tjds<V>& a, std::span<const V> x, V beta, std::span<V> y);
template <class V> void multiply(V alpha, const packed<V>& a, std::span<const V> x, V beta, std::span<V> y);
template <class V> void multiply(V alpha, const binned<V>& a, std::span<const V> x, V beta, std::span<V> y);
template <class V> void multiply(V alpha, const sell<V>& a, std::span<const V> x, V beta, std::span<V> y);
template <class V> void multiply(V alpha, const bsr<V>& a, std::span<const V> x, V beta, std::span<V> y);
template <class V>
void multiply(V alpha, const warp_packed<V>& a, std::span<const V> x, V beta, std::span<V> y);
template <class V> void multiply(V alpha, const hubs<V>& a, std::span<const V> x, V beta, std::span<V> y);
template <class V> void multiply(V alpha, const sbsr<V>& a, std::span<const V> x, V beta, std::span<V> y);

}  // namespace nz::reference
