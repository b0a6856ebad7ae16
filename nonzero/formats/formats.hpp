#pragma once

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

/// M(name, summary, conversion) for each format. The conversion is of a csr_view `a` with a padding_budget
/// `budget`. Each format has NAME_footprint(a), and by reference::multiply the kernel NAME_serial. `nz list`
/// shows them in this order.
#define NONZERO_FOR_EACH_FORMAT(M)                                                                    \
  M(csr, "compressed sparse rows: each row's entries together", copy_of(a))                           \
  M(coo, "coordinates: row, column and value of each entry", to_coo(a))                               \
  M(ell, "every row padded to the longest, stored column by column", to_ell(a, budget))               \
  M(hyb, "ell for the first entries of each row, coo for the rest", to_hyb(a, -1, budget))            \
  M(jds, "csr with the rows sorted by length, longest first", to_jds(a))                              \
  M(tjds, "jds stored column by column: no padding", to_tjds(a))                                      \
  M(packed, "slices of rows in the fewest bytes (lossless): repeated patterns once", to_packed(a))    \
  M(binned, "entries by blocks of columns and bins of rows, for scattered columns", to_binned(a))     \
  M(sell, "SELL-C-σ: rows sorted within windows, slices padded to their longest row",                 \
    to_sell(a, {}, budget))                                                                           \
  M(bsr, "small dense blocks with one column each, csr for the rest", to_bsr(a))                      \
  M(sbsr, "small dense blocks of a symmetric matrix, one triangle of them", to_sbsr(a))               \
  M(warp_packed, "slices of 32 rows, a row per GPU lane: repeated patterns once, exact short values", \
    to_warp_packed(a, budget))                                                                        \
  M(hubs, "virtual rows by GPU lanes, the columns used most by short numbers, exact short values",    \
    to_hubs(a, {}, budget))
