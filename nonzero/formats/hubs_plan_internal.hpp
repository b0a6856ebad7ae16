#pragma once

#include <nonzero/formats/hubs.hpp>

// How to_hubs takes a matrix apart: all that is known of it before its entries are copied.
namespace nz {

/// How many steps there are of each sort, and of the values of each kind; constants one by one.
struct hubs_totals {
  offset hub_steps = 0, rest_steps = 0, constants = 0, coded = 0, singles = 0, fulls = 0;

  /// Makes room for the values of a slice; returns where they begin.
  offset add(hubs_values kind, offset steps);
};

template <class V> struct hubs_plan {
  hubs<V> made;         // without hub_number, rest_col and values, but with the dictionary
  array<index> number;  // of each column: its hub number, or -1
  array<offset> begin;  // of each virtual_row, as sorted: its first entry in the CSR matrix,
  array<index> stride;  // and how far apart its entries are
  hubs_totals totals;

  /// Where the CSR matrix has the k-th entry of a virtual_row.
  offset entry(offset virtual_row, offset k) const { return begin[virtual_row] + k * stride[virtual_row]; }
};

/// How often each column is used decides which are hubs.
template <class V> array<index> choose_hubs(csr_view<V> a, const hubs_options& options);

/// The distinct values, by their bits, if there are 2 to 256; else none.
template <class V> array<V> make_dictionary(csr_view<V> a);

/// How many segments a row is cut into; 1: it is not cut.
inline offset pieces_of(offset entries) {
  constexpr offset most = hubs<double>::most_virtual_row_entries;
  return entries <= most ? 1 : (entries + most - 1) / most;
}

/// Calls body(i) for all of [0, count), a few thousand at a time by for_each.
template <class Body> void in_chunks(offset count, const for_each_runner& for_each, Body body) {
  constexpr offset chunk = 4096;
  for_each((count + chunk - 1) / chunk, [&](offset c) {
    for (offset i = c * chunk; i < std::min(count, (c + 1) * chunk); ++i) body(i);
  });
}

template <class V> footprint footprint_of(const hubs<V>& a, const hubs_totals& totals);

template <class V>
hubs_plan<V> plan_hubs(csr_view<V> a, const hubs_options& options, const for_each_runner& for_each);

}  // namespace nz
